"""Whom a delivery is for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.clock import FakeClock
from tests.work.delivery.test_idempotency import CONTEXT, NOTIFY
from tests.work.delivery.world import Book, ScriptedChannel

from postroom.domain.delivery import Intent
from postroom.domain.errors import ValidationError
from postroom.domain.outgoing import Outgoing
from postroom.work.delivery.target import Target, resolve_target


class Nobody(Book):
    async def owner(self, channel: str) -> str | None:
        return None


def reply(channel: str, thread: str | None, sender: str = "ann@example.com") -> Outgoing:
    context = replace(CONTEXT, source_thread_identity=thread, source_sender_identity=sender)
    return replace(NOTIFY, intent=Intent.REPLY, channel=channel, context=context)


@pytest.mark.requirement("messenger:delivery-validation-and-lineage")
@pytest.mark.parametrize(
    ("notify", "target"),
    [
        (NOTIFY, Target("1000")),
        (replace(NOTIFY, recipient="-42"), Target("-42")),
        (replace(NOTIFY, recipient="Ann"), Target("2000")),
        (replace(NOTIFY, recipient=None), Target("1000")),
        (reply("telegram", "1000:55"), Target("1000", "55")),
        (reply("telegram", " -100123:7 "), Target("-100123", "7")),
        (reply("email", "<m@example.com>"), Target("ann@example.com", "<m@example.com>")),
        (reply("email", None), Target("ann@example.com")),
    ],
    ids=["address", "group", "contact", "owner", "reply", "reply in a group", "reply to mail", "mail without thread"],
)
async def test_a_target_is_found(notify: Outgoing, target: Target) -> None:
    assert await resolve_target(notify, ScriptedChannel(notify.channel, FakeClock()), Book()) == target


@pytest.mark.parametrize(
    ("notify", "field", "code"),
    [
        (replace(NOTIFY, recipient="Nobody"), "delivery.recipient", "unknown_recipient"),
        (replace(NOTIFY, recipient="Twin"), "delivery.recipient", "ambiguous_recipient"),
        (replace(NOTIFY, recipient=None), "delivery.recipient", "recipient_required"),
        (reply("telegram", "1000"), "request_context.source_thread_identity", "thread_format"),
        (reply("telegram", None), "request_context.source_thread_identity", "thread_format"),
        (reply("email", None, "not an address"), "request_context.source_sender_identity", "not_an_address"),
    ],
    ids=["unknown", "ambiguous", "no owner", "no message id", "no thread", "no mailbox"],
)
async def test_a_target_that_is_not_certain_is_refused(notify: Outgoing, field: str, code: str) -> None:
    with pytest.raises(ValidationError) as caught:
        await resolve_target(notify, ScriptedChannel(notify.channel, FakeClock()), Nobody())

    assert [(one.field, one.code) for one in caught.value.fields] == [(field, code)]


def test_a_thread_is_part_of_the_identity() -> None:
    assert (Target("1").identity, Target("1", "2").identity) == ("1", "1:2")


class Words(ScriptedChannel):
    """Where any word is an address."""

    def address(self, text: str) -> str | None:
        return text


@pytest.mark.parametrize(
    ("recipient", "address"),
    [("Ann", "2000"), ("alerts", "alerts"), ("user:Ann", "user:Ann"), ("2000", "2000")],
    ids=["a contact", "no contact", "no name", "a number"],
)
async def test_where_any_word_is_an_address_a_contact_is_still_found_by_name(recipient: str, address: str) -> None:
    notify = replace(NOTIFY, channel="push", recipient=recipient)

    assert await resolve_target(notify, Words("push", FakeClock()), Book()) == Target(address)
