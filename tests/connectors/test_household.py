"""An adapter in the household's own process makes no call to its port, and what it sends takes the same steps."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.contract.pieces import Piecemeal
from tests.telephone import CHATGPT, OWNER, settings_for, telephone

from postroom.connectors.household import Errand, HouseholdElsewhere
from postroom.intents.acts import SubmitIntent
from postroom.kernel.acts.reading import made
from postroom.kernel.values.errors import Code, Refused
from postroom.people.contacts import ResolveContact
from postroom.settings.reach import HouseholdClient


def never(*_given: object, **_named: object) -> None:
    raise AssertionError("a call to our own port")


@pytest.mark.requirement("house:same-path")
async def test_a_message_by_an_adapter_at_home_goes_through_the_switchboard_and_no_port_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HouseholdClient, "ask", never)
    async with telephone(settings_for(tmp_path)) as line:
        sent = await line.adapt({"requester_agent": OWNER, "recipient_name": "Bob", "message": "Hello"}, CHATGPT)
        intent_id = sent.body["delivery"]["intent_id"]
        await line.until(intent_id, "DELIVERED")

    with sqlite3.connect(tmp_path / "postroom.db") as database:
        handed = database.execute(
            "SELECT origin_butler, handed_by FROM delivery_requests WHERE request_id = ?", [intent_id]
        )
        assert handed.fetchall() == [("intents", "switchboard")]


# Over HTTP.


Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Takes the whole request, and breaks off."""
    await reader.readuntil(b"\r\n\r\n")
    writer.close()


async def bad_gateway(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    page = b'{"detail": "upstream"}'
    head = f"HTTP/1.1 502 Bad Gateway\r\nContent-Type: application/json\r\nContent-Length: {len(page)}\r\n\r\n"
    writer.write(head.encode() + page)
    await writer.drain()
    writer.close()


ERRAND = Errand(CHATGPT, "token")
ASK = made(SubmitIntent, intent_type="intent.ask.v1", to_agent="agent://user/ann", payload={})


def elsewhere(url: str) -> HouseholdElsewhere:
    return HouseholdElsewhere(HouseholdClient(url))


@asynccontextmanager
async def household(behaviour: Behaviour) -> AsyncIterator[HouseholdElsewhere]:
    server = await asyncio.start_server(behaviour, "127.0.0.1", 0)
    client = elsewhere(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    try:
        yield client
    finally:
        await client.close()
        server.close()


async def test_an_answer_that_arrives_in_pieces_is_read_whole() -> None:
    taken = {"intent_id": "i", "status": "SUBMITTED", "lifecycle_status": "SUBMITTED", "legacy_status": "accepted"}
    async with Piecemeal({"ok": True, **taken, "created_at": "now", "words": "word " * 50}) as server:
        client = elsewhere(server.url)
        told = await client.ask(ASK, ERRAND)
        assert told.model_dump() == {"ok": True, **taken, "created_at": "now"}
        await client.close()


@pytest.mark.parametrize("behaviour", [cut, bad_gateway])
async def test_a_message_that_may_have_been_taken_is_not_said_to_be_unsent(behaviour: Behaviour) -> None:
    async with household(behaviour) as caller:
        with pytest.raises(Refused) as refused:
            await caller.ask(ASK, ERRAND)

    assert refused.value.code is Code.UPSTREAM_UNAVAILABLE
    assert "nothing was sent" not in refused.value.message
    assert "may have been sent" in refused.value.message
    assert "idempotency_key" in refused.value.message


@pytest.mark.parametrize("behaviour", [cut, bad_gateway])
async def test_looking_for_somebody_sends_nothing_however_it_ends(behaviour: Behaviour) -> None:
    async with household(behaviour) as caller:
        with pytest.raises(Refused) as refused:
            await caller.ask(made(ResolveContact, owner_agent=OWNER, query="Bob"), ERRAND)

    assert "nothing was sent" in refused.value.message


async def test_a_household_that_is_not_there_was_told_nothing(free_port: int) -> None:
    client = elsewhere(f"http://127.0.0.1:{free_port}")
    with pytest.raises(Refused) as refused:
        await client.ask(ASK, ERRAND)
    await client.close()

    assert "nothing was sent" in refused.value.message
