"""What leaves now, what waits and until when: stage by stage."""

from __future__ import annotations

from typing import Any

import pytest
from tests.attention.sample import (
    NIGHT,
    OTHER,
    PERSON,
    accepted,
    at,
    book,
    empty,
    log,
    run,
    states,
    why,
)

from postroom.attention import state as fact
from postroom.attention.rules.decide import decide, in_one_digest_at_most
from postroom.attention.rules.fold import fold
from postroom.attention.rules.policy import Absence, parse_policy
from postroom.attention.state import AttentionState
from postroom.message.wishes import Because

SLOTS = {"slots": ["08:00", "12:30", "18:00"]}
COLLECT = {"collect": {"window_seconds": 600, "most": 3}}
GRANTED = {"agents": {"cook": {"critical": True}}}


def test_what_nothing_holds_leaves_at_once() -> None:
    assert log(run(book({}), accepted("a", "09:00"))) == [("a", "release", "09:00")]


@pytest.mark.requirement("attention:quiet-hours")
def test_what_comes_in_quiet_hours_leaves_at_their_end_as_one_digest() -> None:
    happened = run(book({"quiet_hours": NIGHT}), accepted("a", "23:00"), accepted("b", "23:30", "time_sensitive"))

    assert log(happened, "close_digest") == [("a", "close_digest", "07:00+1"), ("b", "close_digest", "07:00+1")]
    assert len(happened.state.sends) == 1


@pytest.mark.requirement("attention:quiet-hours")
def test_what_may_pass_passes_quiet_hours() -> None:
    rules = book({"quiet_hours": NIGHT, "let_pass": ["time_sensitive"], **GRANTED})
    happened = run(rules, accepted("a", "23:00", "time_sensitive"), accepted("b", "23:01", "critical"))

    assert log(happened)[:2] == [("a", "release", "23:00"), ("b", "release", "23:01")]


@pytest.mark.requirement("attention:all-reasons")
def test_all_reasons_are_recorded_and_the_latest_binds() -> None:
    rules = book({"quiet_hours": [{"from": "22:00", "until": "07:30"}], **SLOTS})
    happened = run(rules, accepted("a", "23:00", "passive"))

    assert why(happened, "a")[0] == [("quiet", "07:30+1"), ("slot", "08:00+1")]
    assert log(happened) == [("a", "join_digest", "23:00"), ("a", "release", "08:00+1")]


@pytest.mark.requirement("attention:all-reasons")
def test_a_window_that_ends_in_quiet_hours_says_from_the_start_when_it_leaves() -> None:
    happened = run(book({"quiet_hours": NIGHT, **COLLECT}), accepted("a", "21:55"), accepted("b", "21:57"))

    assert why(happened, "b")[0] == [("collect", "22:05"), ("quiet", "07:00+1")]
    assert log(happened)[-1] == ("b", "release", "07:00+1")


@pytest.mark.requirement("attention:slots")
def test_a_slot_in_quiet_hours_moves_to_their_end() -> None:
    rules = book({"quiet_hours": [{"from": "22:00", "until": "09:00"}], "slots": ["08:00"]})

    assert log(run(rules, accepted("a", "21:00", "passive")))[-1] == ("a", "release", "09:00+1")


@pytest.mark.requirement("attention:slots")
def test_a_slot_is_not_used_twice_by_someone_who_travels_west() -> None:
    west = parse_policy({**SLOTS, "zone": "America/New_York"})
    happened = run(
        book(SLOTS),
        accepted("a", "07:00", "passive"),
        fact.PolicyChanged(at_us=at("09:00"), policy=west),
        accepted("b", "09:05", "passive"),
    )

    assert log(happened, "release") == [("a", "release", "08:00"), ("b", "release", "17:30")]


@pytest.mark.requirement("attention:collect")
def test_the_first_leaves_at_once_and_the_following_are_collected() -> None:
    happened = run(book(COLLECT), accepted("a", "09:00"), accepted("b", "09:01"), accepted("c", "09:04"))

    assert log(happened, "release", "close_digest") == [
        ("a", "release", "09:00"),
        ("b", "close_digest", "09:10"),
        ("c", "close_digest", "09:10"),
    ]


@pytest.mark.requirement("attention:collect")
def test_a_full_window_closes_at_once() -> None:
    facts = [accepted(f"n{minute}", f"09:0{minute}") for minute in range(5)]

    assert log(run(book(COLLECT), *facts), "release", "close_digest") == [
        ("n0", "release", "09:00"),
        *[(f"n{minute}", "close_digest", "09:03") for minute in (1, 2, 3)],
        ("n4", "release", "09:10"),
    ]


@pytest.mark.requirement("attention:collect")
def test_another_agent_or_thread_has_a_window_of_its_own() -> None:
    happened = run(
        book(COLLECT), accepted("a", "09:00"), accepted("b", "09:01", agent="guard"), accepted("c", "09:02", thread="t")
    )

    assert [entry[2] for entry in log(happened, "release")] == ["09:00", "09:01", "09:02"]


@pytest.mark.requirement("attention:budget")
def test_over_the_budget_a_notice_waits_for_the_next_slot() -> None:
    rules = book({"budget": {"per_hour": 1}, **SLOTS})
    happened = run(rules, accepted("a", "09:00"), accepted("b", "09:10"), accepted("c", "09:20", "time_sensitive"))

    assert log(happened) == [
        ("a", "release", "09:00"),
        ("b", "hold", "09:10"),
        ("c", "release", "09:20"),
        ("b", "release", "12:30"),
    ]
    assert why(happened, "c") == [[("over_budget", None)]]


@pytest.mark.requirement("attention:budget")
def test_over_the_budget_what_has_waited_leaves_by_the_slot_of_that_very_moment() -> None:
    """As what is passive does: it would otherwise wait for the slot after that, a day or its longest hold."""
    quiet = {"quiet_hours": [{"from": "00:00", "until": "18:00"}]}
    happened = run(book({"budget": {"per_hour": 0}, **quiet, **SLOTS}), accepted("a", "17:40"), accepted("b", "18:00"))

    assert log(happened)[:3] == [("a", "hold", "17:40"), ("a", "release", "18:00"), ("b", "hold", "18:00")]


@pytest.mark.requirement("attention:budget")
def test_without_slots_it_waits_until_the_budget_frees() -> None:
    hour = run(book({"budget": {"per_hour": 1}}), accepted("a", "09:00"), accepted("b", "09:10"))
    day = run(book({"budget": {"per_day": 1}, "zone": "Asia/Tokyo"}), accepted("a", "09:00"), accepted("b", "09:10"))

    assert log(hour, "release")[-1] == ("b", "release", "10:00")
    assert log(day, "release")[-1] == ("b", "release", "15:00")


@pytest.mark.requirement("attention:budget")
def test_a_journey_does_not_start_the_day_of_a_budget_twice() -> None:
    east = parse_policy({"budget": {"per_day": 1}, "zone": "Asia/Tokyo"})
    happened = run(
        book({"budget": {"per_day": 1}}),
        accepted("a", "09:00"),
        fact.PolicyChanged(at_us=at("10:00"), policy=east),
        accepted("b", "10:10"),
    )

    assert log(happened, "release")[-1] == ("b", "release", "15:00")


@pytest.mark.requirement("attention:longest-hold")
@pytest.mark.parametrize(
    ("urgency", "leaves"), [("passive", "09:00+1"), ("normal", "23:00"), ("time_sensitive", "19:00")]
)
def test_no_policy_holds_longer_than_the_urgency_allows(urgency: str, leaves: str) -> None:
    always = [{"from": "00:00", "until": "12:00"}, {"from": "12:00", "until": "00:00"}]
    happened = run(book({"quiet_hours": always}), accepted("a", "09:00", urgency))

    assert log(happened, "release") == [("a", "release", leaves)]
    assert why(happened, "a")[-1] == [("longest_hold", None)]


@pytest.mark.requirement("attention:snooze-and-mute")
def test_a_snoozed_notice_comes_back_also_after_it_was_sent() -> None:
    facts = [accepted("a", "09:00"), fact.Snoozed(at_us=at("09:05"), notice="a", until_us=at("11:00"))]
    happened = run(book({}), *facts)

    assert log(happened) == [("a", "release", "09:00"), ("a", "release", "11:00")]
    assert len(happened.state.sends) == 2


@pytest.mark.requirement("attention:snooze-and-mute")
def test_a_muted_agent_is_not_sent_and_what_is_mandatory_is() -> None:
    happened = run(
        book({"quiet_hours": NIGHT}),
        accepted("held", "06:00"),
        fact.Muted(at_us=at("06:30"), agent="cook", until_us=at("10:00")),
        accepted("a", "09:00"),
        accepted("b", "09:01", category="security"),
        accepted("c", "10:00"),
    )

    assert states(happened) == {"held": "muted", "a": "muted", "b": "sent", "c": "sent"}


@pytest.mark.requirement("attention:snooze-and-mute")
def test_an_unmuted_agent_is_heard_again() -> None:
    mute, unmute = fact.Muted(at_us=at("08:00"), agent="cook"), fact.Unmuted(at_us=at("08:30"), agent="cook")

    assert states(run(book({}), mute, unmute, accepted("a", "09:00"))) == {"a": "sent"}


def away(**fields: Any) -> fact.AwaySet:
    gone = Absence(start_us=at("08:00"), end_us=at("2026-01-07T08:00"), **fields)
    return fact.AwaySet(at_us=at("07:00"), absence=gone)


@pytest.mark.requirement("attention:away")
def test_while_a_person_is_away_notices_wait_for_the_return_and_its_quiet_hours() -> None:
    late = [{"from": "22:00", "until": "09:00"}]
    happened = run(book({"quiet_hours": late}), away(), accepted("a", "09:00"), accepted("b", "10:00"))

    assert [entry[2] for entry in log(happened, "close_digest")] == ["09:00+2", "09:00+2"]


@pytest.mark.requirement("attention:away")
def test_a_delegate_gets_it_in_one_hop_and_in_the_delegates_own_hours() -> None:
    rules = book({}, **{OTHER: {"quiet_hours": [{"from": "08:00", "until": "10:00"}]}})
    happened = run(rules, away(delegate=OTHER), accepted("a", "09:00"))

    assert log(happened)[-1] == ("a", "delegate", "10:00")
    assert happened.decisions[-1].person == OTHER


@pytest.mark.requirement("attention:away")
def test_what_the_delegate_may_not_see_waits() -> None:
    happened = run(book({}), away(delegate=OTHER, categories=("chat",)), accepted("a", "09:00", category="health"))

    assert log(happened)[-1] == ("a", "release", "08:00+2")
    assert happened.decisions[-1].person == PERSON


@pytest.mark.requirement("attention:away")
def test_who_comes_back_early_gets_what_waited() -> None:
    back = fact.AwaySet(at_us=at("12:00"), absence=None)

    assert log(run(book({}), away(), accepted("a", "09:00"), back))[-1] == ("a", "release", "12:00")


@pytest.mark.requirement("attention:duplicates")
def test_the_same_text_within_the_window_is_merged() -> None:
    rules = book({"duplicate_seconds": 1800})
    facts = [
        accepted(name, when, fingerprint="same") for name, when in [("a", "09:00"), ("b", "09:29"), ("c", "09:30")]
    ]

    assert states(run(rules, *facts)) == {"a": "sent", "b": "merged", "c": "sent"}


@pytest.mark.requirement("attention:duplicates")
def test_a_more_urgent_repetition_is_no_duplicate() -> None:
    facts = [accepted("a", "09:00", "passive", fingerprint="same"), accepted("b", "09:01", fingerprint="same")]

    assert states(run(book({"duplicate_seconds": 1800}), *facts)) == {"a": "sent", "b": "sent"}


@pytest.mark.requirement("attention:supersede")
def test_a_newer_notice_of_a_key_takes_the_place_of_an_unsent_one_of_the_same_agent() -> None:
    happened = run(
        book({"quiet_hours": NIGHT}),
        accepted("a", "23:00", key="disk"),
        accepted("b", "23:30", key="disk", agent="guard"),
        accepted("c", "23:40", key="disk"),
    )

    assert states(happened) == {"a": "merged", "b": "digested", "c": "digested"}
    assert happened.state.notices["a"].into == "c"


@pytest.mark.requirement("attention:withdraw")
def test_a_withdrawal_that_came_first_still_holds_and_only_for_its_own_agent() -> None:
    gone = fact.Withdrawn(at_us=at("08:59"), agent="cook", key="disk")
    happened = run(
        book({}), gone, accepted("a", "09:00", key="disk"), accepted("b", "09:01", key="disk", agent="guard")
    )

    assert states(happened) == {"a": "withdrawn", "b": "sent"}


@pytest.mark.requirement("attention:withdraw")
def test_what_had_left_is_recalled_by_a_correction() -> None:
    happened = run(book({}), accepted("a", "09:00"), fact.Withdrawn(at_us=at("09:30"), agent="cook", notice="a"))

    assert log(happened) == [("a", "release", "09:00"), ("a", "correct", "09:30")]
    assert states(happened) == {"a": "recalled"}


def test_a_window_whose_only_member_is_withdrawn_closes_without_a_send() -> None:
    facts = [
        accepted("a", "09:00"),
        accepted("b", "09:01"),
        fact.Withdrawn(at_us=at("09:05"), agent="cook", notice="b"),
    ]

    assert len(run(book(COLLECT), *facts).state.sends) == 1


def test_what_is_too_old_is_listed_and_not_sent() -> None:
    happened = run(book({"quiet_hours": NIGHT}), accepted("a", "23:00", expires_us=at("23:30")))

    assert log(happened)[-1] == ("a", "expire", "23:30")


@pytest.mark.requirement("attention:fallback")
def test_another_channel_takes_the_place_of_one_that_stays_down() -> None:
    rules = book({"fallback": ["email"]})
    happened = run(rules, fact.ChannelDown(at_us=at("09:00"), channel="telegram"), accepted("a", "09:01"))

    assert log(happened) == [("a", "hold", "09:01"), ("a", "release", "09:02")]
    assert happened.decisions[-1].channel == "email"


@pytest.mark.requirement("attention:fallback")
def test_without_another_channel_it_waits_until_the_own_one_is_up() -> None:
    down, up = (
        fact.ChannelDown(at_us=at("09:00"), channel="telegram"),
        fact.ChannelUp(at_us=at("15:00"), channel="telegram"),
    )
    happened = run(book({}), down, accepted("a", "09:01"), up)

    assert happened.decisions[0].until_us is None
    assert log(happened)[-1] == ("a", "release", "15:00")


@pytest.mark.requirement("attention:fallback")
def test_a_send_that_failed_finally_goes_another_way_and_then_nowhere() -> None:
    state, rules = fold(empty(), accepted("a", "09:00")), book({"fallback": ["email"]})
    channels = []
    for minute in range(3):
        made, _ = decide(state, rules, at(f"09:0{minute}"))
        for one in made:
            state = fold(state, one)
            channels.append((str(one.kind), one.channel))
            if one.send:
                lost = fact.ReceiptIn(at_us=one.at_us, send=one.send, outcome=fact.SendOutcome.FAILED)
                state = fold(state, lost)

    assert channels == [("release", "telegram"), ("release", "email"), ("fail", None)]
    assert str(state.notices["a"].state) == "undeliverable"


@pytest.mark.requirement("attention:fallback")
def test_where_an_urgent_one_reaches_nobody_the_steps_of_its_escalation_are_taken_at_once() -> None:
    chain = [{"after_seconds": 3600, "channel": "email"}, {"after_seconds": 3600, "person": "bob"}]
    rules = book({"escalation": chain})
    state = fold(empty(), accepted("a", "09:00", "time_sensitive", needs_ack=True))
    sent = []
    for minute in range(4):
        made, _ = decide(state, rules, at(f"09:0{minute}"))
        for one in made:
            state = fold(state, one)
            sent.append((str(one.kind), one.person, one.channel))
            if one.send:
                lost = fact.ReceiptIn(at_us=one.at_us, send=one.send, outcome=fact.SendOutcome.FAILED)
                state = fold(state, lost)

    assert sent == [
        ("release", PERSON, "telegram"),
        ("release", PERSON, "email"),
        ("delegate", "bob", "telegram"),
        ("fail", None, None),
    ]
    assert in_one_digest_at_most(state) == []


@pytest.mark.requirement("attention:fallback")
def test_a_send_without_a_receipt_is_replaced_when_its_channel_stays_down() -> None:
    facts = [accepted("a", "09:00"), fact.ChannelDown(at_us=at("09:01"), channel="telegram")]
    happened = run(book({"fallback": ["email"]}), *facts, receipts=False)

    first, second = happened.decisions
    assert (second.replaces, second.channel, second.at_us) == (first.send, "email", at("09:03"))


@pytest.mark.requirement("attention:critical-needs-a-grant")
def test_a_lower_urgency_than_asked_for_is_said() -> None:
    assert why(run(book({}), accepted("a", "09:00", "critical")), "a") == [[("ceiling", None)]]


@pytest.mark.requirement("attention:policy-change")
def test_another_policy_judges_what_waits_again_and_sends_nothing_twice() -> None:
    change = fact.PolicyChanged(at_us=at("23:30"), policy=parse_policy({}))
    happened = run(book({"quiet_hours": NIGHT}), accepted("a", "21:00"), accepted("b", "23:00"), change)

    assert log(happened, "release") == [("a", "release", "21:00"), ("b", "release", "23:30")]


@pytest.mark.requirement("attention:derived-ids")
def test_two_workers_decide_the_same_with_the_same_ids() -> None:
    state = fold(fold(empty(), accepted("a", "23:00")), accepted("b", "23:00"))
    one, other = (decide(AttentionState(**_fields(state)), book({"quiet_hours": NIGHT}), at("23:00")) for _ in range(2))

    assert one == other
    assert len({decision.id for decision in one[0]}) == 2


def _fields(state: AttentionState) -> dict[str, Any]:
    return {name: getattr(state, name) for name in AttentionState.__dataclass_fields__}


@pytest.mark.requirement("attention:clock-set-back")
def test_a_clock_that_is_set_back_makes_nothing_early_and_nothing_twice() -> None:
    happened = run(book({"quiet_hours": NIGHT}), accepted("a", "23:00"))

    made, next_at = decide(happened.state, book({"quiet_hours": NIGHT}), at("12:00"))
    late, _ = decide(fold(happened.state, accepted("b", "12:00")), book({"quiet_hours": NIGHT}), at("12:00"))

    assert (made, next_at) == ((), None)
    assert [one.at_us for one in late] == [at("2026-01-06T07:00")]


def test_what_leaves_much_later_than_planned_says_so() -> None:
    rules, state = book({"quiet_hours": NIGHT}), empty()
    for event in (accepted("a", "23:00"), accepted("b", "23:01")):
        state = fold(state, event)
        for one in decide(state, rules, event.at_us)[0]:
            state = fold(state, one)

    made, _ = decide(state, rules, at("2026-01-06T09:00"))

    assert [one.digest is not None and one.digest.late for one in made] == [True, False], "the first row carries it"
    assert len({one.send for one in made}) == 1
    assert made[0].reasons[-1].reason is Because.LATE
