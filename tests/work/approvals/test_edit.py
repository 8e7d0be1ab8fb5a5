"""Editing before agreeing."""

from __future__ import annotations

from typing import Any

import pytest
from tests.work.approvals.parked import content, pending_action

from postroom.domain.delivery import Format, Intent
from postroom.domain.errors import ValidationError
from postroom.domain.ports import Channel
from postroom.work.approvals.edit import edited
from postroom.world.channels.email import Email
from postroom.world.channels.kinds import KINDS
from postroom.world.channels.telegram import Telegram

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
