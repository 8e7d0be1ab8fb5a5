"""The links of a message that waits: what a person would read, where it leads, and whether the two disagree."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from postroom.domain.approval import Content
from postroom.domain.delivery import Format
from postroom.domain.markdown import parse
from postroom.domain.rich_text import RichText

_HOST: Final = re.compile(r"(?<![\w-])(?:[\w-]+\.)+[^\W\d_]{2,}(?![\w-])")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownLink:
    """`misleading`: the words name another host than the one it leads to, or the target hides its host."""

    label: str
    target: str
    host: str
    misleading: bool


def rendered(content: Content) -> RichText | None:
    """None when the message is shown to the letter."""
    return parse(content.message) if content.format is Format.MARKDOWN else None


def links_of(content: Content) -> tuple[ShownLink, ...]:
    rich = rendered(content)
    return links_in(rich) if rich else ()


def links_in(rich: RichText) -> tuple[ShownLink, ...]:
    return tuple(_link(rich.under(span), span.detail) for span in rich.links)


def _link(label: str, target: str) -> ShownLink:
    host, hidden = _host(target)
    named = [one.removeprefix("www.") for one in _HOST.findall(unicodedata.normalize("NFKC", label).casefold())]
    other = any(host != name and not host.endswith(f".{name}") for name in named)
    return ShownLink(label=label, target=target, host=host, misleading=hidden or other)


def _host(target: str) -> tuple[str, bool]:
    """Without www; and whether something before an @ pretends to be it."""
    parts = urlsplit(target)
    host = parts.hostname if parts.scheme in ("http", "https") else parts.path.rpartition("@")[2]
    return (host or "").casefold().removeprefix("www."), "@" in parts.netloc
