"""Make visible what a text hides: direction controls, invisible characters, letters of another script."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Hidden(StrEnum):
    BIDI = "bidi_control"
    INVISIBLE = "invisible"
    CONTROL = "control"
    LOOK_ALIKE = "look_alike"


@dataclass(frozen=True, slots=True)
class DeceptiveCharacter:
    """One character that does not look like what it is."""

    position: int
    kind: Hidden
    character: str

    @property
    def name(self) -> str:
        code = f"U+{ord(self.character):04X}"
        if "\U000e0020" <= self.character <= "\U000e007e":
            return f"{code} TAG {chr(ord(self.character) - 0xE0000)}"
        return f"{code} {unicodedata.name(self.character, '')}".rstrip()


_BIDI: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_JOINERS: Final = frozenset("\u200c\u200d")
_PRESENTATION: Final = frozenset("\ufe0e\ufe0f")
_BLANK: Final = frozenset("\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u2800\u3164\uffa0")
_SHOWN_CONTROLS: Final = frozenset("\n\t")
_PLAIN: Final = re.compile(r"[\t\n\x20-\x7e]*")
_WORD: Final = re.compile(r"[^\W\d_]+")
_COPIES: Final = ("MATHEMATICAL", "FULLWIDTH", "CIRCLED", "SQUARED", "PARENTHESIZED", "NEGATIVE")
_CONFUSABLE_SCRIPTS: Final = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"})
_LIKE_LATIN: Final = frozenset(
    "асеорхуіјѕһԁԛԝАВЕКМНОРСТУХІЈЅԌԚԜ"  # Cyrillic
    "ονρυικαΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"  # Greek
)
_SHORTEST_WORD: Final = 3  # one and two letters are ordinary words in Russian and Greek


def findings(text: str) -> tuple[DeceptiveCharacter, ...]:
    """In the order they stand in the text."""
    if _PLAIN.fullmatch(text):  # most texts; a long one would be looked at letter by letter for nothing
        return ()
    hidden = [
        DeceptiveCharacter(place, kind, text[place]) for place in range(len(text)) if (kind := _kind(text, place))
    ]
    return tuple(sorted([*hidden, *_look_alikes(text)], key=lambda found: found.position))


def reveal(text: str) -> str:
    """The text with every such character followed, or replaced, by its name."""
    shown, last = [], 0
    for found in findings(text):
        letter = found.character if found.kind is Hidden.LOOK_ALIKE else ""
        shown.append(f"{text[last : found.position]}{letter}⟦{found.name}⟧")
        last = found.position + 1
    return "".join([*shown, text[last:]])


def _kind(text: str, place: int) -> Hidden | None:
    character = text[place]
    if character in _BIDI:
        return Hidden.BIDI
    if character in _JOINERS or character in _PRESENTATION:
        return None if _joins_openly(text, place) else Hidden.INVISIBLE
    if character in _BLANK or _is_selector(character):
        return Hidden.INVISIBLE
    match unicodedata.category(character):
        case "Cc":
            return None if character in _SHOWN_CONTROLS else Hidden.CONTROL
        case "Cf" | "Co" | "Cn" | "Zl" | "Zp":
            return Hidden.INVISIBLE
        case _:
            return None


def _is_selector(character: str) -> bool:
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"


def _joins_openly(text: str, place: int) -> bool:
    """Inside an emoji or between letters of a script that needs joiners, they are part of what is seen."""
    before = text[place - 1] if place else ""
    after = text[place + 1] if place + 1 < len(text) else ""
    if text[place] in _PRESENTATION:
        return _is_pictograph(before) or (before != "" and before in "#*0123456789©®")
    if _is_pictograph(before) or before in _PRESENTATION:
        return text[place] == "\u200d" and _is_pictograph(after)
    return _needs_joiners(before) and _needs_joiners(after)


def _is_pictograph(character: str) -> bool:
    return character != "" and (
        unicodedata.category(character) == "So" or "\U0001f3fb" <= character <= "\U0001f3ff" or character in "‼⁉↔"
    )


def _needs_joiners(character: str) -> bool:
    """Arabic and the Indic scripts, where a joiner changes the shape of the letters around it."""
    return "\u0600" <= character <= "\u08ff" or "\u0900" <= character <= "\u0dff"


def _look_alikes(text: str) -> list[DeceptiveCharacter]:
    latin = _latin_text(text)
    found: list[DeceptiveCharacter] = []
    for word in _WORD.finditer(text):
        places = range(word.start(), word.end())
        found += [
            DeceptiveCharacter(place, Hidden.LOOK_ALIKE, text[place]) for place in _strangers(text, places, latin)
        ]
    return found


def _strangers(text: str, places: range, latin: bool) -> list[int]:
    """The letters of a word that do not belong to the others, or the whole word when it only pretends."""
    scripts = {place: _script(text[place]) for place in places}
    copies = [place for place, script in scripts.items() if script in _COPIES]
    present = {script for script in scripts.values() if script in _CONFUSABLE_SCRIPTS}
    if len(present) > 1:
        home = "LATIN" if "LATIN" in present else max(present, key=list(scripts.values()).count)
        return [place for place, script in scripts.items() if script in present and script != home] + copies
    pretends = latin and len(places) >= _SHORTEST_WORD and all(text[place] in _LIKE_LATIN for place in places)
    return list(places) if pretends else copies


def _latin_text(text: str) -> bool:
    letters = [character for character in text if character.isalpha()]
    return 2 * sum(_script(letter) == "LATIN" for letter in letters) > len(letters)


def _script(character: str) -> str:
    if character.isascii():
        return "LATIN"
    return unicodedata.name(character, "").partition(" ")[0]
