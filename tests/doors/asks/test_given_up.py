"""A call that its client gives up ends nothing and eats nothing: who asks again has the answer, and no second card."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from tests.doors.asks.askers import HEALTH, MODERN, SHIP, Askers
from tests.doors.asks.wire import SHOWS_FORMS, begin, message_of, said_in
from tests.patience import PATIENCE_SECONDS

from postroom.kernel.values.principal import OPERATOR, Principal
from postroom.questions.rules.reading import Given

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("ask:waiting")]
STREAM = "application/json, text/event-stream"
JSON = "application/json"


@asynccontextmanager
async def session(house: Askers, who: Principal, able: Mapping[str, Any], accept: str = STREAM) -> AsyncIterator[Line]:
    """Of the older protocol."""
    part = who.name if who == HEALTH else "api"
    session_id = await begin(house, who, able, part)
    await said_in(house, who, session_id, part)
    own = {"Authorization": f"Bearer {house.token(who)}", "Accept": accept, "Mcp-Session-Id": session_id}
    async with httpx2.AsyncClient(timeout=PATIENCE_SECONDS, headers=own) as http:
        yield Line(http, f"{house.line.url(part)}/mcp")


class Line:
    def __init__(self, http: httpx2.AsyncClient, url: str) -> None:
        self._http = http
        self._url = url

    async def says(self, **message: Any) -> httpx2.Response:
        return await self._http.post(self._url, json={"jsonrpc": "2.0", **message})

    async def calls(self, call_id: int, name: str, **arguments: Any) -> httpx2.Response:
        return await self.says(id=call_id, method="tools/call", params={"name": name, "arguments": arguments})

    async def gives_up(self, call_id: int | str) -> int:
        said = {"requestId": call_id, "reason": "timed out"}
        return (await self.says(method="notifications/cancelled", params=said)).status_code


async def opened(house: Askers, key: str, who: Principal = HEALTH) -> str:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (found := await house.parts.asking.under(who, key)):
            await asyncio.sleep(0.01)
    await house.until_waiting(found[0].question.id)
    return found[0].question.id


async def answered_at_the_desk(house: Askers, ask_id: str, text: str) -> None:
    await house.parts.asking.answer(OPERATOR, ask_id, Given(text=text), channel="console", event_id=f"e-{ask_id}")


@pytest.mark.parametrize(
    ("who", "able", "accept"),
    [(HEALTH, {}, STREAM), (HEALTH, {}, JSON), (OPERATOR, SHOWS_FORMS, STREAM)],
    ids=["stream", "json", "forms"],
)
async def test_cancelling_a_call_of_a_session_ends_its_wait_and_leaves_the_secret(
    house: Askers, who: Principal, able: Mapping[str, Any], accept: str
) -> None:
    key = f"k-cancel-{who.name}-{len(accept)}"
    asked = {"question": f"The code, {key}?", "secret": True, "wait_seconds": 60, "idempotency_key": key}
    async with session(house, who, able, accept) as line:
        forgotten = asyncio.create_task(line.calls(7, "ask", **asked))
        ask_id = await opened(house, key, who)
        assert await line.gives_up(7) == 202
        await house.until_left(ask_id)
        ended = await forgotten
        await answered_at_the_desk(house, ask_id, "hunter2")
        again = await line.calls(8, "wait", ask_id=ask_id, wait_seconds=0)
        once_more = await line.calls(9, "wait", ask_id=ask_id, wait_seconds=0)

    assert message_of(ended)["error"]["message"] == "Request cancelled"
    assert _told(again)["answer"]["text"] == "hunter2"
    assert _told(once_more)["answer"] is None


async def test_who_asks_again_after_a_cancel_joins_the_same_card(house: Askers) -> None:
    asked = {**SHIP, "question": "After a cancel?", "wait_seconds": 60}
    async with session(house, HEALTH, {}) as line:
        forgotten = asyncio.create_task(line.calls(3, "ask", **asked, idempotency_key="k-joins"))
        ask_id = await opened(house, "k-joins")
        await line.gives_up(3)
        await forgotten
        await house.answer(ask_id, {"value": "yes"})
        told = _told(await line.calls(4, "ask", **asked, idempotency_key="k-joins"))

    assert (told["ask_id"], told["joined"], told["answer"]["value"]) == (ask_id, True, "yes")


async def test_nobody_gives_up_the_call_of_another(house: Askers) -> None:
    """Neither by another number, nor in another session, nor one of the same caller's with the same number."""
    asked = {**SHIP, "question": "Whose call?", "wait_seconds": 60, "idempotency_key": "k-whose"}
    async with session(house, HEALTH, {}) as line, session(house, HEALTH, {}) as other:
        waiting = asyncio.create_task(line.calls(5, "ask", **asked))
        ask_id = await opened(house, "k-whose")
        for one, number in ((line, 6), (line, "5"), (other, 5)):
            assert await one.gives_up(number) == 202
        await house.answer(ask_id, {"value": "no"})

        assert _told(await waiting)["answer"]["value"] == "no"


@pytest.mark.parametrize("era", ["session", "session-forms", "newer", "newer-json", "rest"])
async def test_an_answer_that_no_one_is_there_to_read_is_kept(house: Askers, era: str) -> None:
    """The client hangs up without a word; the one that asks the same again, without a key, is told on the same card."""
    who = OPERATOR if era == "session-forms" else HEALTH
    asked = {**SHIP, "question": f"Hung up, {era}?", "to": "anna"}
    ask_id = (await house.ask(who, "api" if who == OPERATOR else None, **asked))["ask_id"]
    async with _caller(house, who, era) as hang_on:
        calling = asyncio.create_task(hang_on({"ask_id": ask_id, "wait_seconds": 60}))
        await house.until_waiting(ask_id)
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
    await house.answer(ask_id, {"value": "yes"})
    if era != "session-forms":  # by its protocol a hung-up call of a session goes on
        await house.until_left(ask_id)
    told = await house.ask(who, "api" if who == OPERATOR else None, **asked)

    assert (told["ask_id"], told["joined"], told["answer"]["value"]) == (ask_id, True, "yes")


@pytest.mark.requirement("ask:joining")
async def test_an_approval_that_was_given_and_not_collected_is_asked_for_anew(house: Askers) -> None:
    asked = {"question": "Delete the backups?", "kind": "approve", "options": None}
    first = (await house.ask(HEALTH, **asked))["ask_id"]
    assert (await house.answer(first, {"value": "approve"})).status == 200
    again = await house.ask(HEALTH, **asked)

    assert (again["ask_id"] != first, again["status"], again["answer"]) == (True, "open", None)


@asynccontextmanager
async def _caller(house: Askers, who: Principal, era: str) -> AsyncIterator[Any]:
    if era.startswith("session"):
        async with session(house, who, SHOWS_FORMS if era == "session-forms" else {}) as line:
            yield lambda arguments: line.calls(5, "wait", **arguments)
        return
    part = who.name
    own = {"Authorization": f"Bearer {house.token(who)}"}
    async with httpx2.AsyncClient(timeout=PATIENCE_SECONDS, headers=own) as http:
        if era == "rest":
            yield lambda asked: http.get(
                f"{house.line.url('api')}/v1/asks/{asked['ask_id']}?wait={asked['wait_seconds']}"
            )
            return
        named = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "wait"}
        accept = {"Accept": STREAM if era == "newer" else JSON}
        meta = {f"io.modelcontextprotocol/{name}": value for name, value in _MODERN_META.items()}
        yield lambda arguments: http.post(
            f"{house.line.url(part)}/mcp",
            json={
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": "wait", "arguments": arguments, "_meta": meta},
            },
            headers={**named, **accept},
        )


_MODERN_META: dict[str, Any] = {"protocolVersion": MODERN, "clientCapabilities": {}}


def _told(answer: httpx2.Response) -> dict[str, Any]:
    told: dict[str, Any] = message_of(answer)["result"]["structuredContent"]
    return told
