"""Editing before agreeing."""

from __future__ import annotations

from typing import Any

import pytest
from tests.approvals.parked import HOUR_US, content, pending_action
from tests.clock import START_US

from postroom.approvals.model import Action, ActionStatus, Ruling
from postroom.approvals.ruling import approval, edited, expiration, rejection
from postroom.channels.capabilities import KINDS
from postroom.channels.email.channel import Email
from postroom.channels.telegram.channel import Telegram
from postroom.kernel.values.errors import ValidationError
from postroom.message.channel import Channel
from postroom.message.delivery import Format, Intent

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
def test_from_the_moment_of_expiry_every_decision_is_too_late_and_ends_the_action(late_us: int) -> None:
    action = pending_action()
    now = action.expires_at_us + late_us

    for ruling in (
        approve(action, action.content_hash, now),
        rejection(action, actor="user:ann", now_us=now, reason="no"),
    ):
        assert code(ruling) == "too_late"
        assert ruling.decision is not None and ruling.decision.status is ActionStatus.EXPIRED


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
