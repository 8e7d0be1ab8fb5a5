"""How figures, moments and states are said on a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from postroom.domain.breaker import CircuitState
from postroom.domain.delivery import AttemptResult, Status
from postroom.domain.overview import MOST_COUNTED
from postroom.domain.size_words import size_words
from postroom.domain.spoken_time import duration, relative
from postroom.domain.time import parse_text, to_datetime, to_text
from postroom.domain.wall_clock import known_zone, zone_word
from postroom.doors.console.formatted import formatted, shown_links
from postroom.doors.console.revealed import pieces
from postroom.doors.console.safe_links import link_parts, safe_link
from postroom.work.files.media_type import PICTURES

NOT_AVAILABLE: Final = "not available"
_ZONE: Final = ContextVar("zone", default="UTC")

# The word a person reads and the tone that colours it; colour never stands alone.
STATES: Final[dict[str, tuple[str, str]]] = {
    Status.AWAITING_APPROVAL: ("Awaiting approval", "ask"),
    Status.PENDING: ("Waiting", "wait"),
    Status.IN_PROGRESS: ("Sending", "wait"),
    Status.DELIVERED: ("Delivered", "good"),
    Status.FAILED: ("Failed", "bad"),
    Status.DEAD_LETTERED: ("Dead letter", "bad"),
    AttemptResult.SUCCESS: ("Success", "good"),
    AttemptResult.RETRYABLE_ERROR: ("Failed, may be retried", "warn"),
    AttemptResult.NON_RETRYABLE_ERROR: ("Failed for good", "bad"),
    AttemptResult.UNCERTAIN: ("No clear answer", "warn"),
    CircuitState.CLOSED: ("Working", "good"),
    CircuitState.OPEN: ("Paused after failures", "bad"),
    CircuitState.HALF_OPEN: ("Trying again", "warn"),
}


def state_word(state: str) -> str:
    return STATES.get(state, (str(state).replace("_", " ").capitalize(), "plain"))[0]


def state_tone(state: str) -> str:
    return STATES.get(state, ("", "plain"))[1]


def figure(value: int | None, most: int = MOST_COUNTED) -> str:
    """A source that did not answer has no figure; it has not nothing. Above `most` nothing was counted."""
    if value is None:
        return NOT_AVAILABLE
    return f"more than {most:,}" if value > most else f"{value:,}"


def figure_short(value: int) -> str:
    """Where there is room for two digits."""
    return "99+" if value > 99 else str(value)


def amount(value: float) -> str:
    """Whole where it is whole, else with one digit after the point."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def percent(value: float | None) -> str:
    """Never rounded up to a clean hundred, nor down to nothing."""
    if value is None:
        return "–"
    if 0 < value < 1:
        value = min(max(value, 0.001), 0.999)
    return f"{value * 100:.1f} %".replace(".0 %", " %")


def milliseconds(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value / 1000:.1f} s" if value >= 1000 else f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms"


def moment_us(value: int | str) -> int:
    """The record tells times as text, the domain as microseconds."""
    return parse_text(value) if isinstance(value, str) else value


def machine_time(value: int | str) -> str:
    return to_text(moment_us(value))


@contextmanager
def told_in(zone: str) -> Iterator[None]:
    """While a page is written: the zone of the one who reads it."""
    before = _ZONE.set(zone)
    try:
        yield
    finally:
        _ZONE.reset(before)


def full_time(value: int | str) -> str:
    at = to_datetime(moment_us(value)).astimezone(known_zone(_ZONE.get()))
    return f"{at:%-d %b %Y, %H:%M:%S} {zone_word(at)}"


def ago(value: int | str, now_us: int) -> str:
    return relative(moment_us(value), now_us)


def short_id(value: str) -> str:
    """The end differs from row to row; the beginning is the time."""
    return value[-8:]


def channel_word(name: str) -> str:
    return "E-mail" if name == "email" else name[:1].upper() + name[1:]


def plural(many: int, one: str, more: str = "") -> str:
    return one if many == 1 else more or f"{one}s"


FILTERS: Final[dict[str, Callable[..., Any]]] = {
    "state_word": state_word,
    "state_tone": state_tone,
    "figure": figure,
    "figure_short": figure_short,
    "amount": amount,
    "percent": percent,
    "milliseconds": milliseconds,
    "machine_time": machine_time,
    "full_time": full_time,
    "ago": ago,
    "short_id": short_id,
    "channel_word": channel_word,
    "plural": plural,
    "duration": duration,
    "pieces": pieces,
    "formatted": formatted,
    "shown_links": shown_links,
    "link_parts": link_parts,
    "safe_link": safe_link,
    "size_words": size_words,
    "is_picture": PICTURES.__contains__,
}
