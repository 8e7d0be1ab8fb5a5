"""A text so that Discord shows exactly that: nothing in it is markup, and no part of it is too long."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from postroom.domain.delivery import REPEAT_MARK
from postroom.world.channels.telegram_text import cut, marked, split, utf16_length

TEXT_LIMIT: Final = 2000  # "characters" to Discord; two units for some of them is the careful count
_ALWAYS_FITS: Final = TEXT_LIMIT // 2  # a backslash before every single character
_STEP: Final = 50

# To Discord a link goes on until white space or "<", whatever stands in it, and a backslash there is a part of it:
# so links stay as they are, and one that runs into a "<" is ended by a space before the backslash.
_MARKUP = re.compile(
    r"""
      (?P<link> (?: https? | steam ) :// [^\s<\ufeff]* [^\s<\ufeff.,:;"'\]] [.,:;"'\]]* ) (?P<glued> (?=<) )?
    | (?: ^ | (?<=[\r\u2028\u2029]) ) (?P<indent> [^\S\n]* ) (?:
          (?P<digits> [0-9]+ ) (?P<dot> [.)] )        # a list with numbers, which Discord would count anew
        | (?P<bullet> [>\#+-] )                       # a quote, a heading, a list, small print
      )
    | (?P<mark> [\\*_~|`<\[@] | :(?=[\w+~-]+:) )      # styles, spoilers, code, links, mentions, emoji by name
    """,
    re.VERBOSE | re.MULTILINE,
)


def escaped(text: str) -> str:
    return _MARKUP.sub(_escape, text)


def shown_parts(text: str, *, repeated: bool = False) -> list[str]:
    """In order; only white space at a cut is left out."""
    parts = [escaped(part) for part in _fitting(text, TEXT_LIMIT)]
    return marked(parts, REPEAT_MARK, TEXT_LIMIT) if repeated else parts


def shown_beginning(text: str) -> str:
    """As much as fits into one message."""
    tries = (escaped(cut(text, room)) for room in range(TEXT_LIMIT, _ALWAYS_FITS, -_STEP))
    return next(filter(_fits, tries), escaped(cut(text, _ALWAYS_FITS)))


def _fitting(text: str, room: int) -> Iterator[str]:
    """Pieces that fit once they are escaped; only a piece that does not is cut further."""
    for part in split(text, room):
        if _fits(escaped(part)):
            yield part
        else:
            yield from _fitting(part, max(room * 3 // 4, _ALWAYS_FITS))


def _fits(text: str) -> bool:
    return utf16_length(text) <= TEXT_LIMIT


def _escape(found: re.Match[str]) -> str:
    if found["link"]:
        return found["link"] + " " * (found["glued"] is not None)
    if found["mark"]:
        return f"\\{found['mark']}"
    return f"{found['indent']}{found['digits'] or ''}\\{found['dot'] or found['bullet']}"
