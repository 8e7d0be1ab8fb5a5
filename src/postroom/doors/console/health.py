"""Health: circuits, limits with what is left of them, the queue, and how the last day went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from starlette.responses import Response

from postroom.domain.breaker import Circuit
from postroom.domain.closed_address import ClosedAddress
from postroom.domain.errors import StoreUnavailable
from postroom.domain.figures import Depth
from postroom.domain.inbound_trouble import InboundTrouble
from postroom.domain.overview import Slice
from postroom.domain.time import SECOND_US, seconds
from postroom.doors.console.asking import asked
from postroom.doors.console.charts import Bar, bars, lines, round_top
from postroom.doors.console.ports import Tools
from postroom.doors.console.visit import ConsolePage, ConsoleSection, Visit
from postroom.work.attention.views import AttentionFigures

_HOURS: Final = 24
SAMPLE: Final = 500
MOST_CLOSED: Final = 20


class HealthReader(Protocol):
    @property
    def channels(self) -> Sequence[str]: ...

    async def series(self, edges_us: Sequence[int], most: int) -> Sequence[Slice]: ...

    async def depth(self) -> Depth: ...

    async def circuits(self, now_us: int) -> Mapping[str, Circuit]:
        """As the ledger last heard of them."""
        ...

    async def hearing(self) -> Sequence[InboundTrouble]:
        """What keeps channels from hearing people."""
        ...

    async def closed(self, most: int) -> Sequence[ClosedAddress]:
        """Addresses that are written to no more, the newest first."""
        ...


class NoticeFigures(Protocol):
    async def household(self) -> AttentionFigures: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Charts:
    """`slices` are the same figures for whoever cannot see the drawings."""

    slices: Sequence[Slice]
    rates: Sequence[Bar]
    p50: Sequence[str]
    p95: Sequence[str]
    top_ms: float

    @property
    def is_empty(self) -> bool:
        return not any(one.looked_at for one in self.slices)


def health_section(reader: HealthReader, tools: Tools, notices: NoticeFigures | None = None) -> ConsoleSection:
    async def health(visit: Visit) -> Response:
        circuits = await asked(tools, visit.principal, "messenger_circuit_status", {})
        return visit.show(
            "health.html",
            channels=reader.channels,
            circuits=circuits["circuits"] if circuits else None,
            written=None if circuits else await _written(reader, visit.now_us),
            limits=await asked(tools, visit.principal, "messenger_rate_limit_status", {}),
            queue=await _queue(reader, visit.now_us),
            charts=await _charts(reader, visit.now_us),
            sample=SAMPLE,
            **await _mail(reader),
            notices=await _notices(notices) if notices else None,
        )

    return ConsoleSection(name="Health", pages=(ConsolePage("/health", health),))


def charts_of(slices: Sequence[Slice]) -> Charts:
    top_ms = round_top([one.p95_ms for one in slices])
    return Charts(
        slices=slices,
        rates=bars([one.success_rate for one in slices]),
        p50=lines([one.p50_ms for one in slices], top_ms),
        p95=lines([one.p95_ms for one in slices], top_ms),
        top_ms=top_ms,
    )


def hours_before(now_us: int) -> list[int]:
    """The edges of whole hours, the last one being the hour we are in."""
    hour_us = seconds(3600.0)
    end_us = (now_us // hour_us + 1) * hour_us
    return [end_us - hour_us * (_HOURS - place) for place in range(_HOURS + 1)]


async def _charts(reader: HealthReader, now_us: int) -> Charts | None:
    try:
        return charts_of(await reader.series(hours_before(now_us), SAMPLE))
    except StoreUnavailable:
        return None


async def _notices(notices: NoticeFigures) -> AttentionFigures | None:
    try:
        return await notices.household()
    except StoreUnavailable:
        return None


async def _queue(reader: HealthReader, now_us: int) -> dict[str, Any] | None:
    try:
        depth = await reader.depth()
    except StoreUnavailable:
        return None
    oldest = depth.oldest_created_at_us
    return {
        "waiting": sum(many for (_, status), many in depth.counts.items() if status == "pending"),
        "sending": sum(many for (_, status), many in depth.counts.items() if status == "in_progress"),
        "oldest_seconds": None if oldest is None else max(0, now_us - oldest) / SECOND_US,
    }


async def _mail(reader: HealthReader) -> dict[str, Any]:
    try:
        return {"deaf": await reader.hearing(), "closed": await reader.closed(MOST_CLOSED)}
    except StoreUnavailable:
        return {"deaf": (), "closed": ()}


async def _written(reader: HealthReader, now_us: int) -> Mapping[str, Circuit] | None:
    try:
        return await reader.circuits(now_us)
    except StoreUnavailable:
        return None
