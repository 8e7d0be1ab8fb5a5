"""Words as a person sees them, for comparing what was typed with what stands on a card."""

from __future__ import annotations

import unicodedata
from typing import Final

_UNSEEN: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Mn"})


def visible(text: str) -> str:
    """Without what cannot be seen, in one case, with single spaces."""
    composed = unicodedata.normalize("NFC", text)
    spaced = " ".join(composed.split())
    return "".join(letter for letter in spaced if not _is_unseen(letter)).strip().casefold()


def _is_unseen(letter: str) -> bool:
    """Marks that could not be composed change what is seen; variation selectors do not."""
    category = unicodedata.category(letter)
    return category in _UNSEEN and (category != "Mn" or "\ufe00" <= letter <= "\ufe0f" or letter >= "\U000e0100")
