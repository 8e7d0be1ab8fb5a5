"""Texts of every kind that people and models write, those that try to be more than text among them."""

from __future__ import annotations

from typing import Final

from hypothesis import strategies

MENTIONS: Final = (
    "@everyone",
    "@here",
    "@channel",
    "@ada",
    "<@U024BE7LH>",
    "<@!80351110224678912>",
    "<@&165511591545143296>",
    "<#C024BE7LR>",
    "<!channel>",
    "<!here|here>",
    "<!subteam^SAZ94GDB8>",
    "[ada](tg://user?id=123456789)",
    '<a href="tg://user?id=1">ada</a>',
)
MARKUP: Final = (
    "*bold*",
    "**bold**",
    "_slanted_",
    "`code`",
    "```\ncode\n```",
    "~struck~",
    "||hidden||",
    "> quoted",
    "# heading",
    "[click](https://evil.example/)",
    "<https://evil.example/|your bank>",
    "<b>bold</b>",
    "<script>alert(1)</script>",
    "&lt;b&gt;",
    "&amp;",
    "{{name}}",
    "${HOME}",
    "%s %(secret)s",
    "\\*",
    "\r\nBcc: eve@example.org",
    "\r\n.\r\n",
    ".",
    "\u202e",
    "👩‍👩‍👧‍👦",
    "é",
    "🏳️‍🌈",
)
_CHARACTERS: Final = strategies.characters(exclude_categories=("Cs", "Cc", "Cn", "Co"), exclude_characters="\ufeff")
_WORDS: Final = strategies.one_of(
    strategies.sampled_from([*MENTIONS, *MARKUP]), strategies.text(_CHARACTERS, min_size=1, max_size=12)
)
_GAPS: Final = strategies.sampled_from([" ", "", "\n", "\n\n", "\t"])


def short_texts() -> strategies.SearchStrategy[str]:
    pieces = strategies.lists(strategies.tuples(_WORDS, _GAPS), min_size=1, max_size=12)
    return pieces.map(_joined).filter(_has_ink)


def long_texts(characters: int) -> strategies.SearchStrategy[str]:
    """About so many: short ones over and over."""
    lengths = strategies.integers(min_value=1, max_value=characters)
    return strategies.tuples(short_texts(), lengths).map(_stretched).filter(_has_ink)


def _joined(pieces: list[tuple[str, str]]) -> str:
    return "".join(word + gap for word, gap in pieces)


def _stretched(given: tuple[str, int]) -> str:
    text, length = given
    return (text * (length // len(text) + 1))[:length]


def _has_ink(text: str) -> bool:
    return bool(text.strip())
