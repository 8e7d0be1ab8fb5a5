"""A doubtful call becomes certain: every row of what may follow one, on either database, with a new plane each time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.clock import START_US
from tests.delivery.keeping_provider import ASKED, BOTH, CHANNEL, DROPS, NEITHER, Act, FindAct, House, ended, house
from tests.support.delivery_rows import waits
from tests.support.sample_deliveries import new_delivery

from postroom.delivery.afterwards.dead_letters import DeadLetters
from postroom.delivery.afterwards.store import StoredSent
from postroom.delivery.rules.retry import DoubtStep, RetryPolicy, after_failure, backoff_seconds, in_doubt, not_ahead
from postroom.delivery.store.dead_letters import StoredDeadLetters
from postroom.kernel.database.engine import Database
from postroom.kernel.values.errors import (
    CircuitOpenError,
    CredentialsRefused,
    DeliveryTimeout,
    InternalError,
    OutcomeUncertain,
    OverloadRejected,
    PostroomError,
    ProviderThrottled,
    StoreUnavailable,
    TargetUnavailable,
    ValidationError,
)
from postroom.kernel.values.ids import SECOND_US, DeliveryId
from postroom.message.channel import Capabilities
from postroom.message.delivery import REPEAT_MARK, AttemptVerdict, DeliveryEvent, OnUncertain, Presence, Priority
from postroom.message.markup import Revision

RESEND, HOLD = OnUncertain.RESEND, OnUncertain.HOLD
FAILS = FindAct.FAILS
DOUBTFUL = (Act.CUT_AFTER, Act.BROKE_AFTER, Act.LOST)  # kept, and we do not know it
MARKED = f"Hello {REPEAT_MARK}"


async def story(
    database: Database,
    can: Capabilities,
    *acts: Act,
    finds: Sequence[FindAct] = (),
    text: str = "Hello",
    on_uncertain: OnUncertain = RESEND,
    **retry: float,
) -> House:
    """One message, with a new plane for each attempt, until nothing is open any more."""
    world = house(database, can, *acts, finds=finds, **retry)
    await world.accept(text, on_uncertain=on_uncertain)
    await world.go_on()
    return world


@pytest.mark.requirement("chan:ask-first")
@pytest.mark.parametrize("policy", OnUncertain)
@pytest.mark.parametrize("act", DOUBTFUL)
async def test_what_the_provider_has_is_delivered_without_a_second_call(
    database: Database, act: Act, policy: OnUncertain
) -> None:
    world = house(database, ASKED, act)

    new = await world.accept(on_uncertain=policy)
    assert (await world.row())["status"] == ("in_progress" if act is Act.LOST else "pending")
    await world.go_on()

    row = await world.row()
    assert (ended(row), row["attempts"], row["doubtful_since"]) == (("delivered", False), 1, None)
    assert (row["provider_delivery_id"], world.provider.texts, len(world.provider.calls)) == ("m0", ["Hello"], 1)
    assert (await world.attempts())[-1] == ("success", "it was there")
    sent = await StoredSent(database).sent(new.id)
    assert sent is not None
    assert (sent.provider_ids, sent.conversation) == (("m0",), "D1")


@pytest.mark.requirement("chan:ask-first")
@pytest.mark.parametrize("policy", OnUncertain)
@pytest.mark.parametrize("act", [Act.CUT_BEFORE, Act.LOST_BEFORE])
async def test_what_the_provider_does_not_have_is_sent_and_not_marked(
    database: Database, act: Act, policy: OnUncertain
) -> None:
    world = await story(database, ASKED, act, on_uncertain=policy)

    row = await world.row()
    assert (ended(row), row["attempts"]) == (("delivered", False), 2)
    assert world.provider.texts == ["Hello"]
    assert (await world.attempts())[-1] == ("success", "it was not there")


@pytest.mark.requirement("chan:ask-first")
async def test_the_question_begins_where_the_doubtful_call_began(database: Database) -> None:
    world = house(database, ASKED, Act.OK, Act.CUT_AFTER, finds=[FAILS, FAILS])

    await world.accept("One|Two", on_uncertain=HOLD)
    since = (await world.row())["doubtful_since"]
    await world.go_on()

    began_us = START_US + SECOND_US  # when the first part had taken its second
    assert since == began_us
    assert [(part.text, at) for part, at in world.provider.asked] == [("Two", began_us)] * 2


@pytest.mark.requirement("chan:ask-first")
async def test_a_question_that_is_throttled_waits_and_costs_no_attempt(database: Database) -> None:
    world = house(database, ASKED, Act.CUT_AFTER, finds=[FindAct.THROTTLES])

    await world.accept()
    await world.once()
    row = await world.row()
    assert (row["status"], row["attempts"], waits(row)) == (
        "pending",
        1,
        "throttled by the provider: parrot is busy",
    )
    assert row["not_before"] == world.clock.now_us() + 40 * SECOND_US
    await world.go_on()

    assert (ended(await world.row()), len(world.provider.asked), len(world.provider.calls)) == (
        ("delivered", False),
        2,
        1,
    )


@pytest.mark.requirement("chan:ask-first")
@pytest.mark.parametrize("policy", OnUncertain)
@pytest.mark.parametrize("act", DOUBTFUL)
async def test_a_question_without_an_answer_is_asked_again_before_a_copy_is_risked(
    database: Database, act: Act, policy: OnUncertain
) -> None:
    world = await story(database, ASKED, act, finds=[FAILS], on_uncertain=policy)

    row = await world.row()
    assert (ended(row), row["attempts"], row["doubtful_since"]) == (("delivered", False), 2, None)
    assert (world.provider.texts, len(world.provider.calls), len(world.provider.asked)) == (["Hello"], 1, 2)
    assert (await world.attempts())[-2:] == [
        ("retryable_error", "no answer (parrot does not answer questions)"),
        ("success", "it was there"),
    ]


@pytest.mark.requirement("chan:ask-first")
@pytest.mark.parametrize("policy", OnUncertain)
@pytest.mark.parametrize("act", DOUBTFUL)
async def test_what_arrived_before_our_clock_was_set_back_is_found(
    database: Database, act: Act, policy: OnUncertain
) -> None:
    """The provider's clock was right all the time; ours was an hour ahead, and is corrected while we are away."""
    world = house(database, ASKED, act)
    await world.accept(on_uncertain=policy)
    world.clock.jump(-3600)
    world.provider.kept = [replace(one, at_us=one.at_us - 3600 * SECOND_US) for one in world.provider.kept]
    await world.clock.advance(1200)

    await world.go_on()

    assert (ended(await world.row()), world.provider.texts) == (("delivered", False), ["Hello"])


@pytest.mark.requirement("chan:same-key-in-time")
@pytest.mark.parametrize("act", DOUBTFUL)
async def test_when_our_clock_was_set_back_nobody_knows_how_old_a_key_is(database: Database, act: Act) -> None:
    world = house(database, DROPS, act)
    await world.accept()
    world.clock.jump(-3600)

    await world.go_on()

    assert (await world.row())["possible_duplicate"]


def test_doubt_that_is_dated_ahead_of_us_began_within_the_last_day() -> None:
    claim = replace(new_delivery().claimed(sending=False), doubtful_since_us=START_US)

    assert not_ahead(claim, START_US - 59 * SECOND_US) == claim, "clocks are put right by a little all the time"
    assert not_ahead(claim, START_US - 61 * SECOND_US).doubtful_since_us == START_US - 86_461 * SECOND_US


@pytest.mark.requirement("chan:ask-first")
async def test_while_it_waits_to_ask_again_the_delivery_says_so(database: Database) -> None:
    world = house(database, ASKED, Act.CUT_AFTER, finds=[FAILS])

    await world.accept()
    await world.once()

    row = await world.row()
    assert (row["status"], row["attempts"], row["possible_duplicate"]) == ("pending", 2, False)
    assert waits(row) == "ask whether it arrived: parrot does not answer questions"
    assert row["not_before"] > world.clock.now_us()


@pytest.mark.requirement("chan:same-key-in-time")
@pytest.mark.parametrize("can", [DROPS, BOTH], ids=["drops", "drops and is silent"])
@pytest.mark.parametrize("policy", OnUncertain)
@pytest.mark.parametrize("act", DOUBTFUL)
async def test_inside_the_window_the_same_call_is_made_again_unmarked(
    database: Database, act: Act, policy: OnUncertain, can: Capabilities
) -> None:
    world = await story(database, can, act, finds=[FAILS], on_uncertain=policy)

    assert ended(await world.row()) == ("delivered", False)
    assert world.provider.texts == ["Hello"]
    assert len({(part.key, part.text) for part in world.provider.calls}) == 1
    assert len(world.provider.calls) == 2


@pytest.mark.requirement("chan:same-key-in-time")
@pytest.mark.parametrize("can", [DROPS, BOTH, ASKED], ids=["drops", "both", "asked"])
async def test_when_the_window_is_over_and_nobody_can_say_a_copy_is_marked(
    database: Database, can: Capabilities
) -> None:
    world = await story(database, can, Act.CUT_AFTER, finds=[FAILS, FAILS], base_seconds=3600, max_seconds=3600)

    assert ended(await world.row()) == ("delivered", True)
    assert world.provider.texts == ["Hello", MARKED]


@pytest.mark.requirement("chan:hold-only-in-doubt")
@pytest.mark.parametrize("can", [DROPS, BOTH, ASKED], ids=["drops", "both", "asked"])
async def test_or_it_is_held(database: Database, can: Capabilities) -> None:
    world = await story(
        database, can, Act.CUT_AFTER, finds=[FAILS, FAILS], base_seconds=3600, max_seconds=3600, on_uncertain=HOLD
    )

    assert ended(await world.row()) == ("dead_lettered", False)
    assert world.provider.texts == ["Hello"]
    reason, words = await world.letter()
    assert reason == "outcome_uncertain"
    expected = (
        "parrot could not say whether it had arrived: parrot does not answer questions"
        if can.reconciles
        else "it may have arrived, and by now parrot would take it for another message"
    )
    assert words == expected


@pytest.mark.parametrize(("policy", "status"), [(RESEND, "delivered"), (HOLD, "dead_lettered")])
async def test_a_channel_that_cannot_help_is_treated_as_before(
    database: Database, policy: OnUncertain, status: str
) -> None:
    world = await story(database, NEITHER, Act.CUT_AFTER, on_uncertain=policy)

    assert ended(await world.row()) == (status, policy is RESEND)
    assert world.provider.texts == (["Hello", MARKED] if policy is RESEND else ["Hello"])


@pytest.mark.requirement("chan:last-look")
@pytest.mark.parametrize("policy", OnUncertain)
async def test_when_no_attempt_is_left_one_last_look_finds_it(database: Database, policy: OnUncertain) -> None:
    world = await story(database, ASKED, Act.CUT_BEFORE, Act.CUT_BEFORE, Act.CUT_AFTER, on_uncertain=policy)

    row = await world.row()
    assert (ended(row), row["attempts"], world.provider.texts) == (("delivered", False), 3, ["Hello"])


@pytest.mark.requirement("chan:last-look")
async def test_a_last_look_that_finds_nothing_says_so_in_the_dead_letter(database: Database) -> None:
    world = await story(database, ASKED, *[Act.CUT_BEFORE] * 3)

    row = await world.row()
    assert (ended(row), row["attempts"], row["doubtful_since"]) == (("dead_lettered", False), 3, None)
    assert await world.letter() == ("retries_exhausted", "parrot does not have it, and every attempt is used up")


@pytest.mark.requirement("chan:last-look")
async def test_a_last_look_without_an_answer_leaves_the_outcome_uncertain(database: Database) -> None:
    world = await story(database, ASKED, *[Act.CUT_BEFORE] * 3, finds=[FindAct.TELLS, FindAct.TELLS, FAILS])

    assert (await world.letter())[0] == "outcome_uncertain"
    assert (await world.row())["doubtful_since"] is not None


@pytest.mark.requirement("chan:last-look")
async def test_a_last_call_that_certainly_failed_does_not_hide_an_earlier_one(database: Database) -> None:
    world = await story(database, ASKED, Act.CUT_AFTER, Act.REFUSED, Act.REFUSED, finds=[FAILS, FAILS])

    row = await world.row()
    assert (ended(row), world.provider.texts) == (("delivered", True), ["Hello"])


@pytest.mark.requirement("chan:parts-one-by-one")
@pytest.mark.parametrize("act", DOUBTFUL)
async def test_a_part_that_arrived_is_followed_by_the_next(database: Database, act: Act) -> None:
    world = house(database, ASKED, Act.OK, act, Act.OK)

    new = await world.accept("One|Two|Three")
    await world.go_on()

    assert (ended(await world.row()), world.provider.texts) == (("delivered", False), ["One", "Two", "Three"])
    sent = await StoredSent(database).sent(new.id)
    assert sent is not None
    assert (sent.provider_ids, sent.conversation) == (("m0", "m1", "m2"), "D1")


@pytest.mark.requirement("chan:parts-one-by-one")
async def test_doubt_about_one_part_says_nothing_about_the_next(database: Database) -> None:
    acts = (Act.CUT_AFTER, Act.REFUSED, Act.CUT_BEFORE, Act.OK)
    world = house(database, ASKED, *acts, max_attempts=5)

    await world.accept("One|Two")
    await world.once()
    assert (await world.row())["doubtful_since"] is None, "the first part is there, the second was refused"
    await world.go_on()

    assert (ended(await world.row()), world.provider.texts) == (("delivered", False), ["One", "Two"])


async def test_a_repeat_that_is_lost_itself_stays_marked(database: Database) -> None:
    """The mark is written before the second copy leaves, or nobody would know of it."""
    world = await story(database, ASKED, Act.CUT_AFTER, Act.LOST, finds=[FAILS, FAILS])

    assert (ended(await world.row()), world.provider.texts) == (("delivered", True), ["Hello", MARKED])


async def test_an_ordinary_message_is_asked_about_by_nobody(database: Database) -> None:
    world = await story(database, BOTH, text="One|Two")

    assert (ended(await world.row()), world.provider.asked) == (("delivered", False), [])


@pytest.mark.requirement("chan:replay-asks")
@pytest.mark.parametrize("act", [Act.CUT_AFTER, Act.CUT_BEFORE])
async def test_a_replay_of_what_is_in_doubt_asks_under_the_same_key(database: Database, act: Act) -> None:
    world = house(database, ASKED, act, finds=[FAILS, FAILS])
    new = await world.accept(on_uncertain=HOLD)
    await world.go_on()
    letters = dead_letters(world)
    [letter] = (await letters.list())["dead_letters"]

    refused = await letters.replay(letter["dead_letter_id"])
    accepted = await letters.replay(letter["dead_letter_id"], accept_duplicate=True)
    await world.go_on()

    assert letter["requires_accept_duplicate"] and "accept_duplicate=true" in refused["error"]
    assert (await world.row_of(accepted["replayed_delivery_id"]))["status"] == "delivered"
    assert [one.key for one in world.provider.kept] == [f"{new.id}/0"], "one copy, whatever became of the first call"
    sent = await StoredSent(database).sent(new.id)
    assert sent is not None
    assert (sent.provider_ids, sent.conversation) == (("m0",), "D1")


@pytest.mark.requirement("chan:replay-asks")
async def test_a_replay_that_nobody_can_be_asked_about_is_not_held_again(database: Database) -> None:
    world = await story(database, ASKED, Act.CUT_AFTER, finds=[FAILS] * 5, on_uncertain=HOLD)
    letters = dead_letters(world)
    [letter] = (await letters.list())["dead_letters"]

    await letters.replay(letter["dead_letter_id"], accept_duplicate=True)
    await world.go_on()

    assert (ended(await world.row()), world.provider.texts) == (("delivered", True), ["Hello", MARKED])


@pytest.mark.requirement("chan:last-look")
async def test_a_letter_that_is_certainly_not_there_is_replayed_without_consent(database: Database) -> None:
    world = await story(database, ASKED, *[Act.CUT_BEFORE] * 3)
    letters = dead_letters(world)
    [letter] = (await letters.list())["dead_letters"]

    await letters.replay(letter["dead_letter_id"])
    await world.go_on()

    assert letter["requires_accept_duplicate"] is False
    assert (ended(await world.row()), world.provider.texts) == (("delivered", False), ["Hello"])


def dead_letters(world: House) -> DeadLetters:
    return DeadLetters(
        record=StoredDeadLetters(world.database),
        channels=[CHANNEL],
        channel_names=frozenset({CHANNEL}),
        hand_over=lambda: None,
        clock=world.clock,
        mint=world.mint.mint,
    )


# -- the decision itself -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    presence: Presence
    step: DoubtStep
    can: Capabilities = BOTH
    attempts: int = 1
    policy: OnUncertain = RESEND
    age_seconds: float = 1.0
    consented: bool = False
    edit: bool = False


CASES = [
    Case(presence=Presence.THERE, step=DoubtStep.GO_ON, attempts=9),
    Case(presence=Presence.ABSENT, step=DoubtStep.SEND),
    Case(presence=Presence.ABSENT, step=DoubtStep.GIVE_UP, attempts=3),
    Case(presence=Presence.UNKNOWN, step=DoubtStep.HOLD, attempts=3),
    Case(presence=Presence.UNKNOWN, step=DoubtStep.SEND, age_seconds=599),
    Case(presence=Presence.UNKNOWN, step=DoubtStep.ASK_AGAIN, age_seconds=600),
    Case(presence=Presence.UNKNOWN, step=DoubtStep.ASK_AGAIN, age_seconds=600, policy=HOLD),
    Case(presence=Presence.UNKNOWN, step=DoubtStep.ASK_AGAIN, can=ASKED),
    Case(presence=Presence.UNKNOWN, step=DoubtStep.REPEAT, age_seconds=600, attempts=2),
    Case(presence=Presence.UNKNOWN, step=DoubtStep.REPEAT, age_seconds=-1, attempts=2),  # the clock was set back
    Case(presence=Presence.UNKNOWN, step=DoubtStep.REPEAT, age_seconds=-1, can=DROPS),
    Case(presence=Presence.UNKNOWN, step=DoubtStep.HOLD, age_seconds=600, policy=HOLD, attempts=2),
    Case(presence=Presence.UNKNOWN, step=DoubtStep.REPEAT, age_seconds=600, policy=HOLD, consented=True, attempts=2),
    Case(presence=Presence.UNKNOWN, step=DoubtStep.SEND, can=DROPS, policy=HOLD, attempts=3),
    Case(presence=Presence.UNKNOWN, step=DoubtStep.REPEAT, can=ASKED, attempts=2),
    Case(presence=Presence.UNKNOWN, step=DoubtStep.REPEAT, can=NEITHER, attempts=9),
    Case(presence=Presence.UNKNOWN, step=DoubtStep.SEND, can=NEITHER, edit=True),
    Case(presence=Presence.UNKNOWN, step=DoubtStep.SEND, can=BOTH, edit=True, attempts=9, age_seconds=9999),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_answer_leads_to_its_step(case: Case) -> None:
    revision = Revision(delivery_id=DeliveryId("d"), provider_ids=("1",)) if case.edit else None
    claim = replace(
        new_delivery(on_uncertain=case.policy, revises=revision).claimed(sending=False),
        attempts=case.attempts,
        doubtful_since_us=START_US,
        possible_duplicate=case.consented,
    )
    now_us = START_US + round(case.age_seconds * SECOND_US)

    assert in_doubt(claim, case.can, case.presence, RetryPolicy(), now_us) is case.step


POLICY = RetryPolicy()


def verdict(error: PostroomError, attempts: int = 1, **changes: object) -> AttemptVerdict:
    values = {"dice": 0.5, "on_uncertain": OnUncertain.RESEND, **changes}
    return after_failure(POLICY, attempts=attempts, error=error, **values)  # type: ignore[arg-type]


@pytest.mark.requirement("messenger:retry-policy", "messenger:non-retryable-errors")
@pytest.mark.parametrize(
    ("error", "attempts", "expected"),
    [
        (ValidationError("x"), 1, AttemptVerdict(DeliveryEvent.REJECT)),
        (InternalError("x"), 1, AttemptVerdict(DeliveryEvent.REJECT)),
        (TargetUnavailable("x"), 1, AttemptVerdict(DeliveryEvent.RETRY, 1.0)),
        (TargetUnavailable("x"), 2, AttemptVerdict(DeliveryEvent.RETRY, 2.0)),
        (TargetUnavailable("x"), 3, AttemptVerdict(DeliveryEvent.EXHAUST)),
        (TargetUnavailable("x"), 99, AttemptVerdict(DeliveryEvent.EXHAUST)),
        (TargetUnavailable("x", retry_after_seconds=30), 1, AttemptVerdict(DeliveryEvent.RETRY, 30)),
        (TargetUnavailable("x", retry_after_seconds=0.1), 1, AttemptVerdict(DeliveryEvent.RETRY, 1.0)),
        (CredentialsRefused("x"), 1, AttemptVerdict(DeliveryEvent.EXHAUST)),
        (DeliveryTimeout("x"), 1, AttemptVerdict(DeliveryEvent.RETRY, 1.0)),
        (OverloadRejected("x", limit_type="global", retry_after_seconds=5), 1, AttemptVerdict(DeliveryEvent.RETRY, 5)),
        (CircuitOpenError("x"), 1, AttemptVerdict(DeliveryEvent.RETRY, 1.0)),
        (StoreUnavailable("x"), 1, AttemptVerdict(DeliveryEvent.RETRY, 1.0)),
        (ProviderThrottled("x", retry_after_seconds=35), 1, AttemptVerdict(DeliveryEvent.POSTPONE, 35)),
        (ProviderThrottled("x", retry_after_seconds=10**9), 1, AttemptVerdict(DeliveryEvent.POSTPONE, 3600)),
        (TargetUnavailable("x", retry_after_seconds=10**9), 1, AttemptVerdict(DeliveryEvent.RETRY, 3600)),
        (ProviderThrottled("x"), 99, AttemptVerdict(DeliveryEvent.POSTPONE, 1.0)),
        (OutcomeUncertain("x"), 1, AttemptVerdict(DeliveryEvent.RETRY, 1.0)),
        (OutcomeUncertain("x"), 3, AttemptVerdict(DeliveryEvent.EXHAUST)),
    ],
    ids=str,
)
def test_each_error_leads_to_its_verdict(error: PostroomError, attempts: int, expected: AttemptVerdict) -> None:
    assert verdict(error, attempts) == expected


def test_an_uncertain_outcome_is_held_when_the_policy_says_so() -> None:
    assert verdict(OutcomeUncertain("x"), on_uncertain=OnUncertain.HOLD) == AttemptVerdict(DeliveryEvent.HOLD)
    assert verdict(TargetUnavailable("x"), on_uncertain=OnUncertain.HOLD).event is DeliveryEvent.RETRY


def test_a_doubt_that_can_be_asked_about_outlives_refused_credentials() -> None:
    assert verdict(CredentialsRefused("x"), asks=True) == AttemptVerdict(DeliveryEvent.RETRY, 1.0)


def test_a_priority_may_have_more_patience() -> None:
    policy = RetryPolicy(attempts_by_priority={Priority.HIGH: 10})

    def event(attempts: int, priority: Priority) -> DeliveryEvent:
        return after_failure(
            policy,
            attempts=attempts,
            error=TargetUnavailable("x"),
            dice=0.5,
            on_uncertain=OnUncertain.RESEND,
            priority=priority,
        ).event

    assert [event(9, Priority.HIGH), event(10, Priority.HIGH), event(3, Priority.LOW)] == [
        DeliveryEvent.RETRY,
        DeliveryEvent.EXHAUST,
        DeliveryEvent.EXHAUST,
    ]


@pytest.mark.requirement("messenger:retry-with-exponential-backoff")
@pytest.mark.parametrize(("retry", "dice", "expected"), [(1, 0.0, 0.7), (1, 1.0, 1.3), (2, 0.5, 2.0), (4, 0.5, 8.0)])
def test_the_delay_doubles_and_is_shaken_by_three_tenths(retry: int, dice: float, expected: float) -> None:
    assert backoff_seconds(POLICY, retry, dice) == pytest.approx(expected)


@given(retry=st.integers(1, 10_000), dice=st.floats(0, 1, exclude_max=True), jitter=st.floats(0, 1))
def test_the_delay_is_never_negative_and_never_above_the_cap(retry: int, dice: float, jitter: float) -> None:
    policy = RetryPolicy(jitter=jitter)

    assert 0 <= backoff_seconds(policy, retry, dice) <= policy.max_seconds
