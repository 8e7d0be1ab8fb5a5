"""How long it takes to find out whom a name means and until an assistant's message is accepted, and what follows it."""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import aiohttp
import uvloop
from tests.people.queries import NAMES, queries

from benchmarks import intent_events
from benchmarks.page import made, verdict, write_part
from benchmarks.temporary_postgres import temporary_postgres
from postroom.household.household import running
from postroom.household.store import open_store
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.running import telemetry
from postroom.kernel.running.clock import SystemClock
from postroom.kernel.values.principal import HOUSEHOLD_OWNER, Principal, Role
from postroom.people.model import FROM_SETTINGS, NewPerson
from postroom.people.names.resolve import Resolver
from postroom.people.person_rules import new_contact
from postroom.people.store.people import StoredMemory
from postroom.people.store.writing import BookWriter
from postroom.settings import Settings
from postroom.settings.load import load

BOOKS = {2_000: 10.0, 100_000: 20.0}  # aliases: goal for p95 in ms
ADAPT_P50_MS = 12.0
RESOLVES = 400
ADAPTS = 300
_SYLLABLES = [
    "ka", "ri", "mo", "ten", "lu", "sa", "vi", "dor", "eth", "an", "bel", "gor", "zu", "mi", "shan", "pet", "rov", "el",
]  # fmt: skip


def main() -> None:
    telemetry.configure_log("ERROR")
    lines = ["| what | p50, ms | p95, ms | target |", "|---|--:|--:|--:|"]
    for aliases, goal in BOOKS.items():
        times = uvloop.run(measure_resolve(aliases))
        lines.append(_line(f"whom a name means, among {aliases:,}", times, f"p95 {goal:.0f} ms", _p95(times) <= goal))
    changes = ["| database | callers at once | changes of intents a second |", "|---|--:|--:|"]
    with temporary_postgres() as (server, folder):
        for name, url in (("SQLite", None), ("PostgreSQL", server.url("butlers"))):
            adapted = uvloop.run(measure_adapt(url))
            met = statistics.median(adapted) <= ADAPT_P50_MS
            lines.append(_line(f"`adapt` → accepted, {name}", adapted, f"p50 {ADAPT_P50_MS:.0f} ms", met))
            rates = uvloop.run(intent_events.measure(_settings(str(folder / name), url)))
            changes += [f"| {name} | {callers} | {rate:,.0f} |" for callers, rate in rates.items()]
    write_part("intents", [made(f"{RESOLVES} names and {ADAPTS} messages"), "", *lines, "", *changes])


def _line(what: str, times: list[float], target: str, met: bool) -> str:
    return f"| {what} | {statistics.median(times):.1f} | {_p95(times):.1f} | {target}, {verdict(met)} |"


def _p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=100)[94]


async def measure_resolve(aliases: int) -> list[float]:
    """From the query to the stored offer, with the book already in memory."""
    with tempfile.TemporaryDirectory(prefix="postroom-bench-") as home:
        clock = SystemClock()
        async with open_store(_settings(home)) as store:
            contacts, everybody = store.people, _people(aliases)
            await contacts.write(partial(_insert, everybody=everybody), clock.now_us())
            numbers = iter(range(10**9))
            resolver = Resolver(
                books=contacts,
                memories=StoredMemory(store.database),
                clock=clock,
                new_token=lambda: f"benchmark-{next(numbers)}",
                mint=store.ids.mint,
            )
            await resolver.resolve(HOUSEHOLD_OWNER, "warm")
            asked = random.Random(1).sample(queries(), RESOLVES)
            return [await _timed(lambda one=one: resolver.resolve(HOUSEHOLD_OWNER, one.text)) for one in asked]  # type: ignore[misc]


def _insert(writer: BookWriter, *, everybody: list[NewPerson]) -> None:
    for one in everybody:
        writer.insert(writer.mint(writer.now_us), one, FROM_SETTINGS)


async def measure_adapt(database_url: str | None) -> list[float]:
    """Over HTTP to the adapter, from there to registry and gateway, until the intent is on disk."""
    with tempfile.TemporaryDirectory(prefix="postroom-bench-") as home:
        settings = _settings(home, database_url)
        async with running(settings, ("api", "chatgpt")) as household:
            token = TokenFile(Path(home) / "tokens.json").token_of(Principal(Role.CONNECTOR, "chatgpt"))
            headers = {"Authorization": f"Bearer {token}"}
            async with aiohttp.ClientSession(household.addresses["chatgpt"], headers=headers) as http:
                await _contact(household.addresses["api"], Path(home))
                return [await _timed(lambda: _adapt(http)) for _ in range(ADAPTS)]


async def _contact(api: str, home: Path) -> None:
    """Somebody whose post waits in an inbox, so that nothing but accepting is measured."""
    operator = TokenFile(home / "tokens.json").token_of(Principal(Role.OPERATOR, "operator"))
    body = {"name": "Bob", "agent": "agent://bench/bob"}
    headers = {"Authorization": f"Bearer {operator}"}
    async with aiohttp.ClientSession(api, headers=headers) as http, http.post("/contacts", json=body) as answer:
        answer.raise_for_status()


async def _adapt(http: aiohttp.ClientSession) -> None:
    body = {"requester_agent": HOUSEHOLD_OWNER, "recipient_name": "Bob", "message": "The train is late"}
    async with http.post("/v1/adapt", json=body) as answer:
        if (await answer.json())["decision_mode"] != "sent":
            raise RuntimeError("the message was not sent")


async def _timed(call: Callable[[], Awaitable[object]]) -> float:
    started = time.perf_counter()
    await call()
    return (time.perf_counter() - started) * 1000


def _people(count: int) -> list[NewPerson]:
    dice, made = random.Random(7), dict.fromkeys(NAMES)
    while len(made) < count:
        given, family = (dice.choices(_SYLLABLES, k=dice.randint(1, 4)) for _ in range(2))
        made[f"{''.join(given).title()} {''.join(family).title()}"] = None
    return [new_contact(name=name) for name in made]


def _settings(home: str, database_url: str | None = None) -> Settings:
    ports = {f"ports.{name}": 0 for name in ("api", "chatgpt", "sandbox", "sandbox_smtp", "sandbox_imap")}
    return load({}, {"home": home, "database_url": database_url, **ports})[0]


if __name__ == "__main__":
    main()
