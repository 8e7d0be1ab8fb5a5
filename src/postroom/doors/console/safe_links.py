"""Links in messages that may be followed from a page: only the web, and never to another place than is said."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, urlsplit

from postroom.work.approvals.visible import Hidden, findings

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
