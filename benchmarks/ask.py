"""A question from its commit to the phone and from the press to the one who waits, beside a plain delivery."""

from __future__ import annotations

import asyncio
import itertools
import os
import resource
import statistics
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import uvloop
from chaos.described import machine

from benchmarks.ask_house import OWNER_CHAT, AskHouse, ask_house
from benchmarks.delivery import cpu_seconds
from benchmarks.peers.figures import percentile
from benchmarks.peers.table import write_between
from benchmarks.temporary_postgres import temporary_postgres
from postroom.kernel.running import telemetry
from postroom.message.outgoing import Outgoing

ROUNDS = int(os.environ.get("ROUNDS", "5"))
ASKS = int(os.environ.get("ASKS", "60"))  # of each kind in a round, one after the other
BURST = int(os.environ.get("BURST", "400"))
CALLERS = 50
WAITING = int(os.environ.get("WAITING", "1000"))
IDLE_SECONDS = 5.0
SHOWN_TARGET_MS, ANSWERED_TARGET_MS, ANSWERED_WORST_MS = 20.0, 30.0, 150.0
PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "performance.md"
BEGIN = "<!-- written by `make bench ARGS=ask`: begin -->"
END = "<!-- written by `make bench ARGS=ask`: end -->"
_numbers = itertools.count(1)


@dataclass(slots=True)
class Figures:
    """Milliseconds of every single one; rates of each round."""

    plain: list[float] = field(default_factory=list)  # `notify` begun → handed to the provider
    shown: list[float] = field(default_factory=list)  # question committed → card handed to the provider
    woken: list[float] = field(default_factory=list)  # answer committed → the waiting call returns
    answered: list[float] = field(default_factory=list)  # pressed → the waiting call returns
    asks: list[float] = field(default_factory=list)
    notices: list[float] = field(default_factory=list)
    megabytes: float = 0.0
    idle_cpu: float = 0.0


async def measure(house: AskHouse, into: Figures) -> None:
    for _ in range(20):  # the first ones pay for caches and statements
        await one_question(house, Figures())
        await one_notice(house, Figures())
    for _ in range(ROUNDS):
        for _ in range(ASKS):
            await one_notice(house, into)
            await one_question(house, into)
        into.notices.append(await rate(house, notice))
        into.asks.append(await rate(house, stored))
    await wait_idly(house, into)


async def one_notice(house: AskHouse, into: Figures) -> None:
    word = new_word()
    arrived, began = house.phone.expect(word), time.perf_counter()
    await notice(house, word)
    handed, _ = await asyncio.wait_for(arrived, 30)
    into.plain.append((handed - began) * 1000)


async def one_question(house: AskHouse, into: Figures) -> None:
    word = new_word()
    arrived = house.phone.expect(word)
    ask_id = await house.ask(word)
    handed, card = await asyncio.wait_for(arrived, 30)
    into.shown.append((handed - house.stored[ask_id]) * 1000)
    waiting = asyncio.create_task(house.waited(ask_id))
    await asyncio.sleep(0.02)  # until it waits
    pressed = time.perf_counter()
    house.phone.press(card)
    returned = await waiting
    into.answered.append((returned - pressed) * 1000)
    into.woken.append((returned - house.decided[ask_id]) * 1000)


async def notice(house: AskHouse, word: str) -> None:
    outgoing = Outgoing(origin_butler="health", channel="telegram", message=f"{word} Shipped.", recipient=OWNER_CHAT)
    await house.plane.submit(outgoing, request_id=word, wait_seconds=0)


async def stored(house: AskHouse, word: str) -> None:
    await house.ask(word)


async def rate(house: AskHouse, call: object) -> float:
    """Stored per second, by many callers at once. Waits until all have arrived, or what follows would wait for them."""
    words = [new_word() for _ in range(BURST)]
    arrived, left = [house.phone.expect(word) for word in words], iter(words)

    async def caller() -> None:
        for word in left:
            await call(house, word)  # type: ignore[operator]

    began = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(CALLERS)))
    took = time.perf_counter() - began
    await asyncio.wait_for(asyncio.gather(*arrived), 300)
    return BURST / took


async def wait_idly(house: AskHouse, into: Figures) -> None:
    """Questions that no person answers, each with a caller that waits for it."""
    words = [new_word() for _ in range(WAITING)]
    arrived = [house.phone.expect(word) for word in words]
    ids = await asyncio.gather(*(house.ask(word) for word in words))
    await asyncio.wait_for(asyncio.gather(*arrived), 300)
    await quiet()  # until the last cards are noted
    before = resident_megabytes()
    waiting = [asyncio.create_task(house.waited(one)) for one in ids]
    await quiet()
    began, cpu = time.perf_counter(), cpu_seconds()
    await asyncio.sleep(IDLE_SECONDS)
    into.idle_cpu = (cpu_seconds() - cpu) / (time.perf_counter() - began)
    into.megabytes = resident_megabytes() - before
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def quiet() -> None:
    """Until a second goes by in which next to nothing is done, or a minute."""
    for _ in range(60):
        cpu = cpu_seconds()
        await asyncio.sleep(1.0)
        if cpu_seconds() - cpu < 0.05:
            return


def resident_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def new_word() -> str:
    return f"#{next(_numbers)}"


def table(results: dict[str, Figures]) -> str:
    lines = [
        f"Made on {datetime.now(UTC):%Y-%m-%d}, {ROUNDS} interleaved rounds, times of every single one: {machine()}.",
        "",
        "| database | what | p50 / p99 ms | against a plain `notify` to the provider, p50 |",
        "|---|---|--:|--:|",
    ]
    for name, made in results.items():
        plain = percentile(made.plain, 50)
        for what, values in _named(made):
            times = f"{percentile(values, 50):.2f} / {percentile(values, 99):.2f}"
            lines.append(f"| {name} | {what} | {times} | {percentile(values, 50) / plain:.2f}× |")
    lines += [
        "",
        f"| database | questions stored/s, {CALLERS} callers | notices stored/s | ratio |",
        "|---|--:|--:|--:|",
    ]
    for name, made in results.items():
        asks, notices = statistics.median(made.asks), statistics.median(made.notices)
        lines.append(f"| {name} | {asks:,.0f} | {notices:,.0f} | {asks / notices:.2f} |")
    lines += ["", f"| database | CPU of a core with {WAITING:,} waiting callers | memory they take |", "|---|--:|--:|"]
    lines += [f"| {name} | {made.idle_cpu:.1%} | {made.megabytes:.0f} MB |" for name, made in results.items()]
    return "\n".join([*lines, "", *(f"- {one}." for one in verdicts(results))])


def _named(made: Figures) -> list[tuple[str, list[float]]]:
    return [
        ("`notify` called → provider", made.plain),
        ("question stored → first card at the provider", made.shown),
        ("answer stored → waiting call returns", made.woken),
        ("button pressed → waiting call returns", made.answered),
    ]


def verdicts(results: dict[str, Figures]) -> list[str]:
    found = []
    for name, made in results.items():
        shown, answered = percentile(made.shown, 50), percentile(made.answered, 50)
        worst = percentile(made.answered, 99)
        found += [
            f"{_word(shown <= SHOWN_TARGET_MS)}: {name}, stored → card p50 {shown:.1f} ms, the target is 20 ms",
            f"{_word(answered <= ANSWERED_TARGET_MS)}: {name}, pressed → returned p50 {answered:.1f} ms, "
            "the target is 30 ms",
            f"{_word(worst <= ANSWERED_WORST_MS)}: {name}, pressed → returned p99 {worst:.1f} ms, the target is 150 ms",
            f"{_word(made.idle_cpu < 0.02)}: {name}, {WAITING:,} waiting callers take {made.idle_cpu:.1%} of a core, "
            "the target is 2%",
        ]
    return found


def _word(met: bool) -> str:
    return "**Met**" if met else "**Missed**"


async def one_database(home: Path, database: str) -> Figures:
    made = Figures()
    async with ask_house(home, database) as house:
        await measure(house, made)
    return made


def main() -> None:
    telemetry.configure_log("ERROR")  # as the other doors are measured
    results: dict[str, Figures] = {}
    with temporary_postgres() as (server, folder):
        for name, database in (("SQLite", ""), ("PostgreSQL", server.url())):
            results[name] = uvloop.run(one_database(folder / name, database))
    text = table(results)
    print(text)
    if "DRY" not in os.environ:
        write_between(PAGE, BEGIN, END, text)


if __name__ == "__main__":
    main()
