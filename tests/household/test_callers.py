"""Callers of a household: fair shares, refusals, headers, and text that no store can hold."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import threading
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import pytest
import pytest_asyncio
from pydantic import WithJsonSchema
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from postroom.household.ports import mcp_app
from postroom.kernel.acts.reading import made
from postroom.kernel.database import engine
from postroom.kernel.database import sqlite as sqlite_store
from postroom.kernel.guard.tools import GuardedServer, ToolPolicy, operator
from postroom.kernel.text import markdown, markdown_tokens
from postroom.kernel.values.errors import HINTS, Code
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.people.names.normalise import normalise
from postroom.people.store import people
from postroom.questions.acts import AskPeople
from tests.console.http import calling
from tests.household.asked_household import ask, labels, parts, phone, until
from tests.household.living import LIFTED, QUICK, Living, living

# One caller must not harm the others: whoever sends much, or what takes long, waits for itself alone.
LONG = "[a](https://a.example) **b** " * 680
ALL_ON_ONE_LOOP_SECONDS = 5.0


async def post(house: Living, token: str, **body: Any) -> tuple[int, dict[str, Any]]:
    url = house.household.addresses["api"] + "/v1/notify"
    async with house.http.post(url, json=body, headers={"Authorization": f"Bearer {token}"}) as response:
        return response.status, await response.json()


async def asks(house: Living, token: str, path: str = "", **body: Any) -> tuple[int, dict[str, Any]]:
    url = house.household.addresses["api"] + f"/v1/asks{path}"
    async with house.http.post(url, json=body, headers={"Authorization": f"Bearer {token}"}) as response:
        return response.status, await response.json()


async def ask_over_http(house: Living, token: str, question: str) -> tuple[int, dict[str, Any]]:
    return await asks(house, token, question=question, options=["yes", "no"], wait_seconds=0)


class SlowReader:
    """Stands before the reading of Markdown: it holds until it is let go, and counts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.read = self.finished = 0
        self._tokens_of = markdown_tokens.tokens_of
        monkeypatch.setattr(markdown_tokens, "tokens_of", self)

    def stop(self) -> None:
        """From now on it holds again, also what was read before."""
        markdown.parse.cache_clear()
        self.finished = 0
        self.begun.clear()
        self.go_on.clear()

    def __call__(self, source: str) -> Any:
        self.read += 1
        self.begun.set()
        self.go_on.wait(ALL_ON_ONE_LOOP_SECONDS)
        self.finished += 1
        return self._tokens_of(source)


@pytest.mark.parametrize("message", [LONG, LONG[:1_500]], ids=["long", "of a page"])
async def test_while_a_long_text_is_read_everybody_else_is_answered(
    home: Path, monkeypatch: pytest.MonkeyPatch, message: str
) -> None:
    reader = SlowReader(monkeypatch)
    async with living(home, QUICK, LIFTED) as house:
        token = house.token("health")
        long = asyncio.create_task(post(house, token, message=message, format="markdown"))
        assert await asyncio.to_thread(reader.begun.wait, ALL_ON_ONE_LOOP_SECONDS)
        other = await post(house, token, message="Lunch is ready")
        meanwhile = (reader.go_on.is_set(), long.done(), await house.texts())
        reader.go_on.set()
        status, _ = await long

    assert (other[0], other[1]["status"], status) == (200, "ok", 200)
    assert meanwhile == (False, False, ["Lunch is ready"])


@pytest.mark.parametrize("act", ["asked", "revised", "closed", "looked at by its link"])
async def test_while_the_card_of_a_long_question_is_made_everybody_else_is_answered(
    home: Path, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    reader = SlowReader(monkeypatch)
    by_mail = act == "looked at by its link"
    async with living(home, QUICK, LIFTED, {"owner": {"email": "olga@example.org"}}) as house:
        token = house.token("health")
        body = {"question": "Ship it?", "context": LONG, "format": "markdown", "options": ["yes", "no"]}
        body |= {"wait_seconds": 0, "channels": ["email" if by_mail else "telegram"]}
        if act != "asked":
            reader.go_on.set()
        _, asked = await asks(house, token, **body)
        if act == "revised":
            await phone(house, "Ship it?")
            reader.stop()
            await asks(house, token, f"/{asked['ask_id']}/revise", context=f"{LONG} now")
        elif act == "closed":
            await phone(house, "Ship it?")
            reader.stop()
            await asks(house, token, f"/{asked['ask_id']}/cancel")
        elif by_mail:
            link = await link_in_mail(house)
            reader.stop()
            page = asyncio.create_task(house.http.get(link))
        assert await asyncio.to_thread(reader.begun.wait, ALL_ON_ONE_LOOP_SECONDS)
        other = await post(house, token, message="Lunch is ready")
        meanwhile = (reader.finished, "Lunch is ready" in await house.texts())
        reader.go_on.set()
        if by_mail:
            async with await page as response:
                assert response.status == 200 and "a.example" in await response.text()

    assert (other[0], other[1]["status"], *meanwhile) == (200, "ok", 0, True)


async def test_while_the_console_reads_long_questions_everybody_else_is_answered(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = SlowReader(monkeypatch)
    reader.go_on.set()
    async with living(home, QUICK, LIFTED) as house, calling(house) as caller:
        token = house.token("health")
        body = {"question": "Ship it?", "context": LONG, "format": "markdown", "channels": ["console"]}
        status, _ = await asks(house, token, **body, wait_seconds=0)
        assert house.household.sign_in is not None
        cookies = await caller.sign_in(await house.household.sign_in())
        reader.stop()
        page = asyncio.create_task(caller.get("/console/questions", cookies))
        assert await asyncio.to_thread(reader.begun.wait, ALL_ON_ONE_LOOP_SECONDS)
        other = await post(house, token, message="Lunch is ready")
        finished = reader.finished
        reader.go_on.set()
        shown = await page

    assert (status, other[1]["status"], finished) == (201, "ok", 0)
    assert shown.status == 200 and "a.example" in shown.text


async def link_in_mail(house: Living) -> str:
    async def look() -> str | None:
        found = re.search(r"http://\S+/a/\S+", str(await house.received("email")))
        return found[0].split("\\")[0].rstrip("'\",") if found else None

    return await until(look)


async def test_what_the_limit_refuses_is_never_read(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = SlowReader(monkeypatch)
    reader.go_on.set()
    async with living(home, QUICK, {"limits": {"recipient_per_minute": 2}}) as house:
        token = house.token("health")
        answers = [await post(house, token, message=f"{LONG} {n}", format="markdown") for n in range(6)]

    assert [status for status, _ in answers] == [200, 200, 429, 429, 429, 429]
    assert reader.read <= 2


async def test_a_name_longer_than_any_is_nobody_and_is_compared_with_nobody(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[int] = []

    def counted(text: str) -> str:
        compared.append(len(text))
        return normalise(text)

    monkeypatch.setattr(people, "normalise", counted)
    async with living(home, QUICK) as house:
        status, answer = await post(house, house.token("health"), message="Hello", to="né e " * 100_000)

    assert (status, answer["error_class"]) == (400, "validation_error")
    assert max(compared, default=0) <= 1_000


async def test_an_alarm_passes_where_a_program_has_used_up_the_recipients_limit(home: Path) -> None:
    async with living(home, QUICK) as house:
        ci = house.tokens.create(Principal(Role.PROGRAM, "ci", person="owner"))
        flood = [(await post(house, ci, message=f"Build {n}"))[0] for n in range(30)]
        status, alarm = await post(house, house.token("health"), message="The cellar is wet", priority="high")
        texts = await house.texts()

    assert (flood.count(200), flood.count(429)) == (10, 20)
    assert (status, alarm["status"]) == (200, "ok")
    assert "The cellar is wet" in texts


async def test_what_waits_behind_a_slow_call_to_one_person_leaves_in_turns_of_its_senders(home: Path) -> None:
    async with living(home, LIFTED, QUICK) as house:
        ci = house.tokens.create(Principal(Role.PROGRAM, "ci", person="owner"))
        await house.fault(channel="telegram", times=1, delay_seconds=3)
        for number in range(6):
            status, _ = await post(house, ci, message=f"Log {number}: {'line ' * 1500}", wait_seconds=0)
            assert status == 202
        await post(house, house.token("health"), message="The cellar is wet", priority="high", wait_seconds=0)
        await post(house, house.token("general"), message="Good evening", wait_seconds=0)
        await house.settled()
        received = sorted(await house.received(), key=lambda one: int(one["message_id"]))
        begun = [found[0] for one in received if (found := re.match(r"Log \d|The|Good", one["text"]))]

    assert begun == ["Log 0", "The", "Log 1", "Good", "Log 2", "Log 3", "Log 4", "Log 5"]
    assert [one["text"][:4] for one in received].index("The ") > 1, "after all parts of the text that was begun"


@pytest.mark.parametrize("look", ["~~a~~", "[a](https://a.example)"])
async def test_a_text_full_of_looks_is_not_a_message_for_every_few_words(home: Path, look: str) -> None:
    async with living(home, QUICK) as house:
        ci = house.tokens.create(Principal(Role.PROGRAM, "ci", person="owner"))
        status, _ = await post(house, ci, message=look * (19_000 // len(look)), format="markdown")
        texts = await house.texts()

    assert status == 200 and len(texts) <= 12
    assert "".join(texts).count("https://") in (0, 19_000 // len(look))


async def test_a_butlers_question_is_shown_where_a_program_asks_far_too_many(home: Path) -> None:
    async with living(home, QUICK) as house:
        ci = Principal(Role.PROGRAM, "ci", person="owner")
        for n in range(40):
            await parts(house).asking.ask(
                ci, made(AskPeople, question=f"Shall I build {n}?", channels=["telegram"]).request(), wait_seconds=0
            )
        await ask(house, question="Is the stove off?")
        card = await phone(house, "Is the stove off?")

    assert labels(card)[:2] == ["yes", "no"]


async def test_a_program_with_too_many_open_questions_is_told_so_and_others_go_on_asking(home: Path) -> None:
    async with living(home, QUICK, {"questions": {"open_per_asker": 3}}) as house:
        ci = house.tokens.create(Principal(Role.PROGRAM, "ci", person="owner"))
        together = await asyncio.gather(*(ask_over_http(house, ci, f"Shall I build {n}?") for n in range(5)))
        opened = [n for n, (status, _) in enumerate(together) if status == 201]
        joined = await ask_over_http(house, ci, f"Shall I build {opened[0]}?")
        other = await ask_over_http(house, house.token("health"), "Is the stove off?")
        await asks(house, ci, f"/{together[opened[0]][1]['ask_id']}/cancel")
        free = await ask_over_http(house, ci, "And now?")

    refused = next(answer for status, answer in together if status == 429)
    assert sorted(status for status, _ in together) == [201, 201, 201, 429, 429]
    assert refused["error"]["code"] == "too_many_open" and "open" in refused["error"]["message"]
    assert (joined[0], other[0], free[0]) == (200, 201, 201)


async def test_a_misspelt_field_takes_no_question_back(home: Path) -> None:
    async with living(home, QUICK) as house:
        token = house.token("health")
        _, asked = await ask_over_http(house, token, "Is the stove off?")
        status, answer = await asks(house, token, f"/{asked['ask_id']}/cancel", raeson="not needed")
        _, again = await ask_over_http(house, token, "Is the stove off?")

    assert (status, answer["error"]["code"], again["status"]) == (422, "validation_error", "open")
    assert "raeson" in answer["error"]["message"]


async def test_what_runs_and_waits_in_the_household_is_for_its_owner(home: Path) -> None:
    async with living(home, QUICK) as house:
        url = house.household.addresses["api"] + "/v1/household"
        answered = []
        for who in (OPERATOR, Principal(Role.PERSON, "bob"), Principal(Role.USER, "ada")):
            token = house.tokens.create(who)
            async with house.http.get(url, headers={"Authorization": f"Bearer {token}"}) as response:
                answered.append(response.status)

    assert answered == [200, 403, 403]


async def test_health_says_at_once_that_the_database_takes_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "BEAT_SECONDS", 0.1)
    async with living(home, QUICK) as house:

        async def troubled() -> list[dict[str, Any]] | None:
            """Every part of this process says so, an assistant's adapter too."""
            said = []
            for part in ("api", "chatgpt", "gemini"):
                async with house.http.get(house.household.addresses[part] + "/health") as response:
                    said.append(await response.json())
            return said if all(one["status"] == "degraded" for one in said) else None

        with sqlite3.connect(home / "postroom.db", isolation_level=None) as other:
            other.execute("BEGIN EXCLUSIVE")
            said = await until(troubled)
            other.execute("ROLLBACK")

    named = {loop["error"] for one in said for loop in one["loops"]}
    assert named and named <= {"StoreUnavailable", "OperationalError"}  # who only read names the driver's own error


async def test_health_says_that_calls_are_refused_while_the_disk_is_full(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full, commit = threading.Event(), sqlite_store._commit_together

    def unless_full(*given: Any) -> None:
        if full.is_set():
            raise sqlite3.OperationalError("database or disk is full")
        commit(*given)

    monkeypatch.setattr(sqlite_store, "_commit_together", unless_full)
    async with living(home, QUICK) as house:

        async def is_said(status: str) -> bool:
            """That work in the background writes as well is luck: what was refused a caller is said by itself."""
            async with house.http.get(house.household.addresses["api"] + "/health") as response:
                said = await response.json()
            named = [one["loop"] for one in said.get("loops", ())]
            return said["status"] == status and (status == "ok" or "store:writes" in named)

        full.set()
        refused, _ = await post(house, house.token("health"), message="Lunch is ready")
        await until(lambda: is_said("degraded"))
        full.clear()
        again, _ = await post(house, house.token("health"), message="Lunch is ready")
        await until(lambda: is_said("ok"))

    assert (refused, again) == (503, 200)


# Every MCP port and everybody who should not be there: nothing happens but a refusal.
ENVELOPE = {
    "schema_version": "notify.v1",
    "origin_butler": "general",
    "delivery": {"intent": "send", "channel": "telegram", "message": "Forged", "recipient": "1000"},
}
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "health": ("notify", {"channel": "telegram", "message": "Forged"}),
    "general": ("notify", {"channel": "telegram", "message": "Forged"}),
    "switchboard": ("deliver", {"notify_request": ENVELOPE}),
    "messenger": ("route.execute", {"route": {}}),
}
STRANGERS = ["nobody", "wrong token", "butler:other", "user:ann", "connector:chatgpt"]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def home_life(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    async with living(tmp_path_factory.mktemp("home"), LIFTED, QUICK) as one:
        one.tokens.create(Principal(Role.USER, "ann"))
        one.tokens.create(Principal(Role.CONNECTOR, "chatgpt"))
        one.tokens.create(Principal(Role.BUTLER, "other"))
        yield one


async def send_as(home: Living, part: str, headers: dict[str, str], tool: str, arguments: dict[str, Any]) -> Any:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments, "_meta": meta},
    }
    plain = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    }
    async with home.http.post(home.household.addresses[part], json=body, headers={**plain, **headers}) as response:
        return response.status, await response.json()


def headers_of(home: Living, who: str) -> dict[str, str]:
    if who == "nobody":
        return {}
    if who == "wrong token":
        return {"Authorization": "Bearer pr_operator_" + "x" * 43}
    role, _, name = who.partition(":")
    return {"Authorization": f"Bearer {home.tokens.token_of(Principal(Role(role), name))}"}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.requirement("messenger:messenger-channel-ownership")
@pytest.mark.parametrize("part", CALLS)
@pytest.mark.parametrize("who", STRANGERS)
async def test_a_stranger_gets_nothing_but_a_refusal(home_life: Living, part: str, who: str) -> None:
    tool, arguments = CALLS[part]
    sent, logged = len(await home_life.received()), len(home_life.rows("delivery_refusals"))

    status, body = await send_as(home_life, part, headers_of(home_life, who), tool, arguments)

    if who in ("nobody", "wrong token"):
        assert status == 401
    elif (part, who) == ("switchboard", "butler:other"):  # a butler indeed, but the envelope is not its own
        assert body["result"]["structuredContent"]["error"]["fields"][0]["code"] == "origin_mismatch"
        logged += 1
    elif (part, who) == ("messenger", "user:ann"):  # people decide approvals here, and nothing else
        assert body["error"]["message"] == "user:ann may not call route.execute"
    else:
        assert status == 403
    assert len(await home_life.received()) == sent
    assert len(home_life.rows("delivery_refusals")) == logged
    assert home_life.rows("delivery_requests") == []


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("part", [*CALLS, "api"])
@pytest.mark.parametrize(
    ("headers", "status"),
    [({"Host": "evil.example"}, 421), ({"Origin": "http://evil.example"}, 403), ({"Origin": "null"}, 403)],
    ids=str,
)
async def test_every_port_checks_host_and_origin(
    home_life: Living, part: str, headers: dict[str, str], status: int
) -> None:
    url = home_life.household.addresses[part].removesuffix("/mcp")
    token = {"Authorization": f"Bearer {home_life.token('operator')}"}

    async with home_life.http.get(f"{url}/health", headers={**token, **headers}) as response:
        assert response.status == status


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("part", [*CALLS, "api"])
async def test_every_port_tells_its_health_and_its_interface_and_nothing_secret(home_life: Living, part: str) -> None:
    url = home_life.household.addresses[part].removesuffix("/mcp")

    for path in ("/health", "/openapi.json"):
        async with home_life.http.get(url + path) as response:
            text = await response.text()
            assert response.status == 200
            assert not any(token in text for _, token in _tokens(home_life))


@pytest.mark.asyncio(loop_scope="module")
async def test_a_tool_without_a_rule_can_be_called_by_nobody(home_life: Living) -> None:
    operator = {"Authorization": f"Bearer {home_life.token('operator')}"}

    _, body = await send_as(home_life, "general", operator, "no.such.tool", {})

    assert body["error"]["message"] == "operator may not call no.such.tool"


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b'"x"', b"[" * 100_000, b"{" * 100_000, b'{"jsonrpc":"2.0"}', b"\xff\xfe", b"0" * 1000],
    ids=lambda body: body[:12].decode("latin-1"),
)
async def test_what_is_no_message_is_a_client_error(home_life: Living, body: bytes) -> None:
    headers = {
        "Authorization": f"Bearer {home_life.token('operator')}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    async with home_life.http.post(home_life.household.addresses["general"], data=body, headers=headers) as response:
        assert 400 <= response.status < 500


@pytest.mark.asyncio(loop_scope="module")
async def test_a_body_without_an_end_is_refused(home_life: Living) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield b"x" * 65536

    headers = {"Authorization": f"Bearer {home_life.token('operator')}", "Content-Type": "application/json"}
    async with home_life.http.post(
        home_life.household.addresses["general"], data=endless(), headers=headers
    ) as response:
        assert response.status == 413


def _tokens(home: Living) -> list[tuple[Principal, str]]:
    return [(one, home.tokens.token_of(one) or "-") for one in home.tokens.principals()]


# Headers that repeat arguments: compared where a tool declares them, not looked for where it does not.
_meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Tokens:
    def verify(self, token: str) -> Principal | None:
        return OPERATOR if token == "good" else None


@pytest.fixture
def declaring_server() -> GuardedServer:
    one = GuardedServer("part", ToolPolicy({"plain": operator, "declaring": operator}, Tokens()))

    async def plain(region: str) -> dict[str, Any]:
        return {"region": region}

    async def declaring(
        region: Annotated[str, WithJsonSchema({"type": "string", "x-mcp-header": "Region"})],
    ) -> dict[str, Any]:
        return {"region": region}

    one.add_tool(plain)
    one.add_tool(declaring)
    return one


def app_of(declaring_server: GuardedServer) -> ASGIApp:
    return mcp_app(declaring_server, Tokens(), hosts=("testserver",), origins=(), allow=lambda _: True)


def call_with(app: ASGIApp, tool: str, header: str | None) -> int:
    headers = {
        "Authorization": "Bearer good",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
        **({"Mcp-Param-Region": header} if header else {}),
    }
    params = {"name": tool, "arguments": {"region": "eu"}, "_meta": _meta}
    with TestClient(app) as http:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return http.post("/mcp", json=body, headers=headers).status_code


@pytest.mark.parametrize(
    ("tool", "header", "status"),
    [
        ("declaring", "eu", 200),
        ("declaring", "us", 400),
        ("declaring", None, 400),
        ("plain", "us", 200),
        ("plain", None, 200),
    ],
)
def test_a_header_counts_for_the_tool_that_declares_it(
    declaring_server: GuardedServer, tool: str, header: str | None, status: int
) -> None:
    assert call_with(app_of(declaring_server), tool, header) == status


def test_the_framework_asks_us_for_the_schema_and_gets_one_only_where_it_matters(
    declaring_server: GuardedServer,
) -> None:
    """Fails when the framework no longer looks where we answer: then each call walks the whole schema again."""
    app, inner = app_of(declaring_server), declaring_server.session_manager.app
    answer = inner.get_tool_input_schema
    assert answer is not None
    assert (answer("plain"), answer("no such tool")) == (None, None)
    assert (answer("declaring") or {})["properties"]["region"]["x-mcp-header"] == "Region"

    asked: list[str] = []

    def listening(name: str) -> Mapping[str, Any] | None:
        asked.append(name)
        return answer(name)

    inner.get_tool_input_schema = listening
    assert call_with(app, "plain", None) == 200
    assert asked == ["plain"]


# Text that no store can hold, in every argument of every tool: refused in words or taken, never a failure of ours.
_REVISION = "2026-07-28"
_META = {
    f"io.modelcontextprotocol/{name}": value
    for name, value in {
        "protocolVersion": _REVISION,
        "clientInfo": {"name": "test", "version": "1"},
        "clientCapabilities": {},
    }.items()
}
_SAMPLES = {"string": "abcdefgh", "integer": 1, "number": 1, "boolean": False, "object": {}, "array": []}


async def ask_with(home: Living, url: str, method: str, **params: Any) -> dict[str, Any]:
    """Written by hand, because no client of ours would send half a character."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": _META}})
    headers = {
        "Authorization": f"Bearer {home.token('operator')}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": _REVISION,
        "Mcp-Method": method,
        "Mcp-Name": str(params.get("name", "")),
    }
    async with home.http.post(url, data=body, headers=headers) as response:
        answer: dict[str, Any] = json.loads(await response.text())
        assert response.status < 500, answer
        return answer


def sample(schema: Mapping[str, Any]) -> Any:
    kind = schema.get("anyOf", [schema])[0]
    if kind.get("format") == "uuid":
        return "019b76db-9260-7005-8b8f-02fc93ec3989"
    return kind["enum"][0] if "enum" in kind else _SAMPLES.get(str(kind.get("type")), "x")


def is_our_failure(answer: dict[str, Any]) -> bool:
    result = answer.get("result") or {}
    structured = result.get("structuredContent") or {}
    words = [part.get("text", "") for part in result.get("content", [])]
    return structured.get("error_class") == "internal_error" or words == [HINTS[Code.INTERNAL]]


@pytest.mark.parametrize("odd", ["a\x00bcdefgh", "a\ud800bcdefgh"], ids=["NUL", "half a character"])
@pytest.mark.parametrize("part", ["messenger", "health", "switchboard", "api"])
async def test_no_tool_fails_over_text_that_cannot_be_kept(home: Path, postgres_url: str, part: str, odd: str) -> None:
    async with living(home, {"database_url": postgres_url, "approvals": {"enabled": True}}) as house:
        url = house.household.addresses[part].removesuffix("/mcp") + "/mcp"
        tools = (await ask_with(house, url, "tools/list"))["result"]["tools"]
        failed = []
        for tool in tools:
            name, schema = tool["name"], tool["inputSchema"]
            fine = {one: sample(schema["properties"][one]) for one in schema.get("required", [])}
            fine |= {"wait_seconds": 0} if name in ("ask", "wait") else {}
            for argument in schema.get("properties", {}):
                for value in (odd, {"key": odd}):
                    given = {**fine, argument: value}
                    if is_our_failure(await ask_with(house, url, "tools/call", name=name, arguments=given)):
                        failed.append((name, argument, type(value).__name__))

    assert tools
    assert failed == []
