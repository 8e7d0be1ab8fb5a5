"""The valid name that somebody who mistyped one probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str, known: Iterable[str]) -> str | None:
    by_form = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), by_form, n=1, cutoff=0.5)
    return by_form[close[0]] if close else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """How a sentence about an unknown name ends."""
    found = nearest(word, known)
    return f", did you mean '{found}'?" if found else "."
