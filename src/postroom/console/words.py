"""How figures, moments, states and texts are said on a page: the filters of every template."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from markupsafe import Markup

from postroom.approvals.model import ActionStatus
from postroom.approvals.rules import ShownLink, links_in
from postroom.attention.model import NoticeState
from postroom.conversations.model import InboundStatus
from postroom.delivery.files.kinds import PICTURES
from postroom.delivery.reading.counts import MOST_COUNTED
from postroom.delivery.rules.breaker import CircuitState
from postroom.kernel.text.markdown import parse
from postroom.kernel.text.rich import SpanStyle, html_of
from postroom.kernel.text.visible import Hidden, findings, reveal
from postroom.kernel.values.ids import parse_text, to_datetime, to_text
from postroom.kernel.values.zones import duration, known_zone, relative, zone_word
from postroom.message.attachment import size_words
from postroom.message.delivery import AttemptResult, Status
from postroom.message.outgoing import known_as
from postroom.questions.model import QuestionStatus
from postroom.settings.accounts import channel_kind
from postroom.settings.written import SHIPPED

# -- Figures, moments and states --

_NOT_AVAILABLE: Final = "not available"
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
# What is a state of several things is told apart by whose it is.
_STATES_OF: Final[dict[type[str], Mapping[str, tuple[str, str]]]] = {
    QuestionStatus: {
        QuestionStatus.OPEN: ("Open", "ask"),
        QuestionStatus.ANSWERED: ("Answered", "good"),
        QuestionStatus.DECLINED: ("Declined", "warn"),
        QuestionStatus.EXPIRED: ("Expired", "warn"),
        QuestionStatus.CANCELLED: ("Taken back", "wait"),
        QuestionStatus.SUPERSEDED: ("Replaced", "wait"),
    },
    ActionStatus: {
        ActionStatus.PENDING: ("Waits for you", "ask"),
        ActionStatus.APPROVED: ("Approved", "good"),
        ActionStatus.REJECTED: ("Rejected", "bad"),
        ActionStatus.EXPIRED: ("Expired", "warn"),
    },
    NoticeState: {
        NoticeState.ACCEPTED: ("Just accepted", "wait"),
        NoticeState.HELD: ("Held", "ask"),
        NoticeState.DIGESTING: ("Leaving in a digest", "wait"),
        NoticeState.RELEASED: ("Leaving", "wait"),
        NoticeState.SENT: ("Sent", "good"),
        NoticeState.DIGESTED: ("Sent in a digest", "good"),
        NoticeState.WAITING: ("Waiting for an OK", "ask"),
        NoticeState.ACKNOWLEDGED: ("OK", "good"),
        NoticeState.UNANSWERED: ("Never answered", "bad"),
        NoticeState.MUTED: ("Muted", "wait"),
        NoticeState.MERGED: ("Merged with another", "wait"),
        NoticeState.WITHDRAWN: ("Withdrawn", "wait"),
        NoticeState.RECALLED: ("Recalled", "warn"),
        NoticeState.EXPIRED: ("Too old to be sent", "warn"),
        NoticeState.UNDELIVERABLE: ("Could not be delivered", "bad"),
        NoticeState.REFUSED: ("Refused by a person", "bad"),
    },
    InboundStatus: {
        InboundStatus.RECEIVED: ("Received", "wait"),
        InboundStatus.ROUTED: ("Routed", "wait"),
        InboundStatus.WAITING: ("Waiting", "wait"),
        InboundStatus.RUNNING: ("Running", "wait"),
        InboundStatus.ANSWERED: ("Answered", "good"),
        InboundStatus.FAILED: ("Failed", "bad"),
    },
}


def state_words(state: str) -> tuple[str, str]:
    """What nobody gave words to reads as it is written."""
    said = _STATES_OF.get(type(state), STATES)
    return said.get(state, (str(state).replace("_", " ").capitalize(), "plain"))


def state_word(state: str) -> str:
    return state_words(state)[0]


def state_tone(state: str) -> str:
    return state_words(state)[1]


def figure(value: int | None, most: int = MOST_COUNTED) -> str:
    """A source that did not answer has no figure; it has not nothing. Above `most` nothing was counted."""
    if value is None:
        return _NOT_AVAILABLE
    return f"more than {most:,}" if value > most else f"{value:,}"


def _figure_short(value: int) -> str:
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


def _machine_time(value: int | str) -> str:
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


def day(value: int) -> str:
    return f"{to_datetime(value).astimezone(known_zone(_ZONE.get())):%-d %b}"


def ago(value: int | str, now_us: int) -> str:
    return relative(moment_us(value), now_us)


def _short_id(value: str) -> str:
    """The end differs from row to row; the beginning is the time."""
    return value[-8:]


def channel_word(name: str) -> str:
    """An account with a section to itself is called what its kind is called, any other as the household named it."""
    word = channel_kind(name).title if name in SHIPPED else name
    return word[:1].upper() + word[1:]


def plural(many: int, one: str, more: str = "") -> str:
    return one if many == 1 else more or f"{one}s"


# -- Markdown: as it will look, and its links apart from it, so that none can be followed unseen --


def formatted(text: str) -> Markup:
    """Headings are only bold here: a page has its own."""
    rich = parse(text).without(lambda span: span.style is SpanStyle.LINK)
    return Markup(html_of(rich, headings=False))  # noqa: S704  every character of it is escaped there


def shown_links(text: str) -> Sequence[ShownLink]:
    return links_in(parse(text))


# -- Text in pieces, so that a page can mark every character that does not look like what it is --


@dataclass(frozen=True, slots=True)
class Piece:
    """Plain text, or one character by its name; `text` is then empty unless it only looks like another letter."""

    text: str
    name: str = ""


def pieces(text: str) -> Sequence[Piece]:
    """What is invisible or turns the reading direction never reaches the page itself."""
    shown: list[Piece] = []
    last = 0
    for found in findings(text):
        if found.position > last:
            shown.append(Piece(text[last : found.position]))
        letter = found.character if found.kind is Hidden.LOOK_ALIKE else ""
        shown.append(Piece(letter, found.name))
        last = found.position + 1
    return [*shown, Piece(text[last:])] if last < len(text) else shown


# -- Links in messages that may be followed: only the web, and never to another place than is said --

_ADDRESS: Final = re.compile(r"https?://[^\s<>\"'`]+", re.IGNORECASE)
_ENDS: Final = ".,;:!?…*_~|"
_PAIRS: Final = {")": "(", "]": "[", "}": "{", "»": "«", "”": "“", "’": "‘"}
_NEVER: Final = re.compile(r"[\s\\<>\"'`^{}|]")
_HOST: Final = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.?")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_LONGEST: Final = 2_000
_MOST: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SafeLink:
    """`host` is where `href` really leads; strange when its letters are not those that a reader would take them for."""

    href: str
    host: str
    is_strange: bool

    @property
    def words(self) -> str:
        return f"{self.host}, a name in unusual letters" if self.is_strange else self.host


@dataclass(frozen=True, slots=True)
class TextPart:
    """A piece of a text; the pieces together are the text, character by character."""

    text: str
    link: SafeLink | None = None


def link_parts(text: str) -> Sequence[TextPart]:
    parts, last = list[TextPart](), 0
    for start, end, link in _found(text):
        parts += [TextPart(text[last:start]), TextPart(text[start:end], link)]
        last = end
    return [part for part in (*parts, TextPart(text[last:])) if part.text]


def safe_link(target: str) -> SafeLink | None:
    """None for what must not be followed from here: another scheme, a name before an @, hidden characters."""
    if len(target) > _LONGEST or _NEVER.search(target) or _hides(target):
        return None
    try:
        parts = urlsplit(target)
        host, port = _ascii_host(parts), parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or "@" in parts.netloc or not host:
        return None
    place = f"[{host}]" if ":" in host else host
    href = parts._replace(netloc=place if port is None else f"{place}:{port}").geturl()
    strange = host != (parts.hostname or "") or any(label.startswith("xn--") for label in host.split("."))
    return SafeLink(href=href, host=place, is_strange=strange)


def _found(text: str) -> Iterator[tuple[int, int, SafeLink]]:
    many = 0
    for match in _ADDRESS.finditer(text):
        written = _without_end(match[0][: _LONGEST + 1])
        link = safe_link(written) if len(match[0]) <= _LONGEST else None
        if link is not None and many < _MOST:
            many += 1
            yield match.start(), match.start() + len(written), link


def _without_end(written: str) -> str:
    """Without what belongs to the sentence around it: a full stop, or a bracket that was opened before."""
    while written:
        last = written[-1]
        opened = _PAIRS.get(last)
        closes = opened is not None and written.count(last) > written.count(opened)
        if last not in _ENDS and not closes:
            break
        written = written[:-1]
    return written


def _hides(target: str) -> bool:
    return any(one.kind is not Hidden.LOOK_ALIKE for one in findings(target))


def _ascii_host(parts: SplitResult) -> str | None:
    """As browsers and name servers are given it; raises ValueError for what is none."""
    host = parts.hostname or ""
    if ":" in host:
        return str(ipaddress.IPv6Address(host))
    plain = host if host.isascii() else host.encode("idna").decode("ascii").lower()
    if len(plain) > 253 or not _HOST.fullmatch(plain):
        return None
    last = plain.rstrip(".").rpartition(".")[2]
    return str(ipaddress.IPv4Address(plain)) if _NUMBER.fullmatch(last) else plain


# -- Every word of the templates --

FILTERS: Final[dict[str, Callable[..., Any]]] = {
    "state_word": state_word,
    "state_tone": state_tone,
    "figure": figure,
    "figure_short": _figure_short,
    "amount": amount,
    "percent": percent,
    "milliseconds": milliseconds,
    "machine_time": _machine_time,
    "full_time": full_time,
    "ago": ago,
    "day": day,
    "short_id": _short_id,
    "channel_word": channel_word,
    "known_as": known_as,
    "plural": plural,
    "duration": duration,
    "pieces": pieces,
    "revealed": reveal,
    "formatted": formatted,
    "shown_links": shown_links,
    "link_parts": link_parts,
    "safe_link": safe_link,
    "size_words": size_words,
    "is_picture": PICTURES.__contains__,
}
