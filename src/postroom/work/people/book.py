"""One owner's names, held ready for searching."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from rapidfuzz import fuzz, process

from postroom.domain.contact_book import Entry, Keys
from postroom.work.people.matching import Match, match
from postroom.work.people.trigrams import TrigramIndex

_COMPARED_AT_MOST: Final = 4_000  # beyond this the index chooses whom to compare
_FROM_INDEX: Final = 60
_SHARES: Final = (40, 40, 20)  # by sound of letters, by consonants, as written
_WORTH_SHOWING: Final = 0.45


@dataclass(frozen=True, slots=True)
class FoundEntry:
    entry: Entry
    match: Match


class Book:
    """Entries come and go one by one; an entry never changes."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._entries: dict[int, Entry] = {}
        self._numbers: dict[str, int] = {}
        self._by_form: dict[str, set[int]] = {}
        self._latin: dict[int, str] = {}
        self._bones: dict[int, str] = {}  # these two with their words in order, as they are compared
        self._folded: dict[int, str] = {}
        self._index = TrigramIndex()
        self._next = 0
        for entry in entries:
            self.add(entry)

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def ids(self) -> set[str]:
        return set(self._numbers)

    def add(self, entry: Entry) -> None:
        number, keys = self._next, entry.keys
        self._next += 1
        self._entries[number] = entry
        self._numbers[entry.id] = number
        for form in _forms(keys):
            self._by_form.setdefault(form, set()).add(number)
        self._latin[number] = keys.latin
        bones = _bones(keys)
        self._bones[number] = _in_order(bones)
        self._folded[number] = _in_order(keys.folded)
        self._index.add(number, f"{keys.latin} {bones}")

    def remove(self, entry_id: str) -> None:
        number = self._numbers.pop(entry_id)
        entry = self._entries.pop(number)
        for form in _forms(entry.keys):
            self._by_form[form].discard(number)
        for column in (self._latin, self._bones, self._folded):
            del column[number]

    def search(self, query: Keys) -> list[FoundEntry]:
        """The best match of each contact, best first."""
        best: dict[str, FoundEntry] = {}
        for number in self._worth_comparing(query):
            entry = self._entries[number]
            found = match(query, entry.keys)
            known = best.get(entry.contact_id)
            if found.score >= _WORTH_SHOWING and (known is None or found.score > known.match.score):
                best[entry.contact_id] = FoundEntry(entry, found)
        return sorted(best.values(), key=lambda one: (-one.match.score, one.entry.contact_id))

    def _worth_comparing(self, query: Keys) -> set[int]:
        exact = {number for form in _forms(query) for number in self._by_form.get(form, ())}
        if len(self._entries) > _COMPARED_AT_MOST:
            return exact | self._from_index(query)
        return exact | self._from_comparison(query)

    def _from_index(self, query: Keys) -> set[int]:
        nearest = self._index.nearest(f"{query.latin} {_bones(query)}", 2 * _FROM_INDEX)
        return set([number for number in nearest if number in self._entries][:_FROM_INDEX])

    def _from_comparison(self, query: Keys) -> set[int]:
        bones, folded = _in_order(_bones(query)), _in_order(query.folded)
        by_letters, by_bones, as_written = _SHARES
        found = process.extract(query.latin, self._latin, scorer=fuzz.WRatio, limit=by_letters)
        found += process.extract(bones, self._bones, scorer=fuzz.ratio, limit=by_bones)
        found += process.extract(folded, self._folded, scorer=fuzz.ratio, limit=as_written)
        return {number for _, _, number in found}


def _bones(keys: Keys) -> str:
    return keys.skeletons[0] if keys.skeletons else ""


def _in_order(text: str) -> str:
    """So that the order of the words does not count, whichever name they are compared with."""
    return " ".join(sorted(text.split()))


def _forms(keys: Keys) -> set[str]:
    """Whatever makes two names exactly the same; a name of one character has these too."""
    return {keys.normal, keys.folded, _in_order(keys.folded)}
