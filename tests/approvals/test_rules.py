from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.approvals.parked import HOUR_US, content, pending_action
from tests.clock import START_US
from tests.support.kinds import KINDS

from postroom.approvals import rules
from postroom.approvals.acts import whole_action_body
from postroom.approvals.model import Action, ActionStatus, Constraint, ConstraintKind, Ruling, ShownAction, StandingRule
from postroom.approvals.rules import (
    RiskPolicy,
    RuleRequest,
    approval,
    edited,
    expiration,
    links_of,
    parse_rule_request,
    rejection,
    risk_of,
)
from postroom.channels.email.channel import Email
from postroom.channels.telegram.channel import Telegram
from postroom.kernel.values.errors import ValidationError
from postroom.message.channel import Channel
from postroom.message.delivery import Format, Intent
from postroom.message.wishes import Risk


@pytest.mark.requirement("content:links-in-approvals")
@pytest.mark.parametrize(
    ("source", "misleading"),
    [
        ("[here](https://a.example/x)", False),
        ("[a.example](https://a.example/x)", False),
        ("[www.a.example](https://a.example)", False),
        ("[a.example](https://docs.a.example)", False),
        ("[https://bank.example/login](https://evil.example)", True),
        ("[pay at bank.example now](https://evil.example)", True),
        ("[bank.example](https://bank.example.evil.example)", True),
        ("[click](https://bank.example@evil.example)", True),
        ("[ann@bank.example](mailto:eve@evil.example)", True),
        ("[ann@bank.example](mailto:ann@bank.example)", False),
        ("![bank.example](https://evil.example/i.png)", True),
    ],
)
def test_a_label_that_names_another_host_misleads_and_is_a_high_risk(source: str, misleading: bool) -> None:
    written = content(message=source, format=Format.MARKDOWN)

    (link,) = links_of(written)
    assert link.misleading is misleading
    assert risk_of(written, RiskPolicy()) is (Risk.HIGH if misleading else Risk.MEDIUM)


@pytest.mark.requirement("content:links-in-approvals")
def test_who_decides_sees_the_text_how_it_reads_and_where_links_lead() -> None:
    written = content(message="**Hi** [there](https://a.example/x)", format=Format.MARKDOWN)

    shown = whole_action_body(ShownAction(action=pending_action(content=written, content_hash=written.hash), events=[]))

    assert shown["content"]["message"] == "**Hi** [there](https://a.example/x)"
    assert (shown["format"], shown["rendered"], shown["intact"]) == ("markdown", "Hi there", True)
    assert [asdict(one) for one in shown["links"]] == [
        {"label": "there", "target": "https://a.example/x", "host": "a.example", "misleading": False}
    ]


def test_plain_text_has_no_links_and_the_same_text_in_another_format_is_another_content() -> None:
    assert links_of(content(message="[a.example](https://b.example)")) == ()
    assert content(message="x").hash != content(message="x", format=Format.MARKDOWN).hash


POLICY = RiskPolicy(by_channel={"email": Risk.CRITICAL})


@pytest.mark.parametrize(
    ("changes", "risk"),
    [
        pytest.param({}, Risk.MEDIUM, id="by default"),
        pytest.param({"channel": "email"}, Risk.CRITICAL, id="as the household says"),
        pytest.param({"intent": Intent.REACT, "emoji": "👍", "message": ""}, Risk.LOW, id="a reaction"),
        pytest.param({"channel": "email", "intent": Intent.REACT}, Risk.CRITICAL, id="never below a high tier"),
        pytest.param({"message": "abc\u202e"}, Risk.HIGH, id="hidden direction"),
        pytest.param({"subject": "p\u0430ypal"}, Risk.HIGH, id="look-alike in the subject"),
        pytest.param({"channel": "email", "message": "a\u200bb"}, Risk.CRITICAL, id="never lowered"),
    ],
)
def test_the_tier_of_a_message(changes: dict[str, object], risk: Risk) -> None:
    assert risk_of(content(**changes), POLICY) is risk


EXACT = Constraint(ConstraintKind.EXACT, "555")


def test_everything_that_was_asked_for_is_in_the_rule() -> None:
    request = parse_rule_request(
        {
            "constraints": {"recipient": "555"},
            "description": " Bob ",
            "expires_at": "2026-01-02T00:00:00Z",
            "max_uses": 3,
        }
    )

    made = request.to_rule(rule_id="r", actor="user:ann", now_us=START_US)

    assert (made.constraints, made.description, made.max_uses) == ({"recipient": EXACT}, "Bob", 3)
    assert made.expires_at_us == START_US + 86_400_000_000
    assert made.created_by == "user:ann"


def test_without_constraints_the_suggestion_counts_and_with_empty_ones_it_does_not() -> None:
    suggestion = {"recipient": EXACT}

    suggested = RuleRequest().to_rule(rule_id="r", actor="o", now_us=0, suggestion=suggestion)
    explicit = parse_rule_request({"constraints": {}}).to_rule(rule_id="r", actor="o", now_us=0, suggestion=suggestion)

    assert suggested.constraints == suggestion
    assert explicit.constraints == {}


@pytest.mark.parametrize(
    ("payload", "field"),
    [
        pytest.param({"max_uses": 0}, "max_uses", id="no uses"),
        pytest.param({"max_uses": True}, "max_uses", id="a truth is no number"),
        pytest.param({"max_uses": 1.5}, "max_uses", id="half a use"),
        pytest.param({"expires_at": "tomorrow"}, "expires_at", id="no time"),
        pytest.param({"expires_at": "2026-01-02T00:00:00"}, "expires_at", id="no offset"),
        pytest.param({"active": True}, "active", id="unknown key"),
        pytest.param("yes", "create_rule", id="no object"),
        pytest.param({"constraints": {"x": 1}}, "constraints.x", id="unknown argument"),
    ],
)
def test_what_cannot_be_a_rule_is_refused(payload: Any, field: str) -> None:
    with pytest.raises(ValidationError) as caught:
        parse_rule_request(payload)

    assert [problem.field for problem in caught.value.fields] == [field]


RULES_POLICY = RiskPolicy(by_channel={"email": Risk.HIGH})
ARGUMENTS = rules.arguments_of(content(subject=None), "general")


def rule(constraints: dict[str, Any], **changes: Any) -> StandingRule:
    values = {"id": "r", "description": "", "created_by": "operator", "created_at_us": START_US} | changes
    return StandingRule(constraints=rules.parse_constraints(constraints), **values)


def pattern(value: str) -> dict[str, str]:
    return {"type": "pattern", "value": value}


ANY = {"type": "any"}


@pytest.mark.parametrize(
    ("constraints", "fits"),
    [
        pytest.param({}, True, id="nothing said, everything fits"),
        pytest.param({"recipient": "555"}, True, id="exact"),
        pytest.param({"recipient": "556"}, False, id="exact, another"),
        pytest.param({"recipient": pattern("5*")}, True, id="pattern"),
        pytest.param({"recipient": pattern("6*")}, False, id="pattern, another"),
        pytest.param({"recipient": ANY}, True, id="any"),
        pytest.param({"subject": pattern("*")}, False, id="what is missing fits no pattern"),
        pytest.param({"subject": ANY}, True, id="what is missing fits any"),
        pytest.param({"recipient": "555", "origin_butler": "health"}, False, id="all must hold"),
        pytest.param({"recipient": "*"}, False, id="a bare star is a star"),
        pytest.param({"intent": "send", "channel": "telegram", "message": pattern("See you*")}, True, id="several"),
    ],
)
def test_matching(constraints: dict[str, Any], fits: bool) -> None:
    assert rules.matches(rule(constraints), ARGUMENTS) is fits


def test_an_address_is_compared_without_regard_to_ascii_case_only() -> None:
    arguments = ARGUMENTS | {"recipient": "Alice@friends.example"}

    assert rules.matches(rule({"recipient": "alice@friends.example"}), arguments)
    assert rules.matches(rule({"recipient": pattern("*@FRIENDS.example")}), arguments)
    assert not rules.matches(
        rule({"recipient": "\u212aelvin@x.example"}), ARGUMENTS | {"recipient": "kelvin@x.example"}
    )


@pytest.mark.parametrize(
    ("named", "fits"),
    [
        (pattern("ci*"), False),
        (pattern("*evil"), False),
        (pattern("*i*"), True),
        (pattern("*"), True),
        ("ci", False),
        ("ci, evil", True),
    ],
)
def test_the_words_of_several_agents_in_one_message_pass_by_a_rule_for_all_of_them(named: Any, fits: bool) -> None:
    together = rules.arguments_of(content(), "ci, evil")
    assert rules.matches(rule({"origin_butler": named}), together) is fits


def test_precedence_is_specific_then_bounded_then_new_then_by_id() -> None:
    wide = rule({}, id="wide")
    pattern_rule = rule({"recipient": pattern("5*")}, id="pattern")
    exact = rule({"recipient": "555"}, id="exact")
    bounded = rule({"recipient": "555"}, id="bounded", max_uses=3)
    newer = rule({"recipient": "555"}, id="newer", created_at_us=START_US + 1)
    twin = rule({"recipient": "555"}, id="exact-b")

    found = rules.standing([wide, pattern_rule, exact, newer, twin, bounded], ARGUMENTS, Risk.MEDIUM, START_US)

    assert [one.id for one in found] == ["bounded", "newer", "exact", "exact-b", "pattern", "wide"]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"expires_at_us": START_US}, id="expired"),
        pytest.param({"max_uses": 2, "use_count": 2}, id="used up"),
        pytest.param({"revoked_at_us": START_US - 1}, id="revoked"),
    ],
)
def test_a_rule_that_has_ended_lets_nothing_pass(changes: dict[str, Any]) -> None:
    assert rules.standing([rule({"recipient": "555"}, **changes)], ARGUMENTS, Risk.LOW, START_US) == []


def test_what_is_dangerous_passes_only_by_a_rule_that_names_something_and_ends() -> None:
    loose = [rule({"recipient": "555"}), rule({}, max_uses=1), rule({"recipient": pattern("**?")}, max_uses=1)]
    strict = rule({"recipient": "555"}, id="strict", expires_at_us=START_US + HOUR_US)

    found = rules.standing([*loose, strict], ARGUMENTS, Risk.HIGH, START_US)

    assert [one.id for one in found] == ["strict"]


@pytest.mark.parametrize(
    ("constraints", "changes", "codes"),
    [
        pytest.param({"channel": "telegram"}, {}, [], id="a medium rule may be open"),
        pytest.param({"channel": "email"}, {}, ["unbounded"], id="a high one needs a bound"),
        pytest.param({}, {"max_uses": 1}, ["too_wide"], id="a rule for all channels is as high as the worst"),
        pytest.param({"recipient": pattern("*")}, {}, ["too_wide", "unbounded"], id="wildcards say nothing"),
        pytest.param({"channel": "email", "recipient": "a@b.example"}, {"max_uses": 1}, [], id="bounded by uses"),
        pytest.param({"channel": "email"}, {"expires_at_us": START_US + HOUR_US}, [], id="bounded by time"),
        pytest.param({"channel": "telegram"}, {"expires_at_us": START_US}, ["in_the_past"], id="ended before it began"),
        pytest.param({"channel": pattern("tele*")}, {}, ["unbounded"], id="a pattern of channels counts as all"),
    ],
)
def test_what_a_rule_must_say(constraints: dict[str, Any], changes: dict[str, Any], codes: list[str]) -> None:
    assert _codes(rule(constraints, **changes)) == codes


def _codes(one: StandingRule) -> list[str]:
    try:
        rules.check_rule(one, RULES_POLICY, START_US)
    except ValidationError as error:
        return [problem.code for problem in error.fields]
    return []


@pytest.mark.parametrize(
    ("payload", "field"),
    [
        pytest.param([], "constraints", id="no object"),
        pytest.param({"amount": "1"}, "constraints.amount", id="unknown argument"),
        pytest.param({"channel": {"type": "regex", "value": "."}}, "constraints.channel.type", id="unknown type"),
        pytest.param({"channel": {"type": "exact"}}, "constraints.channel.value", id="no value"),
        pytest.param({"channel": {"type": "any", "or": 1}}, "constraints.channel.or", id="unknown key"),
        pytest.param({"channel": 5}, "constraints.channel", id="a number"),
        pytest.param({"channel": "x" * 501}, "constraints.channel", id="too long"),
    ],
)
def test_bad_constraints_are_refused_with_their_path(payload: Any, field: str) -> None:
    with pytest.raises(ValidationError) as caught:
        rules.parse_constraints(payload)

    assert field in [problem.field for problem in caught.value.fields]


@given(
    st.dictionaries(
        st.sampled_from(rules.CONSTRAINABLE),
        st.builds(Constraint, st.sampled_from([ConstraintKind.EXACT, ConstraintKind.PATTERN]), st.just("a*[b]?"))
        | st.just(Constraint(ConstraintKind.ANY)),
    )
)
def test_what_is_written_is_read_back(constraints: dict[str, Constraint]) -> None:
    assert rules.parse_constraints(rules.written(constraints)) == constraints


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40).filter(str.strip))
def test_a_bare_value_fits_itself_and_nothing_else(value: str) -> None:
    if "\x00" in value:
        return
    one = rule({"message": value})

    assert rules.matches(one, {"message": value})
    assert not rules.matches(one, {"message": value + "x"})


def test_the_suggestion_pins_the_people_and_not_the_words() -> None:
    suggestion = rules.suggested(content(message="*", address="*"), "general")
    made = StandingRule(id="r", constraints=suggestion, description="", created_by="o", created_at_us=START_US)

    assert set(suggestion) == {"channel", "recipient", "origin_butler", "intent"}
    assert rules.matches(made, rules.arguments_of(content(message="other words", address="*"), "general"))
    assert not rules.matches(made, ARGUMENTS)


CHANNELS: dict[str, Channel] = {
    "telegram": Telegram("1:token", "http://127.0.0.1:1"),
    "email": Email("127.0.0.1", 1, "none", None, None, "postroom@sandbox.example"),
}
KNOWN = KINDS
MAIL = content(channel="email", address="bob@friends.example", subject="Dinner")
REPLY = content(intent=Intent.REPLY, thread="7")
CONTEXT = {
    "request_id": "r",
    "source_channel": "telegram",
    "source_endpoint_identity": "bot",
    "source_sender_identity": "555",
    "source_thread_identity": "555:7",
}


def test_without_edits_nothing_changes() -> None:
    action = pending_action()

    wanted = edited(action, None, CHANNELS, KNOWN)

    assert (wanted.content, wanted.fields) == (action.content, ())


@pytest.mark.parametrize(
    ("before", "edits", "changes"),
    [
        pytest.param(content(), {"message": "At nine"}, {"message": "At nine"}, id="message"),
        pytest.param(content(), {"recipient": " 777 "}, {"address": "777"}, id="recipient, as the channel writes it"),
        pytest.param(MAIL, {"subject": "Supper"}, {"subject": "Supper"}, id="subject"),
        pytest.param(MAIL, {"subject": None}, {"subject": None}, id="no subject any more"),
        pytest.param(content(), {"message": "See you at eight"}, {}, id="the same words"),
        pytest.param(content(), {}, {}, id="an empty edit"),
    ],
)
def test_an_edit_changes_what_it_names(before: Any, edits: dict[str, Any], changes: dict[str, Any]) -> None:
    action = pending_action(content=before, content_hash=before.hash)

    wanted = edited(action, edits, CHANNELS, KNOWN)

    names = {"address": "recipient"}
    assert {name: getattr(wanted.content, name) for name in changes} == changes
    assert wanted.fields == tuple(names.get(name, name) for name in changes)
    assert (wanted.content.hash == before.hash) is (changes == {})


@pytest.mark.parametrize(
    ("before", "edits", "code"),
    [
        pytest.param(content(), {"message": ""}, "blank", id="no message left"),
        pytest.param(content(), {"message": None}, "message_required", id="message removed"),
        pytest.param(content(), {"message": "x" * 100_001}, "too_long", id="too long"),
        pytest.param(content(), {"recipient": "not an address"}, "not_an_address", id="no address"),
        pytest.param(MAIL, {"subject": "a\r\nBcc: x@evil.example"}, "line_break", id="header injection"),
        pytest.param(MAIL, {"recipient": "a@b.example, c@d.example"}, "not_an_address", id="two addresses"),
        pytest.param(content(), {"channel": "email"}, "unknown_field", id="another channel"),
        pytest.param(content(), {"intent": "reply"}, "unknown_field", id="another intent"),
        pytest.param(content(), "hello", "object_required", id="no object"),
        pytest.param(REPLY, {"recipient": "777"}, "fixed", id="a reply to somebody else"),
    ],
)
def test_what_could_not_have_been_sent_cannot_be_edited_into_being(before: Any, edits: Any, code: str) -> None:
    envelope = {"schema_version": "notify.v1", "origin_butler": "general"}
    envelope |= {"request_context": CONTEXT} if before is REPLY else {}
    action = pending_action(content=before, content_hash=before.hash, envelope=envelope)

    with pytest.raises(ValidationError) as caught:
        edited(action, edits, CHANNELS, KNOWN)

    assert [problem.code for problem in caught.value.fields] == [code]


def test_an_edit_needs_the_channel_to_check_it() -> None:
    with pytest.raises(ValidationError, match="no credentials for telegram"):
        edited(pending_action(), {"message": "x"}, {"email": CHANNELS["email"]}, KNOWN)


def test_where_no_channel_runs_a_message_can_only_be_approved_as_it_is() -> None:
    with pytest.raises(ValidationError, match="can be made where the messenger runs"):
        edited(pending_action(), {"message": "x"}, {}, KNOWN)


@pytest.mark.requirement("content:links-in-approvals")
def test_an_edit_keeps_the_format() -> None:
    action = pending_action(content=content(format=Format.MARKDOWN))

    assert edited(action, {"message": "**nine**"}, CHANNELS, KNOWN).content.format is Format.MARKDOWN


NOW = START_US + HOUR_US


def approve(action: Action, seen_hash: str | None = None, now_us: int = NOW) -> Ruling:
    return approval(action, actor="user:ann", now_us=now_us, seen_hash=seen_hash, content=action.content)


def code(ruling: Ruling) -> str | None:
    return ruling.refusal.code if ruling.refusal else None


def test_a_person_who_names_the_right_hash_is_heard() -> None:
    action = pending_action()

    ruling = approve(action, action.content_hash)

    assert ruling.decision is not None and ruling.decision.status is ActionStatus.APPROVED
    assert ruling.decision.content == action.content
    assert ruling.refusal is None


def test_a_hash_of_something_else_is_refused_and_worth_a_line_in_the_audit() -> None:
    ruling = approve(pending_action(), content(message="other").hash)

    assert (code(ruling), ruling.decision) == ("hash_mismatch", None)
    assert ruling.refused == ("user:ann", NOW)


def test_a_changed_byte_in_the_ledger_is_refused_even_when_nobody_names_a_hash() -> None:
    ruling = approve(pending_action(content=content(message="See you at nine")))

    assert (code(ruling), ruling.decision) == ("content_changed", None)


@pytest.mark.parametrize("late_us", [0, 1, 1000 * HOUR_US])
def test_from_the_moment_of_expiry_every_decision_is_too_late(late_us: int) -> None:
    action = pending_action()
    now = action.expires_at_us + late_us

    for ruling in (
        approve(action, action.content_hash, now),
        rejection(action, actor="user:ann", now_us=now, reason="no"),
    ):
        assert (code(ruling), ruling.decision) == ("too_late", None)


def test_one_moment_before_the_expiry_is_in_time() -> None:
    action = pending_action()

    assert approve(action, now_us=action.expires_at_us - 1).refusal is None


@pytest.mark.parametrize("status", [one for one in ActionStatus if one is not ActionStatus.PENDING])
def test_a_decision_is_taken_once(status: ActionStatus) -> None:
    action = pending_action(status=status, decided_by="user:bob", decided_at_us=NOW)

    for ruling in (approve(action), rejection(action, actor="user:ann", now_us=NOW, reason="no")):
        assert (code(ruling), ruling.decision) == ("already_decided", None)


def test_the_sender_is_told_why_it_was_not_sent() -> None:
    rejected = rejection(pending_action(), actor="user:ann", now_us=NOW, reason="not today").decision
    expired = expiration(pending_action(), NOW)

    assert rejected is not None
    assert rejected.failure == "a person rejected this message: not today"
    assert expired.failure == "nobody approved this message within 48 hours"
