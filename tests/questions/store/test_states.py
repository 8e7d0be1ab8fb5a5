"""The engine on a real database against a plain model, with many attempts at once on several channels."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from sqlalchemy import select
from tests.clock import START_US
from tests.patience import PATIENCE_SECONDS
from tests.questions.sample_questions import MINT, new_attempt, new_question
from tests.services.ready_file import ready_file

from postroom.conversations.store import WRITTEN
from postroom.kernel.database.moments import StoredMoments
from postroom.kernel.database.sqlite import SqliteDatabase
from postroom.kernel.running.process import Seal
from postroom.kernel.values.ids import seconds
from postroom.kernel.values.moments import Due
from postroom.message.inbound import Flag
from postroom.questions.model import (
    ENDED,
    EVENT_OF_END,
    QUESTION_MOVES,
    Attempt,
    Heard,
    PlannedPresentation,
    Presentation,
    PresentationClaim,
    PresentationMove,
    PresentationStatus,
    Question,
    QuestionChange,
    QuestionStatus,
    Said,
    Shown,
    Verdict,
    VerdictKind,
)
from postroom.questions.rules import plan as changes
from postroom.questions.rules.judge import judge
from postroom.questions.store.presentations import StoredPresentations
from postroom.questions.store.questions import StoredQuestions
from postroom.questions.store.tables import presentations, question_attempts

Result = TypeVar("Result")
EDGES = {(before, after) for (before, _), after in QUESTION_MOVES.items()}
CHANNELS = ("telegram", "email", "desk", "console")
PEOPLE = ("anna", "ben", "mallory")
SAYINGS = (
    Said(value="ship"),
    Said(text="wait"),
    Said(text="2"),
    Said(value="no such"),
    Said(declined=True),
    Said(text="Rather not"),
    Said(fields={}),
    Said(toggle="ship"),
)
KEYS = st.sampled_from(["k1", "k2", "k3"])


@st.composite
def tries(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "said": draw(st.sampled_from(SAYINGS)),
        "person_id": draw(st.sampled_from(PEOPLE)),
        "channel": draw(st.sampled_from(CHANNELS)),
        "revision": draw(st.sampled_from([None, 1, 2])),
        "flags": draw(st.sampled_from([frozenset(), frozenset(), frozenset(), frozenset({Flag.FORWARDED})])),
    }


@dataclass(slots=True)
class Row:
    """What the store should know about one question."""

    key: str
    fingerprint: str
    expires_at: int
    revision: int = 1
    status: QuestionStatus = QuestionStatus.OPEN
    events: list[str] = field(default_factory=lambda: ["ask.opened"])
    attempts: dict[str, VerdictKind] = field(default_factory=dict)
    seen: Question | None = None  # as it ended


class QuestionMachine(RuleBasedStateMachine):
    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="postroom-questions-", ignore_cleanup_errors=True)
        self.loop = asyncio.new_event_loop()
        self.database = SqliteDatabase(ready_file(Path(self.folder.name) / "postroom.db"))
        self.store = StoredQuestions(self.database, Seal(bytes(32)))
        self.moments = StoredMoments(self.database)
        self.cards = StoredPresentations(self.database, MINT.mint, WRITTEN)
        self.rows: dict[str, Row] = {}
        self.made: list[Attempt] = []  # every attempt ever made, for repeating
        self.claims: list[PresentationClaim] = []
        self.now = START_US

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return self.loop.run_until_complete(work)

    def teardown(self) -> None:
        if hasattr(self, "loop"):
            self.run(self.database.close())
            self.run(self.loop.shutdown_default_executor())
            self.loop.close()
            self.folder.cleanup()

    # -- what can happen ---------------------------------------------------------------------------------------

    @rule(key=KEYS, words=st.sampled_from(["Ship it?", "Stop it?"]))
    def ask(self, key: str, words: str) -> None:
        question = new_question(
            question=words, idempotency_key=key, allow_text=False, deadline_seconds=60, now_us=self.now
        )
        known = next((one for one, row in self.rows.items() if row.key == key), None)

        asked = self.run(self.store.ask(question))

        assert asked.created is (known is None)
        if known is not None:
            assert asked.question.id == known
            return
        self.rows[question.id] = Row(key, question.fingerprint, question.expires_at_us)
        places = [
            PlannedPresentation(person_id=person, channel=channel, address=person)
            for person in PEOPLE[:2]
            for channel in CHANNELS[:2]
        ]
        self.run(self.cards.plan(question.id, PEOPLE[:2], places, self.now))

    @precondition(lambda self: self.rows)
    @rule(data=st.data(), many=st.lists(tries(), min_size=16, max_size=24), ends=st.sampled_from([None, "cancel"]))
    def many_answer_at_once(self, data: st.DataObject, many: list[dict[str, Any]], ends: str | None) -> None:
        """Some of them events that were heard before, and perhaps a cancellation in the middle."""
        one = self.any_question(data)
        attempts = [self.attempt(one, wanted) for wanted in many]
        attempts += [replace(old, id=MINT.mint(self.now)) for old in self.made[-3:] if old.question_id == one]
        jobs: list[Coroutine[Any, Any, Any]] = [self.store.hear(attempt, self.judged) for attempt in attempts]
        if ends:
            cancel = partial(changes.cancelled, reason="enough", now_us=self.now)
            jobs.insert(len(jobs) // 2, self.store.change(one, cancel))

        done = self.run(_together(jobs))

        cancelled = [result for result in done if isinstance(result, QuestionChange) and result.event]
        heard = [result for result in done if isinstance(result, Heard)]
        self.note_verdicts(self.rows[one], attempts, heard)
        winners = [result for result in heard if result.verdict.kind is VerdictKind.ACCEPTED and not result.repeated]
        assert len(winners) + len(cancelled) <= 1, "a question ended twice"
        for ended in [*(result.question for result in winners), *(change.question for change in cancelled)]:
            self.note_end(one, ended)
        self.made += attempts

    @precondition(lambda self: self.rows)
    @rule(data=st.data())
    def revise(self, data: st.DataObject) -> None:
        one = self.any_question(data)
        row = self.rows[one]
        question = self.run(self.store.get(one))
        assert question is not None
        wording = replace(question.wording, question=f"Ship it, version {row.revision + 1}?")

        change = self.run(self.store.change(one, partial(changes.revised, wording=wording, now_us=self.now)))

        assert change is not None
        assert (change.event is not None) is (row.status is QuestionStatus.OPEN)
        if change.event:
            row.revision += 1
            row.events.append(str(change.event))

    @precondition(lambda self: self.rows)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        one = self.any_question(data)
        change = self.run(self.store.change(one, partial(changes.cancelled, reason=None, now_us=self.now)))
        assert change is not None
        assert (change.event is not None) is (self.rows[one].status is QuestionStatus.OPEN)
        if change.event:
            self.note_end(one, change.question)

    @rule(passed=st.sampled_from([1, 25, 61]))
    def time_passes_and_what_is_over_expires(self, passed: int) -> None:
        self.now += seconds(passed)
        over = {
            one for one, row in self.rows.items() if row.status is QuestionStatus.OPEN and row.expires_at <= self.now
        }

        taken = self.run(self.moments.take(["question"], self.now, lease_until_us=self.now, limit=100))

        assert {one.id for one in taken} == over
        for moment in taken:
            due = Due(moment=moment, now_us=self.now)
            change = self.run(self.store.change(moment.id, partial(changes.taken, due=due)))
            assert change is not None
            self.note_end(moment.id, change.question)

    @rule(limit=st.integers(1, 4), lease=st.sampled_from([0, 30]))
    def cards_are_claimed_by_several_at_once(self, limit: int, lease: int) -> None:
        """A lease that is over at once is a process that was lost."""
        jobs = [
            self.cards.due(self.now, lease_until_us=self.now + seconds(lease) + lease, limit=limit) for _ in range(3)
        ]

        claimed = [one for some in self.run(_together(jobs)) for one in some]

        if lease:
            ids = [one.presentation.id for one in claimed]
            assert len(ids) == len(set(ids)), "two hold one card"
        self.claims += claimed

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), failed=st.booleans())
    def a_card_is_settled(self, data: st.DataObject, failed: bool) -> None:
        claim = data.draw(st.sampled_from(self.claims))
        current = self.card(claim.presentation.id)
        if current["status"] == PresentationStatus.CLOSING:
            move = PresentationMove.LEAVE if failed else PresentationMove.CLOSE
        else:
            move = PresentationMove.FAIL if failed else PresentationMove.SHOW
        fresh = current["fence"] == claim.fence
        shown = Shown(move=move, revision=claim.question.revision, provider_ids=[f"{claim.presentation.id}-1"])

        settled = self.run(self.cards.presented(claim, shown, self.now))

        assert settled is fresh

    # -- what must always hold ---------------------------------------------------------------------------------

    @invariant()
    def the_store_is_as_the_model_says(self) -> None:
        for one, row in getattr(self, "rows", {}).items():
            question = self.run(self.store.get(one))
            assert question is not None
            assert (question.status, question.revision) == (row.status, row.revision)
            assert question.status in ENDED or question.ended_at_us is None
            if row.seen is not None:
                assert question == row.seen, "what ended was changed"

    @invariant()
    def every_attempt_is_kept_once_with_its_verdict(self) -> None:
        if not hasattr(self, "rows"):
            return
        kept = {row["provider_event_id"]: row for row in self.table(question_attempts)}
        expected = {event: kind for row in self.rows.values() for event, kind in row.attempts.items()}
        assert {event: VerdictKind(row["verdict"]) for event, row in kept.items()} == expected
        for one, row in self.rows.items():
            won = [event for event, kind in row.attempts.items() if kind is VerdictKind.ACCEPTED]
            assert len(won) == (1 if row.status in (QuestionStatus.ANSWERED, QuestionStatus.DECLINED) else 0)
            assert all(kept[event]["question_id"] == one for event in row.attempts)

    @invariant()
    def the_feed_is_complete_and_in_order(self) -> None:
        if not hasattr(self, "rows"):
            return
        events = self.run(self.store.events(since=0, limit=1000))
        assert [event.position for event in events] == list(range(1, len(events) + 1))
        for one, row in self.rows.items():
            assert [str(event.type) for event in events if event.question_id == one] == row.events
        ends = self.run(self.store.answers("butler:general", since=0, limit=1000))
        over = {one for one, row in self.rows.items() if row.status in ENDED}
        assert len(ends) == len(over)
        assert {ending.question.id for ending in ends} == over

    @invariant()
    def no_card_of_an_ended_question_is_forgotten(self) -> None:
        """It is settled, or somebody will come for it."""
        if not hasattr(self, "rows"):
            return
        for card in self.table(presentations):
            status = PresentationStatus(card["status"])
            if self.rows[card["question_id"]].status in ENDED:
                assert status not in (PresentationStatus.SHOWN, PresentationStatus.UNCERTAIN)
                settled = status in (PresentationStatus.CLOSED, PresentationStatus.LEFT, PresentationStatus.FAILED)
                assert settled or card["due_at"] is not None
            elif status is PresentationStatus.SHOWN and card["revision"] < self.rows[card["question_id"]].revision:
                assert card["due_at"] is not None, "an old wording stays on show"

    # -- in words ----------------------------------------------------------------------------------------------

    def any_question(self, data: st.DataObject) -> str:
        """Mostly one that is open."""
        open_ones = [one for one, row in self.rows.items() if row.status is QuestionStatus.OPEN]
        every = sorted(self.rows)
        return data.draw(st.sampled_from(open_ones or every) | st.sampled_from(every))

    def attempt(self, question_id: str, wanted: dict[str, Any]) -> Attempt:
        question = replace(new_question(now_us=self.now), id=question_id)
        return new_attempt(question, **{**wanted, "heard_at_us": self.now})

    def judged(self, question: Question, attempt: Attempt, shown: Presentation | None) -> Verdict:
        return judge(question, attempt, self.now, shown)

    def note_verdicts(self, row: Row, attempts: list[Attempt], heard: list[Heard]) -> None:
        assert len(heard) == len(attempts)
        for attempt, result in zip(attempts, heard, strict=True):
            first = row.attempts.setdefault(attempt.provider_event_id, result.verdict.kind)
            assert first is result.verdict.kind, "an event has two verdicts"
            if attempt.person_id == "mallory" or attempt.flags:
                assert result.verdict.kind is VerdictKind.UNAUTHORISED

    def note_end(self, question_id: str, question: Question) -> None:
        row = self.rows[question_id]
        assert (row.status, question.status) in EDGES
        row.status, row.seen = question.status, question
        row.events.append(str(EVENT_OF_END[question.status]))

    def card(self, presentation_id: str) -> Any:
        return next(row for row in self.table(presentations) if row["id"] == presentation_id)

    def table(self, table: Any) -> list[Any]:
        return self.run(self.database.read(lambda connection: list(connection.execute(select(table)).mappings())))


async def _together(jobs: list[Coroutine[Any, Any, Any]]) -> list[Any]:
    async with asyncio.timeout(PATIENCE_SECONDS):
        return await asyncio.gather(*jobs)


QuestionMachine.TestCase.settings = settings(
    max_examples=12,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestQuestionStates = pytest.mark.requirement("ask:one-winner", "ask:states")(QuestionMachine.TestCase)
