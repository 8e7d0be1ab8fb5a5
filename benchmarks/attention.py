"""Attention: a week on a virtual clock, a notice without a policy, a notice that waits, and a digest of many."""

from __future__ import annotations

import asyncio
import os
import random
import statistics
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import uvloop
from chaos.described import machine

from benchmarks.attention_house import STRANGER, AttentionHouse, attention_house, message
from benchmarks.peers.figures import percentile
from benchmarks.peers.table import write_between
from benchmarks.temporary_postgres import temporary_postgres
from postroom.attention.rules.policy import PolicyBook, parse_policy
from postroom.attention.rules.simulate import simulate
from postroom.attention.state import AttentionState, Fact, NoticeAccepted
from postroom.kernel.values.ids import seconds
from postroom.message.wishes import AcceptedNotice, Urgency

ROUNDS = int(os.environ.get("ROUNDS", "3"))
WEEK = int(os.environ.get("WEEK", "10000"))  # notices
NEUTRAL = int(os.environ.get("NEUTRAL", "20000"))
DEFERRED = int(os.environ.get("DEFERRED", "100"))  # in a round, beside as many that leave
DIGEST = int(os.environ.get("DIGEST", "500"))
WEEK_TARGET_SECONDS, NEUTRAL_TARGET_US = 3.0, 20.0
_WEEK_US = seconds(7 * 86_400)
_MONDAY_US = 1_767_571_200_000_000  # 2026-01-05
_CALM = {"preset": "calm", "zone": "Europe/Vienna", "quiet_hours": [{"from": "22:00", "until": "07:00"}]}
PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "performance.md"
BEGIN = "<!-- written by `make bench ARGS=attention`: begin -->"
END = "<!-- written by `make bench ARGS=attention`: end -->"


@dataclass(slots=True)
class Figures:
    """Milliseconds of every single one; `neutral` in microseconds, one mean for each round."""

    neutral: list[float] = field(default_factory=list)
    neutral_writes: int = 0
    plain: list[float] = field(default_factory=list)  # `notify` to a person without a policy, until it is accepted
    deferred: list[float] = field(default_factory=list)
    frozen: list[float] = field(default_factory=list)  # the slot is there → the provider has the digest


def week() -> list[Fact]:
    """Twelve agents, day and night, in thirty threads each."""
    dice = random.Random(1)
    kinds = [Urgency.PASSIVE, Urgency.NORMAL, Urgency.NORMAL, Urgency.NORMAL, Urgency.TIME_SENSITIVE]
    return [
        NoticeAccepted(
            at_us=at_us,
            notice=AcceptedNotice(
                id=f"n{number:05}",
                person="ada",
                agent=f"agent{dice.randrange(12)}",
                created_us=at_us,
                channel="telegram",
                text=f"message {number}",
                urgency=dice.choice(kinds),
                thread=f"thread{dice.randrange(30)}",
                fingerprint=f"{number}",
            ),
        )
        for number in range(WEEK)
        for at_us in [_MONDAY_US + number * _WEEK_US // WEEK]
    ]


def simulated() -> tuple[float, int]:
    """Seconds, and decisions."""
    facts, book = week(), PolicyBook(people={"ada": parse_policy(_CALM)})
    began = time.perf_counter()
    run = simulate(facts, book, state=AttentionState(person="ada"), until_us=_MONDAY_US + _WEEK_US)
    return time.perf_counter() - began, len(run.decisions)


async def measure(house: AttentionHouse, into: Figures) -> None:
    for _ in range(ROUNDS):
        await _neutral(house, into)
    await house.collect()
    for one in range(ROUNDS):
        for number in range(one * DEFERRED, (one + 1) * DEFERRED):
            into.plain.append(await _timed(house, 2 * number, STRANGER))
            into.deferred.append(await _timed(house, 2 * number + 1, None))
        await _flush(house, Figures())
    for one in range(2):  # to fill it takes long: each is judged beside all that wait
        first = 1_000_000 + one * DIGEST
        await asyncio.gather(*(house.notify(number) for number in range(first, first + DIGEST)))
        await _flush(house, into)


async def _neutral(house: AttentionHouse, into: Figures) -> None:
    draft, before = await house.plane.acceptance.draft(message(0), "r"), len(house.writes)
    began = time.perf_counter()
    for _ in range(NEUTRAL):
        await house.attention.consider(draft)
    into.neutral.append((time.perf_counter() - began) / NEUTRAL * 1e6)
    into.neutral_writes += len(house.writes) - before


async def _timed(house: AttentionHouse, number: int, recipient: str | None) -> float:
    began = time.perf_counter()
    outcome = await house.notify(number, recipient=recipient)
    took = (time.perf_counter() - began) * 1000
    assert (outcome.status == "deferred") == (recipient is None), outcome
    return took


async def _flush(house: AttentionHouse, into: Figures) -> None:
    handed = house.channel.handed = asyncio.get_running_loop().create_future()
    house.clock.jump(3600)
    began = time.perf_counter()
    house.attention.book.woken.ring()
    into.frozen.append((await asyncio.wait_for(handed, 120) - began) * 1000)


def table(weeks: list[tuple[float, int]], results: dict[str, Figures]) -> str:
    took, decisions = statistics.median(one for one, _ in weeks), weeks[0][1]
    neutral = statistics.median(one for made in results.values() for one in made.neutral)
    lines = [
        f"Made on {datetime.now(UTC):%Y-%m-%d}, {ROUNDS} rounds: {machine()}.",
        "",
        "| what | median |",
        "|---|--:|",
        f"| a week of {WEEK:,} notices and {decisions:,} decisions through `simulate` | {took:.2f} s |",
        f"| asked for a message where no one has a policy | {neutral:.2f} µs |",
        "",
        "| database | what | p50 / p99 ms |",
        "|---|---|--:|",
    ]
    for name, made in results.items():
        for what, values in _named(made):
            lines.append(f"| {name} | {what} | {percentile(values, 50):.2f} / {percentile(values, 99):.2f} |")
    return "\n".join([*lines, "", *(f"- {one}." for one in verdicts(took, neutral, results))])


def _named(made: Figures) -> list[tuple[str, list[float]]]:
    return [
        ("`notify` to a person without a policy → accepted", made.plain),
        ("`notify` → `deferred`", made.deferred),
        (f"the slot is there → the provider has the digest of {DIGEST}", made.frozen),
    ]


def verdicts(took: float, neutral: float, results: dict[str, Figures]) -> list[str]:
    writes = sum(made.neutral_writes for made in results.values())
    return [
        f"{_word(took <= WEEK_TARGET_SECONDS)}: the week took {took:.2f} s, the target is 3 s",
        f"{_word(neutral <= NEUTRAL_TARGET_US and not writes)}: without a policy {neutral:.2f} µs and {writes} commits"
        ", the target is 20 µs and none",
    ]


def _word(met: bool) -> str:
    return "**Met**" if met else "**Missed**"


async def one_database(home: Path, database: str) -> Figures:
    made = Figures()
    async with attention_house(home, database) as house:
        await measure(house, made)
    return made


def main() -> None:
    weeks = [simulated() for _ in range(ROUNDS)]
    results: dict[str, Figures] = {}
    with temporary_postgres() as (server, folder):
        for name, database in (("SQLite", ""), ("PostgreSQL", server.url())):
            results[name] = uvloop.run(one_database(folder / name, database))
    text = table(weeks, results)
    print(text)
    if "DRY" not in os.environ:
        write_between(PAGE, BEGIN, END, text)


if __name__ == "__main__":
    main()
