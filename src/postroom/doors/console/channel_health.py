"""How a channel is doing, in words: what it means for messages, and what a person can do about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from postroom.domain.breaker import CircuitState
from postroom.domain.overview import Took
from postroom.domain.spoken_time import duration
from postroom.domain.time import seconds
from postroom.domain.wall_clock import said_moment
from postroom.doors.console.words import amount, channel_word

_NOTHING: Final = "Nothing to do."
_LOOK: Final = (
    "Read what the provider said. If a token or password was changed, set the new one and start the household again; "
    "else it goes on by itself."
)
_BOT: Final = ".bot"
_SLOW_MS: Final = 5_000.0  # longer than people wait
_FEWEST: Final = 3  # one late message makes no slow channel


def slow_channels(arrivals: Sequence[Took]) -> dict[str, float]:
    """Those in which 95 of 100 take longer than people wait, with how long."""
    times: dict[str, list[float]] = {}
    for one in arrivals:
        times.setdefault(one.channel, []).append(one.milliseconds)
    found = {name: _p95(some) for name, some in times.items() if len(some) >= _FEWEST}
    return {name: p95 for name, p95 in found.items() if p95 >= _SLOW_MS}


def _p95(values: Sequence[float]) -> float:
    """Nearest rank: always one that really happened."""
    return sorted(values)[(len(values) * 95 + 99) // 100 - 1]


def took_words(milliseconds: float) -> str:
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms"
    return f"{milliseconds / 1000:.1f} s" if milliseconds < 60_000 else duration(milliseconds / 1000)


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


def channel_state(name: str, circuit: Mapping[str, Any], around: ChannelMoment) -> ChannelState:
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


def is_set_up(circuit: Mapping[str, Any]) -> bool:
    return bool(circuit["configured"])


def _not_set_up(name: str) -> ChannelState:
    return ChannelState(
        name=name,
        word="Not set up",
        tone="plain",
        means="No token or password is set, so nothing can be sent this way.",
        advice="Set its account if you want to use it; “postroom doctor” says what is missing.",
    )


def _paused(name: str, circuit: Mapping[str, Any], around: ChannelMoment) -> ChannelState:
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


def _trying(name: str, circuit: Mapping[str, Any]) -> ChannelState:
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
        means=f"In the last hour messages took up to {took_words(p95_ms)} to arrive. They do arrive.",
        advice="Nothing to do, unless it stays so: then look at the provider's own status page.",
    )


def _said(circuit: Mapping[str, Any]) -> str:
    return str(circuit["trip_reason"] or circuit["last_error_message"] or "")


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


def limits_in_use(limits: Mapping[str, Any], busy: Mapping[str, int]) -> list[UsedLimit]:
    """The household's own, and of channels those that something was sent on lately or is taken from now."""
    buckets = [
        UsedLimit(title=_title(name), used=one["consumed"], most=one["capacity"])
        for name, one in limits["channels"].items()
        if one["consumed"] > 0 or (name.endswith(_BOT) and busy.get(name.removesuffix(_BOT), 0))
    ]
    whole, flying = limits["global"], limits["in_flight"]
    return [
        UsedLimit(title="All channels together", used=whole["consumed"], most=whole["capacity"]),
        *buckets,
        UsedLimit(title="At the same time", used=flying["current"], most=flying["maximum"], unit="messages under way"),
    ]


def _title(bucket: str) -> str:
    """`telegram.bot` is the household's own bot there; `telegram.user` a person's account."""
    channel, _, scope = bucket.rpartition(".")
    return channel_word(channel) if scope == "bot" else f"{channel_word(channel)}, as a person"
