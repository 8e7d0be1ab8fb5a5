"""What an edit takes away and what it adds, word by word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final, Literal

_WORDS: Final = re.compile(r"\s+|[^\s]+")


@dataclass(frozen=True, slots=True)
class Part:
    kind: Literal["same", "gone", "new"]
    text: str


def difference(before: str, after: str) -> Sequence[Part]:
    """Without the parts that are new it reads as before, without those that are gone as after."""
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    parts: list[Part] = []
    for _, old_from, old_to, new_from, new_to in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        gone, added = "".join(old[old_from:old_to]), "".join(new[new_from:new_to])
        if gone == added:
            parts.append(Part("same", gone))
            continue
        parts += [part for part in (Part("gone", gone), Part("new", added)) if part.text]
    return parts
