"""Many contacts at once, from a file another program wrote, with progress to look at."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from starlette.responses import Response

from postroom.domain.errors import Refused, StoreUnavailable
from postroom.domain.person import NewPerson
from postroom.doors.console.bulk import Bulk
from postroom.doors.console.contacts_page import book_of, has_book
from postroom.doors.console.visit import ConsolePage, Visit
from postroom.work.people.import_cards import ImportedCards, read_csv, read_vcards

_AT_ONCE: Final = 100


class Merging(Protocol):
    async def merge(
        self, owner_agent: str, cards: Sequence[NewPerson], *, source: str, now_us: int
    ) -> tuple[int, int]: ...


@dataclass(slots=True)
class _Found:
    """What the cards have come to so far."""

    skipped: Sequence[tuple[int, str]]
    created: int = 0
    updated: int = 0
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)  # two cards of one person must not miss each other


class ImportPages:
    def __init__(self, people: Merging, bulk: Bulk) -> None:
        self._people = people
        self._bulk = bulk
        self._found: dict[str, _Found] = {}

    async def blank(self, visit: Visit) -> Response:
        return visit.show("contacts_import.html", work=None, found=None, complaint="", text="")

    async def begin(self, visit: Visit) -> Response:
        text = visit.form.get("cards")
        try:
            cards = _cards(text)
        except Refused as error:
            return visit.show(
                "contacts_import.html", status=422, work=None, found=None, complaint=error.message, text=text
            )
        found = _Found(cards.skipped)
        book, now_us, slices = book_of(visit.principal), visit.now_us, _slices(cards.read)

        async def step(name: str) -> str | None:
            try:
                async with found.turn:
                    created, updated = await self._people.merge(book, slices[name], source="import", now_us=now_us)
            except (Refused, StoreUnavailable) as error:
                return error.message
            found.created, found.updated = found.created + created, found.updated + updated
            return None

        work = self._bulk.begin("Importing", visit.principal, list(slices), step)
        self._found = {one: kept for one, kept in self._found.items() if self._bulk.remembers(one)}
        self._found[work.id] = found
        return visit.go(f"/people/import/{work.id}")

    async def progress(self, visit: Visit) -> Response:
        work = self._bulk.find(visit.path["id"], visit.principal)
        found = self._found.get(visit.path["id"])
        if work is None or found is None:
            return visit.go("/people", "That import is not known any more; what it added is here.", "bad")
        return visit.show("contacts_import.html", work=work, found=found, complaint="", text="")


def import_pages(pages: ImportPages) -> Sequence[ConsolePage]:
    return (
        ConsolePage("/people/import", pages.blank, open_to=has_book),
        ConsolePage("/people/import", pages.begin, "POST", open_to=has_book),
        ConsolePage("/people/import/{id}", pages.progress, open_to=has_book),
    )


def _cards(text: str) -> ImportedCards:
    return read_vcards(text) if "BEGIN:VCARD" in text.upper() else read_csv(text)


def _slices(cards: Sequence[NewPerson]) -> dict[str, Sequence[NewPerson]]:
    """By the numbers of the cards in them, as a person would call them."""
    return {
        f"contacts {start + 1} to {min(start + _AT_ONCE, len(cards))}": cards[start : start + _AT_ONCE]
        for start in range(0, len(cards), _AT_ONCE)
    }
