"""Bring a file of contacts into the household's book, without a running household."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from postroom.app.store import open_store
from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.settings_error import SettingsError
from postroom.system.clock import SystemClock
from postroom.system.settings import Settings
from postroom.work.people.import_cards import ImportedCards, read_csv, read_vcards

_AT_ONCE = 200
_MOST_BYTES = 200_000_000
_KINDS = {".vcf": "vcard", ".vcard": "vcard", ".csv": "csv"}
_READERS: dict[str, Callable[[str], ImportedCards]] = {"vcard": read_vcards, "csv": read_csv}


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    created: int
    updated: int
    skipped: tuple[tuple[int, str], ...]


async def import_contacts(settings: Settings, file: Path, show: Callable[[int, int], None]) -> Imported:
    """The same file twice changes nothing: cards find the contacts they became."""
    cards = _read(file)
    created = updated = 0
    async with open_store(settings) as store:
        book = store.people
        for start in range(0, len(cards.read), _AT_ONCE):
            some, now_us = cards.read[start : start + _AT_ONCE], SystemClock().now_us()
            more = await book.merge(HOUSEHOLD_OWNER, some, source="import", now_us=now_us)
            created, updated = created + more[0], updated + more[1]
            show(start + len(some), len(cards.read))
    return Imported(created=created, updated=updated, skipped=tuple(cards.skipped))


def _read(file: Path) -> ImportedCards:
    return _READERS[format_of(file)](text_of(file))


def format_of(file: Path) -> str:
    kind = _KINDS.get(file.suffix.lower())
    if kind is None:
        raise SettingsError(
            f"{file}: is neither a vCard (.vcf) nor a table (.csv), by its name; name a file of either kind."
        )
    return kind


def text_of(file: Path) -> str:
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise SettingsError(
                f"{file}: is larger than {_MOST_BYTES // 1_000_000} MB; name smaller files, one after the other."
            )
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"{file}: cannot be read ({type(error).__name__}); name a file in UTF-8 that you may read."
        ) from None
