"""Health: whether each channel works and what to do if not, the limits in use, the queue, and how the day went."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import time, timedelta
from typing import Final

from starlette.responses import Response

from postroom.attention.attention import Attention
from postroom.console.live import Tools, asked
from postroom.console.visit import ConsolePage, ConsoleSection, Visit
from postroom.console.words import amount, channel_word
from postroom.delivery.reading.counts import Counted, Spread, Tally
from postroom.delivery.rules.breaker import CircuitState
from postroom.kernel.running.loop import LoopTrouble
from postroom.kernel.values.fields import Document
from postroom.kernel.values.ids import seconds, to_datetime, to_us
from postroom.kernel.values.zones import duration, instant, known_zone, said_moment
from postroom.message.inbound import InboundTrouble
from postroom.overview.counts import MOST_A_DAY, ConsoleOverview, DayCounts
from postroom.overview.today import answered

_NOTHING: Final = "Nothing to do."
_LOOK: Final = (
    "Read what the provider said. If a token or password was changed, set the new one and start the household again; "
    "else it goes on by itself."
)
_BOT: Final = ".bot"
_SLOW_MS: Final = 5_000.0  # longer than people wait
_FEWEST: Final = 3  # one late message makes no slow channel
_HOURS: Final = 24
_DAYS: Final = 14
_FIRST: Final = ("bad", "warn", "good")
_HOUR_SECONDS: Final = 3600.0
_SAMPLE: Final = 500
_MOST_CLOSED: Final = 20


# -- How a channel is doing: what it means for messages, and what a person can do about it --


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelState:
    """`word` stands in a badge of this `tone`; `provider` is what the other side said, if it said anything."""

    name: str
    word: str
    tone: str
    means: str
    advice: str = _NOTHING
    provider: str = ""

    @property
    def title(self) -> str:
        return channel_word(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelMoment:
    """What is known of one moment; `p95_ms` of the last hour where enough arrived, `deaf` why it hears nothing."""

    now_us: int
    zone: str = "UTC"
    p95_ms: float | None = None
    throttle_seconds: float | None = None
    deaf: str = ""


def channel_state(name: str, circuit: Document, around: ChannelMoment) -> ChannelState:
    """The worst of what is the matter with it."""
    if not circuit["configured"]:
        return _not_set_up(name)
    match circuit["state"]:
        case CircuitState.OPEN:
            return _paused(name, circuit, around)
        case CircuitState.HALF_OPEN:
            return _trying(name, circuit)
    if around.throttle_seconds is not None:
        return _asked_to_wait(name, around.throttle_seconds)
    if around.deaf:
        return _deaf(name, around.deaf)
    if around.p95_ms is not None:
        return _slow(name, around.p95_ms)
    return ChannelState(name=name, word="Working", tone="good", means="Messages leave at once.")


def _is_set_up(circuit: Document) -> bool:
    return bool(circuit["configured"])


def _not_set_up(name: str) -> ChannelState:
    return ChannelState(
        name=name,
        word="Not set up",
        tone="plain",
        means="No token or password is set, so nothing can be sent this way.",
        advice="Set its account if you want to use it; “postroom doctor” says what is missing.",
    )


def _paused(name: str, circuit: Document, around: ChannelMoment) -> ChannelState:
    again = said_moment(around.now_us + seconds(circuit["retry_after_seconds"] or 0.0), around.zone, around.now_us)
    many = circuit["consecutive_failures"]
    return ChannelState(
        name=name,
        word="Paused after failures",
        tone="bad",
        means=f"It failed {many} times in a row and tries again at {again}. What is stored waits and leaves by itself; "
        "new messages are refused until it works again.",
        advice=_LOOK,
        provider=_said(circuit),
    )


def _trying(name: str, circuit: Document) -> ChannelState:
    return ChannelState(
        name=name,
        word="Trying again",
        tone="warn",
        means="A few messages go first, to see whether it works again. The others wait and are not lost.",
        provider=_said(circuit),
    )


def _asked_to_wait(name: str, wait_seconds: float) -> ChannelState:
    return ChannelState(
        name=name,
        word="Asked to wait",
        tone="warn",
        means=f"The provider asked for a pause of {duration(wait_seconds)}. Messages wait for it and then leave.",
    )


def _deaf(name: str, sentence: str) -> ChannelState:
    return ChannelState(
        name=name,
        word="Does not hear answers",
        tone="warn",
        means="Messages leave, but what people write back does not arrive.",
        advice="See below under “Not heard”.",
        provider=sentence,
    )


def _slow(name: str, p95_ms: float) -> ChannelState:
    return ChannelState(
        name=name,
        word="Slow",
        tone="warn",
        means=f"In the last hour messages took up to {_took_words(p95_ms)} to arrive. They do arrive.",
        advice="Nothing to do, unless it stays so: then look at the provider's own status page.",
    )


def _said(circuit: Document) -> str:
    return str(circuit["trip_reason"] or circuit["last_error_message"] or "")


def _slow_channels(arrivals: Mapping[str, Spread]) -> dict[str, float]:
    """Those in which 95 of 100 take longer than people wait, with how long."""
    return {name: one.p95_ms for name, one in arrivals.items() if one.many >= _FEWEST and one.p95_ms >= _SLOW_MS}


def _took_words(milliseconds: float) -> str:
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms"
    return f"{milliseconds / 1000:.1f} s" if milliseconds < 60_000 else duration(milliseconds / 1000)


# -- Limits in use --


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedLimit:
    """37 of 60 messages this minute."""

    title: str
    used: float
    most: float
    unit: str = "messages this minute"

    @property
    def words(self) -> str:
        return f"{amount(round(self.used, 1))} of {amount(self.most)} {self.unit}"


def limits_in_use(limits: Document, busy: Collection[str]) -> list[UsedLimit]:
    """The household's own, and of channels those that something was sent on lately or is taken from now."""
    buckets = [
        UsedLimit(title=_title(name), used=one["consumed"], most=one["capacity"])
        for name, one in limits["channels"].items()
        if one["consumed"] > 0 or (name.endswith(_BOT) and name.removesuffix(_BOT) in busy)
    ]
    whole, flying = limits["global"], limits["in_flight"]
    return [
        UsedLimit(title="All channels together", used=whole["consumed"], most=whole["capacity"]),
        *buckets,
        UsedLimit(title="At the same time", used=flying["current"], most=flying["maximum"], unit="messages under way"),
    ]


def _title(bucket: str) -> str:
    """`CHANNEL.bot` is the household's own account there, `CHANNEL.user` a person's."""
    channel, _, scope = bucket.rpartition(".")
    return channel_word(channel) if scope == "bot" else f"{channel_word(channel)}, as a person"


# -- Small charts as geometry: the template only draws what is worked out here --

WIDTH: Final = 480
HEIGHT: Final = 120
_GAP: Final = 4
_SMALLEST: Final = 1e-9  # below this there is nothing to see


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    x: float
    y: float
    width: float
    height: float
    value: float


def bars(values: Sequence[float | None], top: float = 1.0, part: int = 0, parts: int = 1) -> list[Bar]:
    """
    One place per value, or this part of it; where nothing is known nothing is drawn, and something is always visible.
    """
    step = WIDTH / max(len(values), 1)
    width = (step - _GAP) / parts
    drawn = []
    for place, value in enumerate(values):
        if value is not None:
            height = max(2.0, min(value / top, 1.0) * HEIGHT) if top else 2.0
            drawn.append(
                Bar(
                    x=round(place * step + _GAP / 2 + part * width, 2),
                    y=round(HEIGHT - height, 2),
                    width=round(width, 2),
                    height=round(height, 2),
                    value=value,
                )
            )
    return drawn


def lines(values: Sequence[float | None], top: float) -> list[str]:
    """As many pieces as there are stretches without a gap; a lone point becomes a short dash."""
    step = WIDTH / max(len(values), 1)
    pieces: list[list[tuple[float, float]]] = [[]]
    for place, value in enumerate(values):
        if value is None:
            pieces.append([])
        else:
            share = min(value / top, 1.0) if top else 0.0
            pieces[-1].append(((place + 0.5) * step, HEIGHT - 2 - share * (HEIGHT - 4)))
    return [_points(piece, step) for piece in pieces if piece]


def _points(piece: list[tuple[float, float]], step: float) -> str:
    if len(piece) == 1:
        (x, y) = piece[0]
        piece = [(x - step / 4, y), (x + step / 4, y)]
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in piece)


def round_top(values: Sequence[float | None]) -> float:
    """The next 1, 2 or 5 of its order above the largest value, so that the axis reads well."""
    largest = max((value for value in values if value is not None), default=0.0)
    if largest < _SMALLEST:
        return 1.0
    order = 10.0 ** math.floor(math.log10(largest))
    return next((step * order for step in (1, 2, 5) if step * order >= largest), 10 * order)


@dataclass(frozen=True, slots=True, kw_only=True)
class Charts:
    """`slices` are the same figures for whoever cannot see the drawings."""

    slices: Sequence[Counted]
    rates: Sequence[Bar]
    p50: Sequence[str]
    p95: Sequence[str]
    top_ms: float

    @property
    def is_empty(self) -> bool:
        return not any(one.figures.deliveries for one in self.slices)


def _charts_of(slices: Sequence[Counted]) -> Charts:
    top_ms = round_top([one.figures.p95_latency_ms for one in slices])
    return Charts(
        slices=slices,
        rates=bars([one.figures.success_rate for one in slices]),
        p50=lines([one.figures.p50_latency_ms for one in slices], top_ms),
        p95=lines([one.figures.p95_latency_ms for one in slices], top_ms),
        top_ms=top_ms,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DaysChart:
    """`drawn` by what it is: sent, held, asked."""

    days: Sequence[DayCounts]
    drawn: Mapping[str, Sequence[Bar]]
    top: float

    @property
    def is_empty(self) -> bool:
        return not any(one.sent or one.held or one.asked for one in self.days)


def days_chart(days: Sequence[DayCounts]) -> DaysChart:
    shown = {
        "sent": [one.sent or None for one in days],
        "held": [one.held or None for one in days],
        "asked": [one.asked or None for one in days],
    }
    top = round_top([many for some in shown.values() for many in some])
    drawn = {name: bars(some, top, part, len(shown)) for part, (name, some) in enumerate(shown.items())}
    return DaysChart(days=days, drawn=drawn, top=top)


def _days_before(now_us: int, zone: str) -> list[int]:
    """The edges of whole days where the reader is, the last one being today; a day may have 23 or 25 hours."""
    here = known_zone(zone)
    first = to_datetime(now_us).astimezone(here).date() - timedelta(days=_DAYS - 1)
    days = (first + timedelta(days=place) for place in range(_DAYS + 1))
    return [to_us(instant(day, time.min, here, last=False)) for day in days]


def _hours_before(now_us: int) -> list[int]:
    """The edges of whole hours, the last one being the hour we are in."""
    hour_us = seconds(3600.0)
    end_us = (now_us // hour_us + 1) * hour_us
    return [end_us - hour_us * (_HOURS - place) for place in range(_HOURS + 1)]


# -- The page: each part stands alone, so that a source that does not answer hides no other --


@dataclass(frozen=True, slots=True, kw_only=True)
class Machinery:
    """For whoever looks after the machine; `failing` are the loops of this process that fail just now."""

    facts: Mapping[str, str]
    silent: str = ""  # why no butler can answer people
    failing: Callable[[], Sequence[LoopTrouble]]


def health_section(
    reader: ConsoleOverview,
    tools: Tools,
    notices: Attention | None = None,
    machinery: Machinery | None = None,
) -> ConsoleSection:
    async def health(visit: Visit) -> Response:
        circuits = (await asked(tools, visit.principal, "messenger_circuit_status", {}) or {}).get("circuits")
        limits = await asked(tools, visit.principal, "messenger_rate_limit_status", {})
        day_us, hours = visit.now_us - seconds(_HOURS * _HOUR_SECONDS), _hours_before(visit.now_us)
        deaf = await answered(reader.hearing(), default=())
        tallies: Sequence[Tally] = await answered(reader.tallies(day_us), default=())
        slices = days = None
        if "hx-request" not in visit.request.headers:  # charts stay while what is above them is brought up to date
            slices = await answered(reader.series(hours, _SAMPLE), default=None)
            days = await answered(reader.days(_days_before(visit.now_us, visit.zone)), default=None)
        busy = [one.channel for one in tallies if one.figures.finished]
        return visit.show(
            "health.html",
            channels=reader.channels,
            circuits=circuits,
            states=await _states(reader, circuits, limits, deaf, visit.now_us, visit.zone) if circuits else None,
            not_set_up=[name for name, one in (circuits or {}).items() if not _is_set_up(one)],
            written=None if circuits else await answered(reader.circuits(visit.now_us), default=None),
            limits=limits,
            used=limits_in_use(limits, busy) if limits else None,
            queue=await answered(reader.depth(), default=None),
            people=await answered(reader.decided(day_us), default=None),
            workers=await answered(reader.workers(visit.now_us), default=()),
            charts=None if slices is None else _charts_of(slices),
            sample=_SAMPLE,
            days=None if days is None else days_chart(days),
            most_a_day=MOST_A_DAY,
            zone=visit.zone,
            deaf=deaf,
            closed=await answered(reader.closed(_MOST_CLOSED), default=()),
            notices=await answered(notices.figures(), default=None) if notices else None,
            silent=machinery.silent if machinery else "",
            facts=machinery.facts if machinery else {},
            failing=machinery.failing() if machinery else (),
        )

    return ConsoleSection(name="Health", pages=(ConsolePage("/health", health),))


async def _states(
    reader: ConsoleOverview,
    circuits: Document,
    limits: Document | None,
    deaf: Sequence[InboundTrouble],
    now_us: int,
    zone: str,
) -> list[ChannelState]:
    """Those that are set up, with what this moment says of each; what needs a look comes first."""
    throttles = (limits or {}).get("provider_throttles", {})
    slow = _slow_channels(await answered(reader.arrivals(now_us - seconds(_HOUR_SECONDS), now_us), default={}))
    unheard = {one.channel: one.sentence for one in deaf}
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
        if _is_set_up(circuit)
    ]
    return sorted(found, key=lambda one: _FIRST.index(one.tone))
