"""Asking people as an agent does: over MCP, with the official client, on real sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp_types import TextContent
from tests.patience import PATIENCE_SECONDS
from tests.questions.askers import (
    ANNA,
    CHATGPT,
    GENERAL,
    HEALTH,
    LEGACY,
    MODERN,
    PROGRAM,
    SHIP,
    Askers,
    askers,
    structured,
)
from tests.questions.wire import SHOWS_FORMS, begin, message_of, said_in

from postroom.kernel.values.principal import OPERATOR, Principal
from postroom.questions import telling
from postroom.questions.model import Said

pytestmark = pytest.mark.asyncio(loop_scope="module")
KEYS = {
    *("status", "ask_id", "idempotency_key", "joined", "answer", "answered_by", "answered_at", "expires_at"),
    *("presentations", "state", "next"),
}
both_protocols = pytest.mark.parametrize("mode", [MODERN, LEGACY])


async def test_every_butler_and_the_assistants_port_have_the_tools(house: Askers) -> None:
    for part, who, more in (("health", HEALTH, set()), ("general", GENERAL, set()), ("api", CHATGPT, {"answers"})):
        async with house.client(part, who) as client:
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {"ask", "wait", "cancel_ask", *more} <= listed.keys(), part
        hints = listed["ask"].annotations
        assert hints is not None and listed["ask"].meta == {"anthropic/alwaysLoad": True}
        assert (hints.read_only_hint, hints.destructive_hint) == (None, False)  # unsaid, a tool changes something
        assert (hints.idempotent_hint, hints.open_world_hint) == (True, None)  # unsaid, it reaches the world


@pytest.mark.requirement("ask:one-shape", "ask:tools")
async def test_an_answer_has_the_one_shape_and_says_in_words_what_to_do_next(house: Askers) -> None:
    async with house.client("health", HEALTH) as client:
        result = await client.call_tool("ask", {**SHIP, "question": "One shape?", "state": '{"step": [1]}'})

    shown = structured(result)
    said, whole = (one.text for one in result.content if isinstance(one, TextContent))
    assert shown.keys() == KEYS
    assert (shown["status"], shown["joined"], shown["state"]) == ("open", False, '{"step": [1]}')
    assert shown["ask_id"] in said and "call wait" in said.lower() and "do not ask again" in said
    assert json.loads(whole) == shown and not result.is_error


@both_protocols
async def test_an_agent_that_waits_is_woken_by_the_answer(house: Askers, mode: str) -> None:
    asked = await house.ask(question=f"Wake me, {mode}?")
    async with house.client("health", HEALTH, mode) as client, asyncio.timeout(PATIENCE_SECONDS):
        call = asyncio.create_task(client.call_tool("wait", {"ask_id": asked["ask_id"], "wait_seconds": 60}))
        await house.until_waiting(asked["ask_id"])
        assert (await house.answer(asked["ask_id"], {"value": "yes"})).status == 200
        told = structured(await call)

    assert (told["status"], told["answer"]["value"]) == ("answered", "yes")
    assert (told["answered_by"]["person_id"], told["answered_by"]["assurance"]) == ("owner", "signed_in")


@both_protocols
@pytest.mark.requirement("ask:progress")
async def test_progress_arrives_while_an_agent_waits(house: Askers, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling, "PROGRESS_SECONDS", 0.05)
    monkeypatch.setattr(telling, "LOOK_SECONDS", 0.02)
    seen: list[tuple[float, float | None]] = []
    enough = asyncio.Event()

    async def progressed(progress: float, total: float | None, _message: str | None) -> None:
        seen.append((progress, total))
        if len(seen) == 3:
            enough.set()

    async with house.client("health", HEALTH, mode) as client, asyncio.timeout(PATIENCE_SECONDS):
        asked = {**SHIP, "question": f"Progress, {mode}?", "wait_seconds": 60, "idempotency_key": f"p-{mode}"}
        call = asyncio.create_task(client.call_tool("ask", asked, progress_callback=progressed))
        await enough.wait()
        open_one = await house.tool("wait", {"idempotency_key": f"p-{mode}", "wait_seconds": 0})
        await house.answer(open_one["ask_id"], {"value": "no"})
        told = structured(await call)

    assert told["answer"]["value"] == "no"
    assert [one for one, _ in seen] == sorted({one for one, _ in seen}) and {total for _, total in seen} == {60}


@both_protocols
@pytest.mark.requirement("ask:client-gone")
async def test_a_client_that_goes_away_ends_its_wait_and_not_the_question(house: Askers, mode: str) -> None:
    asked = await house.ask(question=f"Still there, {mode}?")
    async with house.client("health", HEALTH, mode) as client:
        arguments = {"ask_id": asked["ask_id"], "wait_seconds": 280}
        call = asyncio.create_task(client.call_tool("wait", arguments))
        await house.until_waiting(asked["ask_id"])
        call.cancel()
    await house.until_left(asked["ask_id"])

    assert (await house.tool("wait", {"ask_id": asked["ask_id"], "wait_seconds": 0}))["status"] == "open"


@pytest.mark.requirement("ask:tools")
async def test_wrong_arguments_are_all_named_and_nothing_is_stored(house: Askers) -> None:
    told = await house.tool("ask", {"question": "", "options": "yes", "deadline_seconds": 1, "to": "Nobody Atall"})

    assert (told["status"], told["error_class"], told["retryable"]) == ("error", "validation_error", False)
    assert {one["field"] for one in told["fields"]} == {"question", "options", "deadline_seconds"}
    unknown = await house.tool("ask", {**SHIP, "to": "Nobody Atall"})
    assert [one["code"] for one in unknown["fields"]] == ["unknown_person"]


@pytest.mark.requirement("ask:idempotent")
async def test_a_key_is_one_question_and_another_under_it_is_refused_with_the_first(house: Askers) -> None:
    first = await house.ask(question="Keyed?", idempotency_key="k-1")
    again = await house.ask(question="Keyed?", idempotency_key="k-1")
    other = await house.ask(question="Other?", idempotency_key="k-1")

    assert (again["ask_id"], again["joined"]) == (first["ask_id"], True)
    assert (other["status"], other["error_class"], other["code"]) == ("error", "validation_error", "key_reused")
    assert other["ask_id"] == first["ask_id"]


async def test_wait_wants_one_name_for_the_question(house: Askers) -> None:
    for arguments in ({}, {"ask_id": "a", "idempotency_key": "b"}):
        told = await house.tool("wait", {**arguments, "wait_seconds": 0})
        assert [one["code"] for one in told["fields"]] == ["one_of"]
    missing = await house.tool("wait", {"ask_id": "no-such", "wait_seconds": 0})
    assert (missing["status"], missing["code"]) == ("error", "not_found")


async def test_a_question_is_taken_back_once(house: Askers) -> None:
    asked = await house.ask(question="Cancel me?")

    first = await house.tool("cancel_ask", {"ask_id": asked["ask_id"], "reason": "no longer needed"})
    again = await house.tool("cancel_ask", {"ask_id": asked["ask_id"]})

    assert (first["status"], again["status"]) == ("cancelled", "cancelled")
    assert "neither a yes nor a no" in first["next"]


async def test_a_question_is_changed_while_it_is_open(house: Askers) -> None:
    asked = await house.ask(question="Old words?")

    path = f"/v1/asks/{asked['ask_id']}/revise"
    revised = await house.post(path, {"options": ["now", "later"]})
    nothing = await house.post(path, {})
    foreign = await house.post(path, {"question": "Yours?"}, GENERAL)
    await house.answer(asked["ask_id"], {"value": "later"})
    too_late = await house.post(path, {"question": "Newer?"})

    assert (revised.status, revised.body["ask_id"]) == (200, asked["ask_id"])
    assert (nothing.status, foreign.status, too_late.status) == (422, 404, 409)
    async with house.client("health", HEALTH) as client:
        gone = await client.call_tool("revise_ask", {"ask_id": asked["ask_id"]})
    assert gone.is_error and "cancel_ask" in str(gone.content)


@pytest.mark.requirement("ask:answers-since")
async def test_an_agent_that_was_away_reads_what_it_missed(house: Askers) -> None:
    before = (await house.tool("answers", {}, GENERAL, "api"))["cursor"]
    asked = [await house.ask(GENERAL, question=f"Missed {number}?") for number in range(3)]
    for one in asked:
        await house.answer(one["ask_id"], {"value": "no"})

    first = await house.tool("answers", {"since": before, "limit": 2}, GENERAL, "api")
    rest = await house.tool("answers", {"since": first["cursor"]}, GENERAL, "api")
    empty = await house.tool("answers", {"since": rest["cursor"]}, GENERAL, "api")

    found = [one["ask_id"] for one in (*first["answers"], *rest["answers"])]
    assert found == [one["ask_id"] for one in asked]
    assert (empty["answers"], empty["cursor"]) == ([], rest["cursor"])
    wrong = await house.tool("answers", {"since": "yesterday", "limit": 50}, GENERAL, "api")
    assert [one["field"] for one in wrong["fields"]] == ["since"]


async def test_a_program_asks_its_own_person(house: Askers) -> None:
    asked = await house.ask(PROGRAM, "api", question="Backup now?")

    assert (await house.answer(asked["ask_id"], {"value": "yes"}, ANNA)).status == 200
    told = await house.tool("wait", {"ask_id": asked["ask_id"], "wait_seconds": 0}, PROGRAM, "api")
    assert told["answered_by"]["person_id"] == "anna"


@pytest.mark.requirement("ask:secrets")
async def test_a_secret_is_handed_to_its_asker_who_may_have_lost_it(house: Askers) -> None:
    asked = await house.tool("ask", {"question": "The code?", "secret": True, "wait_seconds": 0})
    assert (await house.answer(asked["ask_id"], {"text": "1234"})).status == 403  # the desk and the console only
    await _answer_in_the_console(house, asked["ask_id"], "hunter2")

    listed = (await house.get("/v1/asks?status=answered")).body["asks"]
    first = await house.tool("wait", {"ask_id": asked["ask_id"], "wait_seconds": 0})
    again = await house.tool("wait", {"ask_id": asked["ask_id"], "wait_seconds": 0})

    assert [one["answer"] for one in listed if one["ask_id"] == asked["ask_id"]] == [None]
    assert first["answer"]["text"] == again["answer"]["text"] == "hunter2"


async def _answer_in_the_console(house: Askers, ask_id: str, text: str) -> None:
    await house.parts.asking.answer(OPERATOR, ask_id, Said(text=text), channel="console", event_id="e-1")


@pytest.mark.requirement("ask:who-asks")
async def test_no_one_sees_or_changes_the_questions_of_others(house: Askers) -> None:
    asked = await house.ask(question="Mine alone?", idempotency_key="k-mine")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("wait", {"ask_id": asked["ask_id"], "wait_seconds": 0}),
        ("wait", {"idempotency_key": "k-mine", "wait_seconds": 0}),
        ("cancel_ask", {"ask_id": asked["ask_id"]}),
    ]

    for who, part in ((GENERAL, "general"), (ANNA, "api"), (PROGRAM, "api"), (CHATGPT, "api")):
        for name, arguments in calls:
            assert (await house.tool(name, arguments, who, part))["code"] == "not_found", (who, name)
    assert asked["ask_id"] not in str(await house.tool("answers", {}, GENERAL, "api"))


@pytest.mark.parametrize("tool", ["ask", "wait", "cancel_ask"])
@pytest.mark.requirement("ask:who-asks")
async def test_a_butlers_tools_answer_to_that_butler_alone(house: Askers, tool: str) -> None:
    async with house.client("switchboard", GENERAL) as client:
        elsewhere = await client.call_tool(tool, {})
    assert elsewhere.is_error and f"call {tool} at a butler's own server" in str(elsewhere.content)
    for who in ("", "pr_wrong"):
        with pytest.raises(Exception):  # noqa: B017  # the client's own, of whichever kind
            async with house.client("health", who) as client:
                await client.call_tool(tool, {})
    for who in (ANNA, GENERAL, PROGRAM):
        with pytest.raises(Exception):  # noqa: B017
            async with house.client("health", who) as client:
                await client.call_tool(tool, {})


async def test_a_session_of_the_butler_asks_in_its_name(house: Askers) -> None:
    """Its token opens the butler's own server and no other door."""
    token = house.session_token("health")
    async with house.client("health", token) as client:
        asked = structured(await client.call_tool("ask", {**SHIP, "question": "From a session?"}))

    assert (await house.tool("wait", {"ask_id": asked["ask_id"], "wait_seconds": 0}))["status"] == "open"
    found = await house.line.call(
        "GET", "api", f"/v1/asks/{asked['ask_id']}", None, None, {"Authorization": f"Bearer {token}"}
    )
    assert found.status == 401


async def test_a_household_that_stops_lets_those_go_who_wait(tmp_path: Path) -> None:
    waiting_for: list[asyncio.Task[Any]] = []
    async with AsyncExitStack() as clients:
        async with askers(tmp_path / "home") as house:
            asked = await house.ask(question="Stopping?")
            client = await clients.enter_async_context(house.client("health", HEALTH))
            await client.list_tools()  # or else it would want to, to check the answer
            call = client.call_tool("wait", {"ask_id": asked["ask_id"], "wait_seconds": 280})
            waiting_for.append(asyncio.create_task(call))
            await house.until_waiting(asked["ask_id"])
        async with asyncio.timeout(PATIENCE_SECONDS):
            told = structured(await waiting_for[0])

    assert (told["status"], told["ask_id"]) == ("open", asked["ask_id"])


@pytest.mark.requirement("ask:tools")
async def test_the_same_on_postgresql(tmp_path: Path, postgres_url: str) -> None:
    async with askers(tmp_path / "home", {"database_url": postgres_url}) as house:
        asked = await house.ask(question="On PostgreSQL?", idempotency_key="k-pg")
        lost = await house.answer(asked["ask_id"], {"value": "perhaps"})
        won = await house.answer(asked["ask_id"], {"value": "no"})
        told = await house.tool("wait", {"idempotency_key": "k-pg", "wait_seconds": 0})

    assert (lost.status, won.status, told["answer"]["value"]) == (422, 200, "no")


# ---- callers that hang up ----


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
    await house.parts.asking.answer(OPERATOR, ask_id, Said(text=text), channel="console", event_id=f"e-{ask_id}")


@pytest.mark.requirement("ask:waiting")
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
    assert _told(again)["answer"]["text"] == _told(once_more)["answer"]["text"] == "hunter2"


@pytest.mark.requirement("ask:waiting")
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


@pytest.mark.requirement("ask:waiting")
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


@pytest.mark.requirement("ask:waiting")
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


@pytest.mark.requirement("ask:waiting")
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
