"""Why a delivery, a question, a note or a notice is where it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.attention.sample import HOUR, MINUTE, NIGHT, PERSON, accepted, book, empty
from tests.attention.sample import at as moment
from tests.clock import START_US
from tests.inbox.examples import AT_NIGHT, BY_EMAIL, QUIET_ENDS_US, a_notification
from tests.questions.sample_questions import ANNA, HOUR_US, new_attempt, new_question
from tests.support.delivery_rows import a_call, a_delivery

from postroom.approvals.model import ActionStatus
from postroom.attention.considering import noticed
from postroom.attention.model import NoticeState
from postroom.attention.reading import NoticeView
from postroom.attention.rules.simulate import simulate
from postroom.attention.state import Acked, Fact, MayArriveTwice, NoticeSend, SendKind, SendRow, Standing, Withdrawn
from postroom.delivery.model import WaitKind, WaitReason
from postroom.delivery.reading.record import CallMade, KeptLetter, KeptNews, KeptRefusal, TracedDelivery
from postroom.delivery.rules.breaker import Circuit, CircuitState
from postroom.inbox.copies import outgoing
from postroom.inbox.model import Preferences, Terms
from postroom.kernel.values.ids import DeliveryId, seconds
from postroom.message.delivery import TERMINAL, AttemptResult, QuarantineReason, Status
from postroom.message.inbound import Assurance, NewsKind
from postroom.message.wishes import Because, HoldReason
from postroom.overview.why import ApprovalStanding, Around, why, why_refused
from postroom.overview.why_held import (
    KeptNote,
    sentences,
    why_held,
    why_note,
    why_notice,
    why_question,
)
from postroom.questions.model import (
    BY_DEFAULT,
    AnsweredBy,
    Attempt,
    KeptAttempt,
    Presentation,
    PresentationStatus,
    Question,
    QuestionAnswer,
    QuestionStatus,
    Said,
    Verdict,
    VerdictKind,
)
from postroom.questions.shapes import QuestionStory, QuestionView

# -- Why a delivery is where it is, told from its record --


NOW = seconds(1_800_000_000)


def at(offset_seconds: float) -> int:
    return NOW + seconds(offset_seconds)


def row(status: Status, **more: Any) -> TracedDelivery:
    """`attempts` used up, and what else the delivery has; its calls are told apart."""
    stood: dict[str, Any] = {"created_at_us": at(-60), "updated_at_us": at(-30), "not_before_us": at(-30)}
    stood["terminal_at_us"] = at(-30) if status in TERMINAL else None
    beside = {name: more.pop(name) for name in ("news", "letter") if name in more}
    return TracedDelivery(delivery=a_delivery(**stood | {"status": status} | more), **beside)


def news(kind: NewsKind, seconds_ago: float, words: str = "") -> KeptNews:
    return KeptNews(kind=kind, event_id="e", words=words, at_us=at(seconds_ago))


def asked(outcome: AttemptResult, answer: str, message: str | None = None) -> CallMade:
    return a_call(outcome, message, asked=answer)


def letter(reason: QuarantineReason, **more: Any) -> KeptLetter:
    return KeptLetter(id="l", quarantine_reason=reason, **more)


def waiting(kind: WaitKind, detail: str = "") -> WaitReason:
    return WaitReason(kind=kind, detail=detail)


OPEN = Circuit(state=CircuitState.OPEN, failures=5, reason="connection refused")
GONE = a_call(AttemptResult.RETRYABLE_ERROR, "connection refused")
UNCERTAIN, USED_UP = QuarantineReason.OUTCOME_UNCERTAIN, QuarantineReason.RETRIES_EXHAUSTED
CASES = [
    pytest.param(
        row(Status.DELIVERED, attempts=1, provider_delivery_id="77"),
        [a_call(AttemptResult.SUCCESS)],
        Around(),
        "It was delivered over telegram 30 seconds ago, at the first attempt. The provider's own name for it is 77.",
        id="delivered at once",
    ),
    pytest.param(
        row(Status.DELIVERED, attempts=2, possible_duplicate=True),
        [a_call(AttemptResult.UNCERTAIN, "it did not answer"), a_call(AttemptResult.SUCCESS)],
        Around(),
        "It was delivered over telegram 30 seconds ago, after 2 calls. Before that, the last failure was: no clear "
        "answer, it did not answer. One call ended without a clear answer, so the person may have received it twice.",
        id="delivered, perhaps twice",
    ),
    pytest.param(
        row(Status.PENDING, waiting=waiting(WaitKind.CIRCUIT, "open"), not_before_us=at(40)),
        [],
        Around(circuit=OPEN),
        "It waits because telegram is paused after 5 failures in a row, the last one: connection refused. "
        "Waiting uses up none of its attempts. The next try is in 40 seconds.",
        id="circuit open",
    ),
    pytest.param(
        row(Status.PENDING, waiting=waiting(WaitKind.THROTTLE, "429"), not_before_us=at(5)),
        [a_call(AttemptResult.RETRYABLE_ERROR, "429")],
        Around(throttle_seconds=5.0),
        "It waits because telegram asked us to slow down. Waiting uses up none of its attempts. "
        "The next try is in 5 seconds.",
        id="throttled",
    ),
    pytest.param(
        row(
            Status.PENDING,
            waiting=WaitReason(kind=WaitKind.THROTTLE, detail="429", asked_seconds=10.0**9),
            not_before_us=at(3600),
        ),
        [a_call(AttemptResult.RETRYABLE_ERROR, "429")],
        Around(throttle_seconds=3600.0),
        "It waits because telegram asked us to slow down (it asked for a wait of 11574 days, which is cut to 1 hour "
        "and asked again then). Waiting uses up none of its attempts. The next try is in 1 hour.",
        id="throttled for years",
    ),
    pytest.param(
        row(
            Status.PENDING,
            attempts=1,
            waiting=waiting(WaitKind.RETRY, "timeout: refused"),
            not_before_us=at(3),
        ),
        [GONE],
        Around(max_attempts=3),
        "Attempt 1 of 3 failed (connection refused), so it will be tried again. The next try is in 3 seconds.",
        id="between attempts",
    ),
    pytest.param(
        row(Status.PENDING, attempts=1, waiting=waiting(WaitKind.DOUBT, "timeout: it was cut"), not_before_us=at(3)),
        [a_call(AttemptResult.UNCERTAIN, "it was cut")],
        Around(max_attempts=3),
        "Attempt 1 of 3 left doubt (no clear answer, it was cut), so telegram will be asked whether it arrived before "
        "it is sent again. The next try is in 3 seconds.",
        id="to be asked about",
    ),
    pytest.param(
        row(Status.DELIVERED, attempts=1, provider_delivery_id="77"),
        [a_call(AttemptResult.UNCERTAIN, "it was cut"), asked(AttemptResult.SUCCESS, "it was there")],
        Around(),
        "It was delivered over telegram 30 seconds ago, after 2 calls. The provider's own name for it is 77. Before "
        "that, the last failure was: no clear answer, it was cut. We asked telegram whether it had arrived: it was "
        "there.",
        id="found there",
    ),
    pytest.param(
        row(Status.DEAD_LETTERED, attempts=1, letter=letter(UNCERTAIN)),
        [
            a_call(AttemptResult.UNCERTAIN, "it was cut"),
            asked(AttemptResult.UNCERTAIN, "no answer (it is closed)", "it is closed"),
        ],
        Around(),
        "It was put aside 30 seconds ago: telegram was handed the message and never answered. We asked telegram "
        "whether it had arrived: no answer (it is closed). It may have arrived, and sending it again could deliver it "
        "twice, so a person should decide. It stays with the dead letters until somebody replays or discards it.",
        id="held without an answer",
    ),
    pytest.param(
        row(Status.DEAD_LETTERED, attempts=3, letter=letter(USED_UP)),
        [asked(AttemptResult.RETRYABLE_ERROR, "it was not there", "telegram does not have it")],
        Around(),
        "It was given up 30 seconds ago after 3 attempts; the last one ended with: telegram does not have it. We asked "
        "telegram whether it had arrived: it was not there. It stays with the dead letters until somebody replays or "
        "discards it.",
        id="given up and not there",
    ),
    pytest.param(
        row(Status.DELIVERED, news=(news(NewsKind.BOUNCED, -10, "550 no such user"), news(NewsKind.READ, -5))),
        [a_call(AttemptResult.SUCCESS)],
        Around(),
        "It was delivered over telegram 30 seconds ago, at the first attempt. The provider said 10 seconds ago that it "
        "bounced: 550 no such user. The provider said 5 seconds ago that it was read.",
        id="late news",
    ),
    pytest.param(
        row(Status.PENDING),
        [],
        Around(ahead=2),
        "It is stored and waits for its turn. Messages to one address leave one by one, and 2 messages to the "
        "same address must go first.",
        id="behind others",
    ),
    pytest.param(
        row(Status.PENDING, not_before_us=at(-600), updated_at_us=at(-600)),
        [],
        Around(),
        "It is stored and waits for its turn. It has been due for 10 minutes, so check that a messenger or a worker "
        "is running.",
        id="nobody takes it",
    ),
    pytest.param(
        row(Status.IN_PROGRESS), [], Around(), "It is being sent: attempt 1 began 30 seconds ago.", id="being sent"
    ),
    pytest.param(
        row(Status.AWAITING_APPROVAL),
        [],
        Around(approval=ApprovalStanding(status=ActionStatus.PENDING, expires_at_us=at(7200))),
        "It has not been sent: a person must approve it first. Without an answer the request ends by itself in 2 "
        "hours.",
        id="awaiting approval",
    ),
    pytest.param(
        row(Status.FAILED, terminal_error_message="rejected"),
        [],
        Around(
            approval=ApprovalStanding(
                status=ActionStatus.REJECTED, expires_at_us=at(60), decided_by="operator", reason="wrong person"
            )
        ),
        "It was not sent: operator rejected it 30 seconds ago. The reason given: wrong person.",
        id="rejected by a person",
    ),
    pytest.param(
        row(Status.FAILED, attempts=1, terminal_error_message="chat not found"),
        [a_call(AttemptResult.NON_RETRYABLE_ERROR, "chat not found")],
        Around(),
        "It failed 30 seconds ago, at the first attempt: chat not found. Such an error is final: sending the same "
        "again would fail again.",
        id="final error",
    ),
    pytest.param(
        row(Status.DEAD_LETTERED, attempts=3, letter=letter(USED_UP)),
        [GONE, GONE, GONE],
        Around(),
        "It was given up 30 seconds ago after 3 attempts; the last one ended with: connection refused. It stays with "
        "the dead letters until somebody replays or discards it.",
        id="attempts used up",
    ),
    pytest.param(
        row(
            Status.DEAD_LETTERED,
            attempts=1,
            letter=letter(UNCERTAIN, discarded_at_us=at(-10), discard_reason="she told me that it came"),
        ),
        [a_call(AttemptResult.UNCERTAIN)],
        Around(),
        "It was put aside 30 seconds ago: telegram was handed the message and never answered. It may have arrived, and "
        "sending it again could deliver it twice, so a person should decide. It was discarded 10 seconds ago: she told "
        "me that it came.",
        id="held and discarded",
    ),
]


@pytest.mark.requirement("chan:asking-is-told")
@pytest.mark.parametrize(("delivery", "attempts", "around", "paragraph"), CASES)
def test_each_state_is_told_in_plain_words(
    delivery: TracedDelivery, attempts: list[CallMade], around: Around, paragraph: str
) -> None:
    assert why(replace(delivery, attempts=tuple(attempts)), NOW, around) == paragraph


def test_a_replay_says_what_it_repeats() -> None:
    told = why(row(Status.PENDING, replay_of=DeliveryId("the-first"), replay_number=2), NOW)

    assert told.endswith("This is replay 2 of delivery the-first.")


def test_a_refusal_names_the_limit_and_says_that_nothing_was_sent() -> None:
    refusal = KeptRefusal(
        id="x",
        idempotency_key="",
        request_id="r",
        origin_butler="health",
        channel="telegram",
        intent="send",
        target_identity="1000",
        error_class="overload_rejected",
        error_message="too many",
        limit_type="recipient",
        retry_after_seconds=6.0,
        trace_id=None,
        created_at_us=at(-5),
        handed_by=None,
    )

    assert why_refused(refusal, NOW) == (
        "It was refused 5 seconds ago, before anything was stored, because this person had been sent as many messages "
        "as we allow in a minute. The caller was told to try again after 6 seconds. Nothing was sent, and the same "
        "request may be made again."
    )


@given(
    status=st.sampled_from(list(Status)),
    attempts=st.lists(st.builds(a_call, st.sampled_from(list(AttemptResult)), st.none() | st.text()), max_size=4),
    reason=st.none() | st.builds(waiting, st.sampled_from(list(WaitKind)), st.just("odd")),
    duplicate=st.booleans(),
    quarantine=st.none() | st.sampled_from(list(QuarantineReason)),
    circuit=st.none() | st.just(OPEN),
)
def test_whatever_the_record_holds_there_is_an_answer(
    status: Status, attempts: list[Any], reason: WaitReason | None, duplicate: bool, quarantine: Any, circuit: Any
) -> None:
    put_aside = letter(quarantine, replay_count=1) if quarantine else None
    delivery = row(status, attempts=len(attempts), waiting=reason, possible_duplicate=duplicate, letter=put_aside)

    told = why(replace(delivery, attempts=tuple(attempts)), NOW, Around(circuit=circuit))

    assert told.startswith(("It ", "Attempt "))
    assert told.endswith(".")


WHY_NOW = START_US + 3_600_000_000  # one hour into the quiet hours of AT_NIGHT
EARLIER = WHY_NOW - 60_000_000
IN_APP = Preferences()


def told(preferences: Preferences, copy: NoticeView | None, *, email_enabled: bool = True, **note: Any) -> str:
    kept = KeptNote(note=a_notification(at_us=START_US, **note), wishes=preferences)
    return why_note(kept, copy, terms=Terms(email_enabled), now_us=WHY_NOW)


def copy_of(state: NoticeState, *sends: SendRow, **standing: Any) -> NoticeView:
    notice = noticed(outgoing(a_notification(), "ada@example.com"), "n1", "ada", START_US)
    return NoticeView(standing=Standing(notice=notice, state=state, **standing), sends=sends)


@pytest.mark.parametrize(
    ("note", "sentence"),
    [
        ({}, "It is a note in the inbox of ada, stored 1 hour ago. It has not been seen yet."),
        ({"seen_at_us": EARLIER}, "It was seen 1 minute ago."),
        ({"seen_at_us": START_US, "read_at_us": EARLIER}, "It was read 1 minute ago."),
        ({"read_at_us": START_US, "archived_at_us": EARLIER}, "It was archived 1 minute ago."),
        ({"read_at_us": START_US, "dismissed_at_us": EARLIER}, "It was dismissed 1 minute ago."),
        ({"snoozed_until_us": WHY_NOW + 3_600_000_000}, "out of sight; it comes back in 1 hour."),
        ({"has_bell": False}, "The person wanted notes by e-mail only, so the bell stayed silent."),
    ],
)
def test_a_note_says_where_it_stands(note: dict[str, Any], sentence: str) -> None:
    assert sentence in told(IN_APP, None, **note)


QUIET = (HoldReason(Because.QUIET, QUIET_ENDS_US),)
SEND = NoticeSend(key="k", kind=SendKind.NOTICE, at_us=EARLIER, notices=("n1",), person="ada", channel="email")


@pytest.mark.parametrize(
    ("preferences", "copy", "sentence"),
    [
        (
            AT_NIGHT,
            copy_of(NoticeState.HELD, until_us=QUIET_ENDS_US, reasons=QUIET),
            "Of its e-mail copy: It is held because quiet hours are on; the next look is in 6 hours.",
        ),
        (BY_EMAIL, copy_of(NoticeState.RELEASED), "Of its e-mail copy: It is on its way."),
        (BY_EMAIL, copy_of(NoticeState.WITHDRAWN), "Of its e-mail copy: It was withdrawn and not sent."),
        (
            BY_EMAIL,
            copy_of(NoticeState.SENT, SendRow(person="ada", send=SEND, delivery_id="abc")),
            "It was sent. Delivery abc carried it over email (notice).",
        ),
        (IN_APP, None, "It has no e-mail copy: the person wants no e-mail."),
        (BY_EMAIL, None, "It has no e-mail copy: e-mail was off or not wanted when it was stored."),
    ],
)
def test_its_e_mail_copy_says_what_it_waits_for_now(
    preferences: Preferences, copy: NoticeView | None, sentence: str
) -> None:
    assert told(preferences, copy).endswith(sentence)


def test_a_household_without_e_mail_says_so() -> None:
    assert told(BY_EMAIL, None, email_enabled=False).endswith("It has no e-mail copy: e-mail is switched off.")


LATER_US = START_US + seconds(120)
BY_ANNA = AnsweredBy(person_id="anna", name="Anna", channel="telegram", assurance=Assurance.CHANNEL)


def card(status: PresentationStatus, channel: str = "telegram", **more: Any) -> Presentation:
    given = {"id": channel, "question_id": "q", "person_id": "anna", "channel": channel, "address": "1", **more}
    return Presentation(status=status, created_at_us=START_US, updated_at_us=START_US, **given)


def ended(question: Question, status: QuestionStatus, **more: Any) -> Question:
    return replace(question, status=status, ended_at_us=START_US + seconds(60), **more)


def why_told(question: Question, *cards: Presentation, attempts: tuple[KeptAttempt, ...] = ()) -> str:
    view = QuestionView(question=question, presentations=cards)
    return why_question(QuestionStory(view=view, events=(), attempts=attempts), LATER_US)


def in_vain(attempt: Attempt, kind: VerdictKind, reason: str) -> tuple[KeptAttempt]:
    return (KeptAttempt(attempt=attempt, verdict=Verdict(kind=kind, reason=reason)),)


def test_an_open_question_says_whom_it_asks_and_until_when() -> None:
    assert why_told(new_question(default="wait"), card(PresentationStatus.SHOWN)) == (
        "general asked Anna and Ben “Ship it?” 2 minutes ago; any one of them may answer. "
        "It was shown to Anna on telegram. "
        "It is still open and ends by itself in 58 minutes; then “wait” stands."
    )


CARDS = {
    "failed": (
        card(PresentationStatus.FAILED, failure="no address"),
        "It could not be shown to Anna on telegram: no ad",
    ),
    "uncertain": (card(PresentationStatus.UNCERTAIN), "It may or may not have arrived to Anna on telegram."),
    "later": (
        card(PresentationStatus.PLANNED, due_at_us=LATER_US + seconds(180)),
        "It comes to Anna on telegram in 3 minutes if no one answers before.",
    ),
    "held up": (
        card(PresentationStatus.PLANNED, failure="the limit"),
        "It has not been shown to Anna on telegram yet: the limit.",
    ),
    "left": (
        card(PresentationStatus.LEFT, revision=1),
        "It was shown to Anna on telegram. The card on telegram stays as it was.",
    ),
    "never shown": (
        card(PresentationStatus.LEFT, failure="too late"),
        "It was not shown to Anna on telegram: too late.",
    ),
}


@pytest.mark.parametrize(("one", "sentence"), CARDS.values(), ids=CARDS)
def test_each_place_says_why_it_was_not_shown_there(one: Presentation, sentence: str) -> None:
    assert sentence in why_told(new_question(people=(ANNA,)), one)


def test_each_person_is_named_once_with_all_places() -> None:
    bens = card(PresentationStatus.CLOSED, "email", person_id="ben")
    cards = (card(PresentationStatus.SHOWN), card(PresentationStatus.SHOWN, "ntfy"), bens)

    assert "It was shown to Anna on telegram and ntfy and to Ben on email." in why_told(new_question(), *cards)


def test_it_is_said_when_no_one_was_reached() -> None:
    alone = new_question(people=(ANNA,))

    assert "it waits in the console" in why_told(alone)
    assert "No one was reached on any channel" in why_told(alone, card(PresentationStatus.FAILED))
    assert "No one was reached" not in why_told(
        alone, card(PresentationStatus.FAILED), card(PresentationStatus.SHOWN, "email")
    )


ENDS = {
    "answered": (
        {"answer": QuestionAnswer(value="ship"), "answered_by": BY_ANNA},
        "Anna answered “ship” via telegram 1 minute ago.",
    ),
    "declined": ({"answered_by": BY_ANNA}, "Anna would rather not answer, said via telegram 1 minute ago."),
    "expired": ({}, "No one answered in time; it ended 1 minute ago."),
    "cancelled": ({"reason": "done"}, "It was taken back 1 minute ago: done."),
    "superseded": ({}, "Another question took its place 1 minute ago."),
}


@pytest.mark.parametrize(("status", "changes", "sentence"), [(name, *one) for name, one in ENDS.items()], ids=ENDS)
def test_every_end_has_its_sentence(status: str, changes: dict[str, Any], sentence: str) -> None:
    assert sentence in why_told(ended(new_question(), QuestionStatus(status), **changes))


def test_a_default_is_no_persons_word() -> None:
    over = ended(new_question(), QuestionStatus.EXPIRED, answer=QuestionAnswer(value="wait"), answered_by=BY_DEFAULT)

    assert "No one answered in time, so its default “wait” stands" in why_told(over)


def test_a_secret_says_that_and_not_what_was_answered() -> None:
    secret = new_question(question="The code?", options=None, kind="text", secret=True)
    tried = in_vain(new_attempt(secret, Said()), VerdictKind.LATE, "the time for an answer is over")
    over = ended(secret, QuestionStatus.ANSWERED, answered_by=BY_ANNA)

    assert "Anna answered via telegram 1 minute ago." in why_told(over, attempts=tried)
    assert "An answer of Anna via telegram" in why_told(over, attempts=tried)


def test_what_came_second_is_told_and_the_words_of_strangers_are_not() -> None:
    question = new_question()
    second = in_vain(new_attempt(question, Said(value="wait")), VerdictKind.LOST_RACE, "Ben was first")
    stranger = new_attempt(question, Said(text="Buy now"), person_id=None, person_name="")
    unknown = in_vain(stranger, VerdictKind.UNAUTHORISED, "this sender is not verified. Ask for a code")

    said = why_told(question, attempts=(*second, *unknown))
    assert "An answer “wait” of Anna via telegram 1 minute ago changed nothing: Ben was first." in said
    assert "An answer of someone unknown via telegram" in said and "Buy now" not in said and "code" not in said


def test_reminders_and_those_who_were_added_are_named() -> None:
    question = new_question(escalate_to=["cleo"], escalate_after_seconds=60)
    people = (*question.people, *question.escalate_to)
    later = replace(question, people=people, reminded_at_us=START_US, escalated_at_us=START_US)

    assert "A reminder was sent 2 minutes ago. It was passed on to Cleo 2 minutes ago." in why_told(later)


def test_a_question_without_words_still_has_a_story() -> None:
    erased = new_question()
    erased = replace(erased, wording=replace(erased.wording, question=""))
    view = QuestionView(question=erased)

    first = next(sentences(QuestionStory(view=view, events=(), attempts=()), START_US + HOUR_US))
    assert "a question whose words have been erased" in first


# -- Why a notice is where it is, in sentences --


QUIET = {"quiet_hours": NIGHT}


def view(policy: dict[str, Any], *facts: Fact, until: str = "2026-01-06T12:00") -> NoticeView:
    run = simulate(facts, book(policy), state=empty(), until_us=moment(until))
    return NoticeView(
        standing=run.state.notices["a"],
        sends=tuple(SendRow(person=one.person, send=one, delivery_id="d1") for one in run.state.sends.values()),
        decisions=tuple(one for one in run.decisions if one.notice == "a"),
    )


@pytest.mark.requirement("attention:why-notice")
def test_what_is_held_says_why_and_when_it_is_looked_at_next() -> None:
    held = view(QUIET, accepted("a", "23:00"), until="23:30")
    said = why_notice(held, "Ada", moment("23:30"))
    assert said.startswith("cook wrote this to Ada 30 minutes ago.")
    assert "It is held because quiet hours are on; the next look is in 7 hours" in said


@pytest.mark.requirement("attention:why-notice")
def test_what_was_held_and_sent_says_both_and_names_the_delivery() -> None:
    sent = view(QUIET, accepted("a", "23:00"))
    said = why_notice(sent, "Ada", moment("2026-01-06T12:00"))
    assert "It was held 13 hours ago because quiet hours are on" in said
    assert said.endswith("It was sent. Delivery d1 carried it over telegram (notice).")
    assert (why_held(sent, moment("2026-01-06T12:00")) or "").startswith("It was a notice before (a). It was held")


@pytest.mark.requirement("attention:why-notice")
def test_what_left_at_once_was_not_held() -> None:
    assert why_held(view({}, accepted("a", "09:00")), moment("09:01")) is None


@pytest.mark.requirement("attention:why-notice")
def test_each_end_says_how_it_came_to_that() -> None:
    facts = [accepted("a", "23:00", key="k"), Withdrawn(at_us=moment("23:10"), agent="cook", key="k")]
    assert "It was withdrawn and not sent" in why_notice(view(QUIET, *facts), "Ada", moment("23:20"))
    expired = view(QUIET, accepted("a", "23:00", expires_us=moment("23:30")))
    assert "It was not sent: its time was over." in why_notice(expired, "Ada", moment("23:40"))
    asked = view({}, accepted("a", "09:00", needs_ack=True), Acked(at_us=moment("09:05"), notice="a", by=PERSON))
    assert "It was acknowledged." in why_notice(asked, "Ada", moment("09:06"))


@pytest.mark.requirement("attention:why-notice")
def test_what_may_arrive_twice_says_where() -> None:
    first = view({}, accepted("a", "09:00"))
    key = first.sends[0].send.key
    again = view(
        {},
        accepted("a", "09:00"),
        MayArriveTwice(at_us=moment("09:00") + MINUTE, notice="a", send=key, channel="telegram"),
    )
    assert again.standing.uncertain
    assert "It may arrive twice: telegram was sending it already" in why_notice(again, "Ada", moment("09:00") + HOUR)


@pytest.mark.requirement("attention:why-notice")
def test_there_are_words_for_every_state() -> None:
    first = view({}, accepted("a", "09:00"))
    for state in NoticeState:
        assert why_notice(replace(first, standing=replace(first.standing, state=state)), "Ada", moment("10:00"))
