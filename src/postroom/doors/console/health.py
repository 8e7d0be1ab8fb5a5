"""Health: whether each channel works and what to do if not, the limits in use, the queue, and how the day went."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from starlette.responses import Response

from postroom.domain.breaker import Circuit
from postroom.domain.closed_address import ClosedAddress
from postroom.domain.errors import StoreUnavailable
from postroom.domain.figures import Depth
from postroom.domain.inbound_trouble import InboundTrouble
from postroom.domain.living_worker import LivingWorker
from postroom.domain.overview import Slice, Tally, Took
from postroom.domain.time import SECOND_US, seconds
from postroom.doors.console.asking import asked
from postroom.doors.console.channel_health import (
    ChannelMoment,
    ChannelState,
    channel_state,
    is_set_up,
    limits_in_use,
    slow_channels,
)
from postroom.doors.console.charts import Bar, bars, lines, round_top
from postroom.doors.console.ports import Tools
from postroom.doors.console.visit import ConsolePage, ConsoleSection, Visit
from postroom.system.loop import LoopTrouble
from postroom.work.attention.views import AttentionFigures

_HOURS: Final = 24
_FIRST: Final = ("bad", "warn", "good")
_HOUR_SECONDS: Final = 3600.0
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

    async def tallies(self, since_us: int) -> Sequence[Tally]: ...

    async def arrivals(self, since_us: int, until_us: int) -> Sequence[Took]:
        """How long the newest took that arrived."""
        ...

    async def decided(self, since_us: int) -> Sequence[float]:
        """For how many milliseconds the newest waited for a person who said yes or no."""
        ...

    async def hearing(self) -> Sequence[InboundTrouble]:
        """What keeps channels from hearing people."""
        ...

    async def closed(self, most: int) -> Sequence[ClosedAddress]:
        """Addresses that are written to no more, the newest first."""
        ...

    async def workers(self, now_us: int) -> Sequence[LivingWorker]:
        """Processes that send; on SQLite it is this one, and none is named."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Machinery:
    """For whoever looks after the machine; `failing` are the loops of this process that fail just now."""

    facts: Mapping[str, str]
    silent: str = ""  # why no butler can answer people
    failing: Callable[[], Sequence[LoopTrouble]]


def health_section(
    reader: HealthReader,
    tools: Tools,
    notices: NoticeFigures | None = None,
    machinery: Machinery | None = None,
) -> ConsoleSection:
    async def health(visit: Visit) -> Response:
        circuits = (await asked(tools, visit.principal, "messenger_circuit_status", {}) or {}).get("circuits")
        limits = await asked(tools, visit.principal, "messenger_rate_limit_status", {})
        mail = await _mail(reader)
        return visit.show(
            "health.html",
            channels=reader.channels,
            circuits=circuits,
            states=await _states(reader, circuits, limits, mail["deaf"], visit.now_us, visit.zone)
            if circuits
            else None,
            not_set_up=[name for name, one in (circuits or {}).items() if not is_set_up(one)],
            written=None if circuits else await _written(reader, visit.now_us),
            limits=limits,
            used=limits_in_use(limits, await _busy(reader, visit.now_us)) if limits else None,
            queue=await _queue(reader, visit.now_us),
            people=await _people(reader, visit.now_us),
            workers=await _workers(reader, visit.now_us),
            charts=await _charts(reader, visit.now_us),
            sample=SAMPLE,
            **mail,
            notices=await _notices(notices) if notices else None,
            silent=machinery.silent if machinery else "",
            facts=machinery.facts if machinery else {},
            failing=machinery.failing() if machinery else (),
        )

    return ConsoleSection(name="Health", pages=(ConsolePage("/health", health),))


async def _people(reader: HealthReader, now_us: int) -> tuple[int, float] | None:
    """How many of the last day people decided on, and how long half of them waited for that; no channel's time."""
    try:
        waited = sorted(await reader.decided(now_us - seconds(_HOURS * _HOUR_SECONDS)))
    except StoreUnavailable:
        return None
    return (len(waited), waited[len(waited) // 2] / 1000) if waited else None


async def _workers(reader: HealthReader, now_us: int) -> Sequence[LivingWorker]:
    try:
        return await reader.workers(now_us)
    except StoreUnavailable:
        return ()


async def _states(
    reader: HealthReader,
    circuits: Mapping[str, Any],
    limits: Mapping[str, Any] | None,
    deaf: Sequence[InboundTrouble],
    now_us: int,
    zone: str,
) -> list[ChannelState]:
    """Those that are set up, with what this moment says of each; what needs a look comes first."""
    throttles = (limits or {}).get("provider_throttles", {})
    slow, unheard = await _slow(reader, now_us), {one.channel: one.sentence for one in deaf}
    found = [
        channel_state(
            name,
            circuit,
            ChannelMoment(
                now_us=now_us,
                zone=zone,
                p95_ms=slow.get(name),
                throttle_seconds=throttles[name]["retry_after_seconds"] if name in throttles else None,
                deaf=unheard.get(name, ""),
            ),
        )
        for name, circuit in circuits.items()
        if is_set_up(circuit)
    ]
    return sorted(found, key=lambda one: _FIRST.index(one.tone))


async def _slow(reader: HealthReader, now_us: int) -> Mapping[str, float]:
    try:
        return slow_channels(await reader.arrivals(now_us - seconds(_HOUR_SECONDS), now_us))
    except StoreUnavailable:
        return {}


async def _busy(reader: HealthReader, now_us: int) -> Mapping[str, int]:
    """By channel how many ended in the last day."""
    try:
        found = await reader.tallies(now_us - seconds(_HOURS * _HOUR_SECONDS))
    except StoreUnavailable:
        return {}
    return {one.channel: sum(one.counts.values()) for one in found}


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
