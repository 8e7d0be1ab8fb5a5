"""A signature names the butler before its words: in chats, for butlers, and as part of what is sent."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.app.living import LIFTED, QUICK, living
from tests.clock import FakeClock
from tests.domain.envelopes import REACT
from tests.work.delivery.world import Parts, envelope, generous, living_world

from postroom.domain.capabilities import UNDECLARED
from postroom.domain.delivery import Format
from postroom.domain.errors import ValidationError
from postroom.domain.markdown import parse
from postroom.domain.notify import MAX_MESSAGE_CHARACTERS, parse_notify
from postroom.work.delivery.signature import signed
from postroom.world.channels.kinds import KINDS
from postroom.world.channels.telegram_text import TEXT_LIMIT

CHANNELS = {**KINDS, "pager": UNDECLARED}
SIGNED = {"messages": {"sign": True}}


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, "health: Hello"),
        ({"channel": "pager"}, "health: Hello"),
        ({"channel": "email", "recipient": "ada@example.org"}, "Hello"),
        ({"origin_butler": "intents"}, "Hello"),
        ({"origin_butler": "approvals"}, "Hello"),
    ],
    ids=str,
)
def test_a_butler_s_chat_message_begins_with_its_name(fields: dict[str, Any], text: str) -> None:
    outgoing = parse_notify(envelope(**fields), CHANNELS)

    assert signed(outgoing, CHANNELS[outgoing.channel].style) == text


def test_a_reaction_has_nothing_to_sign() -> None:
    assert signed(parse_notify(REACT, CHANNELS), "chat") == ""


def test_the_name_counts_toward_the_length() -> None:
    with pytest.raises(ValidationError, match="with the butler's name before it"):
        signed(parse_notify(envelope("x" * MAX_MESSAGE_CHARACTERS), CHANNELS), "chat")


async def test_the_same_message_is_the_same_request_signed_or_not(tmp_path: Path, clock: FakeClock) -> None:
    async with living_world(tmp_path / "p.db", clock, Parts(policy=generous())) as before:
        first = await before.send(idempotency_key="k")
    async with living_world(tmp_path / "p.db", clock, Parts(policy=generous(sign=True))) as after:
        again = await after.send(idempotency_key="k")
        other = await after.send(idempotency_key="l")

        assert again["delivery"]["delivery_id"] == first["delivery"]["delivery_id"]
        assert other["status"] == "accepted"
        assert after.telegram.texts == ["health: Hello"]


async def test_a_text_arrives_as_it_was_written_unless_the_household_wants_it_signed(tmp_path: Path) -> None:
    async with living(tmp_path, LIFTED, QUICK) as home:
        await home.notify()
        assert await home.texts() == ["Hello"]


async def test_a_signed_text_is_split_with_its_name(tmp_path: Path) -> None:
    async with living(tmp_path, LIFTED, QUICK, SIGNED) as home:
        await home.notify(message="x" * TEXT_LIMIT)

        first, second = await home.texts()
        assert first + second in ("health: " + "x" * TEXT_LIMIT, "health:" + "x" * TEXT_LIMIT)
        assert max(len(first), len(second)) <= TEXT_LIMIT


async def test_what_a_person_approves_is_the_text_with_the_name(tmp_path: Path) -> None:
    asking = {"approvals": {"enabled": True, "ask_owner": False}}
    async with living(tmp_path, LIFTED, QUICK, SIGNED, asking) as home:
        action = {"action_id": (await home.notify(recipient="4242"))["action_id"]}
        shown = await home.call("messenger", "show_pending_action", action, caller="operator")
        assert "health: Hello" in json.dumps(shown)

        decision = {**action, "content_hash": shown["action"]["content_hash"]}
        await home.call("messenger", "approve_action", decision, caller="operator")
        await home.settled()

        assert await home.texts() == ["health: Hello"]


@pytest.mark.requirement("content:no-injection")
def test_in_markdown_the_name_is_a_paragraph_that_the_words_cannot_change() -> None:
    asked = parse_notify(envelope("(https://evil.example)\n==="), CHANNELS)

    text = signed(replace(asked, origin_butler="a_b_[c]", format=Format.MARKDOWN), "chat")

    assert parse(text).text == "a_b_[c]:\n\n(https://evil.example)"
    assert not parse(text).links


@pytest.mark.requirement("content:format-carried")
async def test_markdown_arrives_without_its_markup(tmp_path: Path) -> None:
    async with living(tmp_path, LIFTED, QUICK) as home:
        answer = await home.notify(message="**Hi** [l](https://a.example)", format="markdown")

        assert answer["status"] in ("ok", "accepted")
        assert await home.texts() == ["Hi l"]
