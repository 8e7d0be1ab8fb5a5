"""How alike two names are, and the names of one owner held ready for searching."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from rapidfuzz import fuzz, process
from rapidfuzz.distance import OSA

from postroom.people.model import (
    Entry,
    Keys,
    MatchType,
)

_PARTIAL: Final = 0.93  # the query names only a part of the alias
_ROTATED: Final = 0.01
_CROSS_SCRIPT: Final = 0.97
_WHOLE: Final = 0.999
_SHORT_CAP: Final = 0.5  # one letter of two is another name
_VOWELLESS: Final = frozenset({"ARABIC", "HEBREW", "THAI", "DEVANAGARI", "BENGALI", "TAMIL"})


@dataclass(frozen=True, slots=True)
class Match:
    score: float
    match_type: MatchType
    why: str


def match(query: Keys, alias: Keys) -> Match:
    return _exact(query, alias) or _alike(query, alias)


def _exact(query: Keys, alias: Keys) -> Match | None:
    if query.normal == alias.normal:
        return Match(1.0, MatchType.EXACT, "the same name")
    if query.folded == alias.folded:
        return Match(0.995, MatchType.EXACT, "the same name without accents")
    if sorted(query.folded.split()) == sorted(alias.folded.split()):
        return Match(0.985, MatchType.EXACT, "the same words in another order")
    return None


def _alike(query: Keys, alias: Keys) -> Match:
    same_script = query.script == alias.script
    latin: float | None = None
    best = Match(0.0, MatchType.SMART_FUZZY, "nothing alike")
    if same_script:
        score, coverage = similarity(query.folded, alias.folded)
        if (query.folded, alias.folded) == (query.latin, alias.latin):  # nearly everybody's: then it is known by now
            latin = score
        whole = coverage >= _WHOLE
        best = Match(
            score,
            MatchType.FUZZY if whole else MatchType.SMART_FUZZY,
            "written almost the same" if whole else "a part of the name",
        )
    if latin is None:
        latin, _ = similarity(query.latin, alias.latin)
    if not same_script and _CROSS_SCRIPT * latin > best.score:
        best = Match(_CROSS_SCRIPT * latin, MatchType.SMART_FUZZY, "the same name in another script")
    if latin > 0.3 or not same_script:
        sounds = _by_sound(query, alias, latin, same_script)
        if sounds > best.score:
            best = Match(sounds, MatchType.SMART_FUZZY, "sounds alike")
    return best


def _by_sound(query: Keys, alias: Keys, latin: float, same_script: bool) -> float:
    score, length = 0.0, 0
    for mine in query.skeletons:
        for other in alias.skeletons:
            if mine and other:
                found, _ = similarity(mine, other)
                shorter = min(len(mine.replace(" ", "")), len(other.replace(" ", "")))
                score, length = max((score, length), (found, shorter))
    if not score:
        return 0.0
    vowelless = not same_script and (query.script in _VOWELLESS or alias.script in _VOWELLESS)
    weight = 0.75 if vowelless else 0.5
    return _cap(length) * score * weight + latin * (1 - weight)


def _cap(length: int) -> float:
    """Few consonants prove little."""
    if length >= 5:
        return 0.95
    return {4: 0.9, 3: 0.84}.get(length, 0.6)


def similarity(query: str, alias: str) -> tuple[float, float]:
    """Score, and how much of the alias the query covers."""
    if query == alias:
        return 1.0, 1.0
    aligned, covered, used = _aligned(query.split(), alias.split())
    by_words = aligned * used * (_PARTIAL if covered < _WHOLE else 1.0)
    glued = _glued(query.split(), alias.replace(" ", ""))
    return (by_words, covered) if by_words >= glued else (glued, 1.0)


def _aligned(query: list[str], alias: list[str]) -> tuple[float, float, float]:
    """Best pairs of words first: how alike they are, and how much of either name they use."""
    if not query or not alias:
        return 0.0, 0.0, 0.0
    pairs = [
        (score, mine, other)
        for mine, word in enumerate(query)
        for other, name in enumerate(alias)
        if (score := _word_similarity(word, name)) >= 0.5
    ]
    mine_used: set[int] = set()
    other_used: set[int] = set()
    weight, total = 0, 0.0
    for score, mine, other in sorted(pairs, reverse=True):
        if mine in mine_used or other in other_used:
            continue
        mine_used.add(mine)
        other_used.add(other)
        length = max(len(query[mine]), len(alias[other]))
        total += score * length
        weight += length
    if not weight:
        return 0.0, 0.0, 0.0
    covered = sum(len(alias[place]) for place in other_used) / sum(map(len, alias))
    used = sum(len(query[place]) for place in mine_used) / sum(map(len, query))
    return total / weight, covered, used


def _word_similarity(mine: str, other: str) -> float:
    if mine == other:
        return 1.0
    score: float = OSA.normalized_similarity(mine, other)
    return min(score, _SHORT_CAP) if min(len(mine), len(other)) <= 2 else score


def _glued(words: list[str], alias: str) -> float:
    """Written as one word, beginning with any of them."""
    best = 0.0
    for start in range(len(words) if len(words) <= 3 else 1):
        text = "".join(words[start:] + words[:start])
        longest = max(len(text), len(alias))
        if not longest:
            continue
        score: float = OSA.normalized_similarity(text, alias)
        if longest <= 3 and score < 1:
            score = min(score, 0.6)
        best = max(best, score - (_ROTATED if start else 0.0))
    return best


# An index of three-letter pieces, for books too large to compare name by name.

_MOST_POSTINGS: Final = 120_000  # what one query may look at; rare pieces come first and say the most


class TrigramIndex:
    """Numbers in, numbers out; nothing is ever taken back, so the caller skips what is gone."""

    def __init__(self) -> None:
        self._postings: dict[str, array[int]] = {}

    def add(self, number: int, text: str) -> None:
        for piece in set(_pieces(text)):
            found = self._postings.get(piece)
            if found is None:
                self._postings[piece] = found = array("I")
            found.append(number)

    def nearest(self, text: str, limit: int) -> list[int]:
        """Those that share the most pieces with the text."""
        lists = sorted((found for piece in set(_pieces(text)) if (found := self._postings.get(piece))), key=len)
        counted: Counter[int] = Counter()
        looked_at = 0
        for found in lists:
            if counted and looked_at + len(found) > _MOST_POSTINGS:
                break
            looked_at += len(found)
            counted.update(found)
        return [number for number, _ in counted.most_common(limit)]


def _pieces(text: str) -> Iterable[str]:
    """Per word, with the start marked: a wrong letter late in a name leaves its beginning intact."""
    for word in text.split():
        marked = f"  {word} "
        for start in range(len(marked) - 2):
            yield marked[start : start + 3]


# One owner's names.

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
