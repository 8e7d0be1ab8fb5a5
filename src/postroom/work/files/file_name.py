"""A file's name as it may be shown and sent: one line, no path, nothing that turns it around."""

from __future__ import annotations

import unicodedata
from typing import Final

MAX_NAME_BYTES: Final = 150
NAMELESS: Final = "file"
_SEPARATORS: Final = ("/", "\\")
_REFUSED: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_NOT_IN_NAMES: Final = frozenset('<>:"|?*')  # some systems cannot store them, and headers need no quotes


def clean_name(given: str) -> str:
    """
    The last part of a path, without control, format or direction characters.

    What comes after the last dot stays the last thing that is shown, so `report.pdf.exe` is seen to be one.
    """
    for separator in _SEPARATORS:
        given = given.rpartition(separator)[2]
    kept = "".join(_kept(character) for character in unicodedata.normalize("NFC", given))
    return _short(" ".join(kept.split()).strip(". ")) or NAMELESS


def extension(name: str) -> str:
    """In small letters, without its dot; empty when there is none."""
    stem, dot, last = name.rpartition(".")
    return last.lower() if stem and dot else ""


def _kept(character: str) -> str:
    if character.isspace():
        return " "
    if unicodedata.category(character) in _REFUSED:
        return ""
    return "_" if character in _NOT_IN_NAMES else character


def _short(name: str) -> str:
    """From the end of its stem, so that the extension stays."""
    if len(name.encode()) <= MAX_NAME_BYTES:
        return name
    last = extension(name)
    ending = f".{last}" if last and len(last.encode()) <= 20 else ""
    stem = name[: len(name) - len(ending)] if ending else name
    return stem.encode()[: MAX_NAME_BYTES - len(ending.encode())].decode(errors="ignore").rstrip(". ") + ending
