"""Callers of a household: fair shares, refusals, headers, and text that no store can hold."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import threading
from collections import Counter
from contextlib import AsyncExitStack
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from chaos.proxy import Proxy

from postroom.delivery import workers
from postroom.kernel.acts.reading import made
from postroom.kernel.database import sqlite as sqlite_store
from postroom.kernel.text import markdown, markdown_tokens
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.people.names.normalise import normalise
from postroom.people.store import people
from postroom.questions.acts import AskPeople
from tests.console.http import calling
from tests.household.asked_household import ask, labels, parts, phone, press, until
from tests.household.living import LIFTED, QUICK, Living, living

# One caller must not harm the others: whoever sends much, or what takes long, waits for itself alone.
LONG = "[a](https://a.example) **b** " * 680
ALL_ON_ONE_LOOP_SECONDS = 5.0


async def post(house: Living, token: str, **body: Any) -> tuple[int, dict[str, Any]]:
    return await house.api("POST", "/v1/notify", body, token=token)


async def asks(house: Living, token: str, path: str = "", **body: Any) -> tuple[int, dict[str, Any]]:
    return await house.api("POST", f"/v1/asks{path}", body, token=token)


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


async def test_half_sent_forms_and_the_held_waits_of_one_token_leave_everybody_else_answered(home: Path) -> None:
    bounds = {"serving": {"connections_per_peer": 60, "requests_per_caller": 20}}
    async with living(home, QUICK, LIFTED, bounds) as house, AsyncExitStack() as crowd:
        api = urlsplit(house.household.addresses["api"])

        async def caller(line: str, *more: str) -> asyncio.StreamReader:
            reader, writer = await asyncio.open_connection(api.hostname, api.port)
            crowd.callback(writer.close)
            writer.write("\r\n".join((f"{line} HTTP/1.1", f"Host: {api.netloc}", *more, "", "")).encode())
            return reader

        ci, health = house.tokens.create(Principal(Role.PROGRAM, "ci", person="owner")), house.token("health")
        _, asked = await ask_over_http(house, ci, "Shall I build?")
        wait = (f"GET /v1/asks/{asked['ask_id']}?wait_seconds=60", f"Authorization: Bearer {ci}")
        waits = [asyncio.create_task((await caller(*wait)).readline()) for _ in range(30)]
        refused = [await one for one in islice(asyncio.as_completed(waits), 10)]
        for _ in range(90):
            await caller("POST /a/x", "Content-Type: application/x-www-form-urlencoded", "Content-Length: 9")
        well = await (await caller("GET /health")).readline()
        lunch, _ = await post(house, health, message="Lunch is ready")
        stove, _ = await ask_over_http(house, health, "Is the stove off?")
        await press(house, await phone(house, "Shall I build?"), "yes")
        told = Counter([(await one).split()[1] for one in waits])

    assert {one.split()[1] for one in refused} == {b"429"}
    assert (well.split()[1], lunch, stove) == (b"200", 200, 201)
    assert told == {b"200": 20, b"429": 10}


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


async def test_what_waits_behind_a_slow_call_to_one_person_leaves_in_turns_of_its_senders(small: Living) -> None:
    ci = small.tokens.create(Principal(Role.PROGRAM, "ci", person="owner"))
    await small.fault(channel="telegram", times=1, delay_seconds=3)
    for number in range(6):
        status, _ = await post(small, ci, message=f"Log {number}: {'line ' * 1500}", wait_seconds=0)
        assert status == 202
    await post(small, small.token("health"), message="The cellar is wet", priority="high", wait_seconds=0)
    await post(small, small.token("general"), message="Good evening", wait_seconds=0)
    await small.settled()
    received = sorted(await small.received(), key=lambda one: int(one["message_id"]))
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


async def test_fifty_questions_of_one_asker_are_open_at_most_where_nothing_else_is_set(small: Living) -> None:
    ci = small.tokens.create(Principal(Role.PROGRAM, "ci", person="owner"))
    answers = [await ask_over_http(small, ci, f"Shall I build {n}?") for n in range(51)]

    assert [status for status, _ in answers] == [201] * 50 + [429]
    assert answers[-1][1]["error"]["code"] == "too_many_open"


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
        callers = (OPERATOR, Principal(Role.PERSON, "bob"), Principal(Role.USER, "ada"))
        answered = [await house.api("GET", "/v1/household", who=who) for who in callers]

    assert [status for status, _ in answered] == [200, 403, 403]


async def test_health_says_at_once_that_the_database_takes_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "BEAT_SECONDS", 0.1)
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


async def test_a_household_lives_on_and_says_so_when_postgresql_goes_away_at_its_first_moment(
    home: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "BEAT_SECONDS", 0.1)
    server = urlsplit(postgres_url)
    async with Proxy(server.port or 5432, host=server.hostname or "127.0.0.1") as line:
        there = server._replace(netloc=server.netloc.replace(f":{server.port}", f":{line.port}")).geturl()
        async with living(home, QUICK, {"database_url": there}) as house:
            line.refuse = True
            line.reset_all()

            async def health(status: str) -> bool:
                async with house.http.get(house.household.addresses["api"] + "/health") as response:
                    return bool((await response.json())["status"] == status)

            await until(lambda: health("degraded"))
            line.heal()
            await until(lambda: health("ok"))
            status, _ = await ask_over_http(house, house.token("health"), "Is the stove off?")

    assert status == 201


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
