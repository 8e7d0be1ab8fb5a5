"""What a run of the scenario said, moment by moment, without what differs from one run to the next."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from scripts.pictures.scenario import TASK, Moment

_DIFFERS = (
    (r" on \S+ wants", " on HOST wants"),
    (r"in /\S+/shop", "in FOLDER/shop"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "TIME"),
    (r"(\d\d \w{3}, )?\d\d:\d\d UTC", "TIME"),
)
_PASSING = re.compile(
    r"[^\w❯●⎿>…] ?\w+(…| for )|❯$|─+$|.*(esc to interrupt|for shortcuts|/effort)|Esc to cancel|… \+|\.+$"
)


def told(moments: Sequence[Moment], screen: Callable[[bytes], list[str]]) -> list[dict[str, object]]:
    """`screen` says what a terminal shows after these bytes."""
    return [
        {"name": one.name, "terminal": terminal_words(screen(one.drawn)), "phone": phone_words(one.says)}
        for one in moments
    ]


def terminal_words(lines: Sequence[str]) -> list[str]:
    """Below the program's own head: what was asked and what came of it, without the sign of work and the input line."""
    words = [line.strip() for line in lines]
    begin = next((at for at, line in enumerate(words) if line == f"❯ {TASK}"), 0)
    return [line for line in words[begin:] if line and not _PASSING.match(line)]


def phone_words(says: str) -> list[str]:
    """The card and its buttons; below them are the sandbox's own, for playing the person."""
    text = says
    for pattern, name in _DIFFERS:
        text = re.sub(pattern, name, text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[: next((at for at, line in enumerate(lines) if line.startswith("TIME")), len(lines))]
