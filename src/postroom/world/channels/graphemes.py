"""Where a text may be cut without tearing apart what a person sees as one character."""

from __future__ import annotations

import unicodedata

_ZERO_WIDTH_NON_JOINER = "\u200c"
_ZERO_WIDTH_JOINER = "\u200d"
_ATTACHING_RANGES = (
    (0x1160, 0x11FF),  # Hangul vowels and finals
    (0xD7B0, 0xD7FB),
    (0xFF9E, 0xFF9F),  # half-width voicing marks
    (0x1F3FB, 0x1F3FF),  # skin tones
    (0xE0020, 0xE007F),  # tags that spell out subdivision flags
)


def attaches(character: str) -> bool:
    """Whether the character belongs to the one before it."""
    if character in (_ZERO_WIDTH_JOINER, _ZERO_WIDTH_NON_JOINER):
        return True
    if unicodedata.category(character).startswith("M"):
        return True
    return any(first <= ord(character) <= last for first, last in _ATTACHING_RANGES)


def is_boundary(text: str, index: int) -> bool:
    if index <= 0 or index >= len(text):
        return True
    before, after = text[index - 1], text[index]
    if before in "\r\n":
        return (before, after) != ("\r", "\n")
    if attaches(after) or (before == _ZERO_WIDTH_JOINER and not after.isspace()):
        return False
    return not (_is_flag_half(before) and _is_flag_half(after) and _flag_halves_before(text, index) % 2)


def is_single(text: str) -> bool:
    """Whether the text is exactly one visible character."""
    return bool(text) and not any(is_boundary(text, index) for index in range(1, len(text)))


def is_emoji(text: str) -> bool:
    """One symbol; which of them may be reactions is the provider's to say, but letters and controls never are."""
    return is_single(text) and text[0].isprintable() and not text[0].isascii() and not text[0].isalnum()


def _is_flag_half(character: str) -> bool:
    return 0x1F1E6 <= ord(character) <= 0x1F1FF


def _flag_halves_before(text: str, index: int) -> int:
    start = index
    while start and _is_flag_half(text[start - 1]):
        start -= 1
    return index - start
