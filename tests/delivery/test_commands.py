"""`postroom notify`: what people read of it, and the codes that scripts go by."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import postroom, postroom_beside
from tests.household.living import QUICK, Living, living
from yarl import URL

from postroom.delivery import commands as command

ONE_A_MINUTE = {"limits": {"recipient_per_minute": 1}}
ROOMY = {"limits": {"recipient_per_minute": 10**6}}
STRANGER = {"contacts": [{"name": "Eve", "email": "eve@example.org"}]}
ASKING = {"approvals": {"enabled": True, "ask_owner": False}}
TELEGRAM = ("--channel", "telegram", "--wait", "20")
SENT = {
    "status": "ok",
    "delivery": {"status": "delivered", "delivery_id": "d1"},
    "request_context": {"request_id": "r"},
}


@asynccontextmanager
async def spoken_to(home: Path, monkeypatch: pytest.MonkeyPatch, *changes: Mapping[str, Any]) -> AsyncIterator[Living]:
    """Commands reach this household by its address, as from another machine."""
    async with living(home, QUICK, *changes) as alive:
        monkeypatch.setenv("POSTROOM_URL", alive.household.addresses["api"])
        monkeypatch.setenv("POSTROOM_TOKEN", alive.token("health"))
        yield alive


@pytest.mark.requirement("attention:said")
async def test_delivered_and_waiting_are_0_and_muted_and_refused_are_apart(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with spoken_to(home, monkeypatch, ROOMY, STRANGER, ASKING) as alive:
        attention = alive.household.attention
        assert attention is not None
        delivered = await postroom_beside("notify", "Hello", *TELEGRAM)
        parked = await postroom_beside("notify", "Hello", "--channel", "email", "--recipient", "Eve")
        lowered = await postroom_beside("notify", "Fire", *TELEGRAM, "--urgency", "critical")
        await attention.mute("owner", agent="health")
        muted = await postroom_beside("notify", "Hello", *TELEGRAM)
        wrong = await postroom_beside("notify", "Hello", *TELEGRAM, "--recipient", "No One")

    assert [one.code for one in (delivered, parked, lowered, muted, wrong)] == [0, 0, 0, 3, 1]
    assert "delivered: delivery " in delivered.out
    assert "Waits for an approval: " in parked.out and "awaiting_approval" not in parked.out
    assert lowered.out.endswith("\nIt counts as time-sensitive here: that is the most its person lets it be.\n")
    assert "Not sent: such messages are muted." in muted.out
    assert wrong.error.startswith("Not delivered: ")


@pytest.mark.requirement("attention:said")
async def test_a_notice_that_a_limit_keeps_is_said_in_a_sentence(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with spoken_to(home, monkeypatch, ONE_A_MINUTE, {"attention": {"preset": "everything"}}):
        await postroom_beside("notify", "One", *TELEGRAM)
        kept = await postroom_beside("notify", "Two", "--channel", "telegram")

    assert kept.code == 0 and "None" not in kept.out, kept
    assert "Stored, and sent as soon as there is room: notice " in kept.out


@pytest.mark.requirement("attention:said")
async def test_what_a_limit_refuses_says_when_to_try_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with spoken_to(home, monkeypatch, ONE_A_MINUTE):
        await postroom_beside("notify", "One", *TELEGRAM)
        for waiting in ((), ("--wait", "3")):
            refused = await postroom_beside("notify", "Two", "--channel", "telegram", *waiting)

            assert refused.code == 1 and re.search(r"Try again in \d+ s, or let --wait do it\.$", refused.error.strip())
            assert "_" not in refused.error and "(" not in refused.error


@pytest.mark.requirement("attention:said")
async def test_wait_tries_again_when_there_is_room(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with spoken_to(home, monkeypatch, ROOMY, {"limits": {"channels": {"telegram.bot": 60}}}) as alive:
        while (await alive.notify(message="One more", wait_seconds=0))["status"] != "error":
            pass
        sent = await postroom_beside("notify", "Later", *TELEGRAM)
        arrived = await alive.texts()

    assert sent.code == 0 and "delivered: delivery " in sent.out, sent
    assert arrived.count("Later") == 1


def test_an_option_under_its_former_name_is_taken_and_says_what_it_is_called_now(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[dict[str, Any]]()
    monkeypatch.setattr(command, "_here", lambda *more: asked.append(more[-2].model_dump(exclude_none=True)) or SENT)

    done = postroom("notify", "Hello", "--to", "Bob", "--key", "k", "--expires", "2h", "--wait", "1m")
    both = postroom("notify", "Hello", "--to", "Bob", "--recipient", "Ann")
    odd = postroom("notify", "Hello", "--urgency", "soon")

    assert done.code == 0, done
    assert asked == [
        {
            "message": "Hello",
            "recipient": "Bob",
            "idempotency_key": "k",
            "expires_in_seconds": 7200,
            "wait_seconds": 60,
        }
    ]
    for former, now in (("--to", "--recipient"), ("--key", "--idempotency-key"), ("--expires", "--expires-in")):
        assert f"{former} is called {now} now." in done.error
    assert both.code == 2 and "--to: is called --recipient now; give one of them." in both.error
    assert odd.code == 2 and "--urgency: there is no 'soon'" in odd.error


def test_json_stays_the_whole_answer(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer: dict[str, Any] = {"status": "muted", "notice_id": "n", "reasons": ["muted"]}
    monkeypatch.setattr(command, "_here", lambda *_: answer)

    done = postroom("notify", "Hello", "--json")

    assert (done.code, json.loads(done.out)) == (3, answer)


# -- a name that is several people's ---------------------------------------------------------------------------


async def test_the_people_a_name_may_mean_are_named_and_an_id_settles_it(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with living(tmp_path / "there", QUICK, {"approvals": {"enabled": False}}) as there:
        monkeypatch.setenv("POSTROOM_URL", there.household.addresses["api"])
        monkeypatch.setenv("POSTROOM_TOKEN", there.token("operator"))
        ids = [await added(name, chat) for name, chat in (("Bob", 2001), ("Bob", 2002), ("Bob Stone", 2003))]
        monkeypatch.setenv("POSTROOM_TOKEN", there.token("health"))
        unheard = await postroom_beside("notify", "Hi", "--channel", "telegram", "--recipient", "Bob")
        monkeypatch.setenv("POSTROOM_TOKEN", there.token("operator"))
        refused = await postroom_beside("notify", "Hi", "--channel", "telegram", "--recipient", "Bob")
        sent = await postroom_beside("notify", "Hi", "--channel", "telegram", "--recipient", ids[1])
        arrived = await chats(there)

    assert refused.code == 1 and "Several people are called 'Bob'; say which one by its id:" in refused.error
    assert [line.split()[-1] for line in refused.error.splitlines()[-3:]] == ids
    assert "Bob Stone" in refused.error.splitlines()[-1]
    assert unheard.code == 1 and "names more than one contact" in unheard.error and ids[0] not in unheard.error
    assert sent.code == 0, sent.error
    assert arrived == ["2002"]


async def added(name: str, chat: int) -> str:
    done = await postroom_beside("people", "add", name, "--address", f"telegram:{chat}", "--json")
    document = json.loads(done.out[done.out.index("{") :])
    return str(document["person_id"])


async def chats(there: Living) -> list[str]:
    return [one["chat_id"] for one in await there.received()]


async def test_without_a_name_it_goes_to_the_owner_on_the_channel_that_comes_first(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with living(home, QUICK) as alive:
        monkeypatch.setenv("POSTROOM_PORTS__GENERAL", str(URL(alive.household.addresses["general"]).port))
        mailed = ("people", "edit", "owner", "--address", "email:owner@sandbox.example", "--rank", "1")
        moved = await postroom_beside(*mailed)
        sent = await postroom_beside("notify", "Hello", "--json")

    assert (moved.code, sent.code) == (0, 0), (moved, sent)
    assert json.loads(sent.out[sent.out.index("{") :])["delivery"]["channel"] == "email", sent
