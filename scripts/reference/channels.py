"""What each kind of channel can and cannot do, as a table for people, from the capabilities it declares."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from scripts.reference.markdown import table

from postroom.message.channel import Capabilities
from postroom.settings.accounts import ChannelKind, shipped_kinds

MARKED: Final[Mapping[str, str]] = MappingProxyType({"README.md": "docs/how-to/", "docs/how-to/channels.md": ""})
"""The pages that have the table, and how each names a how-to page."""
BEGIN: Final = "<!-- channels: written by scripts/generate-reference.py from the capabilities -->"
END: Final = "<!-- end of channels -->"

_HEADER: Final = (
    *("channel", "send", "reply", "react", "edit", "questions", "hears answers"),
    *("when an answer of the provider is lost", "receipt", "one message holds", "files"),
)
_SHORT: Final = frozenset({"channel", "edit", "questions", "hears answers", _HEADER[7], "files"})
"""What README shows of it."""
_BETWEEN: Final = re.compile(f"{re.escape(BEGIN)}\n.*?{re.escape(END)}", re.DOTALL)


def channels_table(links: str, *, short: bool = False) -> str:
    shown = [place for place, name in enumerate(_HEADER) if not short or name in _SHORT]
    rows = [_HEADER, *(_row(kind, links) for kind in shipped_kinds().values())]
    header, *others = ([row[place] for place in shown] for row in rows)
    return table(header, others)


def with_table(text: str, links: str, *, short: bool = False) -> str:
    """The page with the table as it is now; a page without the marks is a mistake."""
    found = _BETWEEN.findall(text)
    if len(found) != 1:
        raise ValueError(f"the page needs one table between {BEGIN} and {END}, and has {len(found)}")
    return text.replace(found[0], f"{BEGIN}\n{channels_table(links, short=short)}\n{END}")


def _row(kind: ChannelKind, links: str) -> list[str]:
    can = kind.capabilities
    abilities = (can.replies, can.reacts, can.edits)
    return [
        f"[{kind.title}]({links}{kind.guide})",
        "yes",
        *(_said(one) for one in abilities),
        _questions(can),
        _hears(can),
        _lost_answer(can),
        _said(can.receipt),
        _length(can),
        _files(can),
    ]


def _said(is_so: bool) -> str:
    return "yes" if is_so else "no"


def _questions(can: Capabilities) -> str:
    if not can.buttons:
        return "links"
    return "buttons" if can.most_buttons is None else f"up to {can.most_buttons} buttons"


def _hears(can: Capabilities) -> str:
    return "presses" if can.own_app and not can.inbound else _said(can.inbound)


def _lost_answer(can: Capabilities) -> str:
    """In the order the ledger tries them."""
    if can.reconciles:
        return "is asked first"
    if can.dedupes_for_seconds:
        return f"drops copies for {_span(can.dedupes_for_seconds)}"
    return "a second copy is marked"


def _span(seconds: float) -> str:
    for size, word in ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")):
        if seconds >= size:
            many = int(seconds // size)
            return f"{many} {word}{'' if many == 1 else 's'}"
    return f"{seconds} seconds"


def _length(can: Capabilities) -> str:
    if can.max_units is None:
        return "any text"
    return f"{can.max_units:,} {'bytes' if can.unit == 'bytes' else 'characters'}"


def _files(can: Capabilities) -> str:
    if not can.files:
        return "no"
    limits = ((can.most_file_bytes, "each"), (can.most_files_bytes, "together"))
    return ", ".join(f"{_size(most)} {word}" for most, word in limits if most is not None) or "any size"


def _size(size: int) -> str:
    for unit, word in ((1_048_576, "MiB"), (1_000_000, "MB"), (1_024, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {word}"
    return f"{size:,} bytes"
