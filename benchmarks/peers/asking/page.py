"""The figures of asking as two tables in the documentation: how quick, and what a kill costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from benchmarks.peers.asking.kills import AT_ONCE, Moment
from benchmarks.peers.asking.pace import CALLERS, PER_SECOND, Pace
from benchmarks.peers.asking.products import Asker
from benchmarks.peers.asking.tally import Tally
from benchmarks.peers.table import latency, spread

BEGIN = "<!-- written by `make bench-peers`, asking: begin -->"
END = "<!-- written by `make bench-peers`, asking: end -->"


@dataclass(slots=True, kw_only=True)
class Asked:
    asker: Asker
    version: str = ""
    pace: Pace = field(default_factory=Pace)
    kills: dict[Moment, Tally] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return "**Postroom**" if self.asker.ours else f"{self.asker.product} {self.version}".strip()


def page(made: Sequence[Asked], machine: str, rounds: int, minutes: float) -> str:
    lines = [
        f"Made on {datetime.now(UTC):%Y-%m-%d} in {minutes:.0f} minutes, {rounds} interleaved rounds: {machine}.",
        "",
        f"| who | database | asked → stored at {PER_SECOND}/s, p50 / p99 ms "
        "| answered → the waiting call has it, p50 / p99 ms "
        f"| {CALLERS} callers at once: questions answered/s |",
        "|---|---|--:|--:|--:|",
        *(_quick(one) for one in made),
        "",
        f"`kill -9` of the server, {AT_ONCE} questions at a time, started again on the same data:",
        "",
        "| who | database | killed | questions | gone | answers lost | two answers to one question | no mail ever came "
        "| two mails | callers that never returned | callers that had to handle an error |",
        "|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|",
        *(_killed(one, moment) for one in made for moment in Moment if moment in one.kills),
        "",
        *(f"- {product}: {how}." for product, how in {one.asker.product: one.asker.how for one in made}.items()),
    ]
    return "\n".join(lines)


def _quick(one: Asked) -> str:
    cells = [one.name, one.asker.database, latency(one.pace.accepted), latency(one.pace.returned)]
    return f"| {' | '.join([*cells, spread(one.pace.rates)])} |"


def _killed(one: Asked, moment: Moment) -> str:
    made = one.kills[moment]
    counts = (
        made.questions,
        made.gone,
        made.lost,
        made.two_answers,
        made.never_asked,
        made.asked_twice,
        made.never_returned,
        made.errors,
    )
    return f"| {' | '.join([one.name, one.asker.database, moment, *map(str, counts)])} |"
