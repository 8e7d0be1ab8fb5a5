"""A line for everything that was said with a person; words that are gone say so, and secrets are in none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from tests.clock import START_US
from tests.work.questions.sample_questions import new_question

from postroom.domain.assurance import Assurance
from postroom.domain.conversation_states import InboundStatus
from postroom.domain.inbound_message import InboundMessage
from postroom.domain.kept_message import KeptMessage, RouteKind
from postroom.domain.person import Person
from postroom.domain.person_history import HistoryEntry, HistoryPart, HistoryQuery, LineKind, WordsKept
from postroom.domain.question import Question
from postroom.domain.question_answer import AnsweredBy, QuestionAnswer
from postroom.domain.question_states import QuestionStatus
from postroom.work.conversations.history import Histories, Lately, line_of

MESSAGE = InboundMessage(channel="telegram", number=1, message_id="9", places=("77", "@ada"), text="hello")
KEPT = KeptMessage(
    id="m1",
    message=MESSAGE,
    received_us=START_US,
    status=InboundStatus.ANSWERED,
    kind=RouteKind.BUTLER,
    target="general",
    reason="general is named in it",
    session_id="s1",
)


def answered(question: Question, **answer: str) -> Question:
    by = AnsweredBy(person_id="anna", name="Anna", channel="telegram", assurance=Assurance.SIGNED_IN)
    return replace(question, status=QuestionStatus.ANSWERED, answer=QuestionAnswer(**answer), answered_by=by)


@pytest.mark.requirement("talk:history")
def test_a_message_is_shown_with_where_it_went_and_why() -> None:
    line = line_of(HistoryEntry(id="m1", what=KEPT, replies=("d1",)))

    assert (line.kind, line.words, line.words_kept) == (LineKind.MESSAGE, "hello", WordsKept.KEPT)
    assert (line.butler, line.reason, line.status) == ("general", "general is named in it", "answered")
    assert (line.channel, line.address, line.session_id, line.replies) == ("telegram", "77", "s1", ("d1",))


@pytest.mark.requirement("talk:history")
@pytest.mark.parametrize(
    ("kind", "kept"), [(RouteKind.BUTLER, WordsKept.ERASED), (RouteKind.COMMAND, WordsKept.NOT_KEPT)]
)
def test_words_that_are_gone_say_so(kind: RouteKind, kept: WordsKept) -> None:
    gone = replace(KEPT, kind=kind, message=replace(MESSAGE, text=None))

    assert line_of(HistoryEntry(id="m1", what=gone)).words_kept is kept
    erased = new_question()
    erased = replace(erased, wording=replace(erased.wording, question=""))
    assert line_of(HistoryEntry(id="q1", what=erased)).words_kept is WordsKept.ERASED


def test_a_question_is_one_line_with_its_answer() -> None:
    line = line_of(HistoryEntry(id="q1", what=answered(new_question(question="Tea\nor coffee?"), text="Tea")))

    assert (line.words, line.answer, line.answered_by) == ("Tea or coffee?", "Tea", "Anna")
    assert (line.kind, line.channel, line.status) == (LineKind.QUESTION, "telegram", "answered")


def test_a_secret_answer_is_in_no_line() -> None:
    secret = answered(new_question(kind="text", secret=True, options=None), text="hunter2")

    assert line_of(HistoryEntry(id="q1", what=secret)).answer == ""


async def test_the_last_of_each_person_keeps_its_order() -> None:
    class Store:
        async def last(self, limit: int) -> Mapping[str, HistoryEntry]:
            return {"b": HistoryEntry(id="m1", what=KEPT), "a": HistoryEntry(id="m1", what=KEPT)}

    assert list(await Lately(store=Store()).last(5)) == ["b", "a"]


async def test_the_page_ends_where_a_source_was_not_read_further(someone: Person) -> None:
    class Store:
        async def parts(self, person: Person, wanted: HistoryQuery) -> Sequence[HistoryPart]:
            return [HistoryPart(entries=[HistoryEntry(id="m1", what=KEPT)], floor="m1")]

    page = await Histories(store=Store()).of(someone, HistoryQuery())

    assert ([one.id for one in page.lines], page.before) == (["m1"], "m1")


@pytest.fixture
def someone() -> Person:
    from postroom.domain.person import PersonRole

    return Person(
        id="anna",
        owner_agent="o",
        name="Anna",
        aliases=(),
        agent_address="a",
        role=PersonRole.MEMBER,
        trusted=False,
        zone=None,
        language=None,
        addresses=(),
        source="api",
        created_at_us=1,
        updated_at_us=1,
    )
