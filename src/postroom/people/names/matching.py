"""Whom the words of a search name, so that a list can be searched by person."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Protocol

from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.message.address import folded
from postroom.people.model import Keys, MatchType, Person, PersonAddress
from postroom.people.names.normalise import keys_of

_MOST_LOOKED_AT: Final = 100
_MOST_NAMED: Final = 20


class BookSearch(Protocol):
    async def listed(self, owner_agent: str, words: str, *, after: str | None, limit: int) -> Sequence[Person]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Concerned:
    search: BookSearch

    async def people(self, words: str) -> Sequence[Person]:
        """Of the household's people those who are called so; nobody for words that are no name."""
        if not words.strip():
            return []
        found = await self.search.listed(HOUSEHOLD_OWNER, words, after=None, limit=_MOST_LOOKED_AT)
        return [one for one in found if is_called(one, words)][:_MOST_NAMED]

    async def places(self, words: str) -> Sequence[str]:
        """Their addresses, as the ledger keeps whom a delivery is for."""
        people = await self.people(words)
        return [f"{one.channel}:{folded(one.address)}" for person in people for one in person.addresses]


# Whether words that were typed are a person's name, or the beginning of one of its words.


def is_called(person: Person, words: str) -> bool:
    """By any of their names, in whatever letters; from the beginning of a word, so that “art” is not Martin."""
    typed = keys_of(words)
    names = [keys_of(name) for name in (person.name, *person.aliases)]
    return any(_begins(name.folded, typed.folded) or _begins(name.latin, typed.latin) for name in names)


def _begins(name: str, typed: str) -> bool:
    return typed != "" and f" {typed}" in f" {name}"


# A few characters of an address: enough to tell two people of one name apart.


def hint_of(person: Person) -> str:
    return ", ".join(_masked(one) for one in person.addresses) or person.agent_address


def _masked(place: PersonAddress) -> str:
    """Of a mailbox the domain says most, of any other address its end."""
    name, at, domain = place.address.partition("@")
    if name and at:
        return f"{name[:1]}…@{domain}"
    return f"{place.channel.capitalize()} …{place.address[-2:]}"


# How alike two names are, and by which kind of likeness.


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


@cache
def _similarity() -> Callable[[str, str], float]:
    """Loaded for the first name that is looked for."""
    from rapidfuzz.distance import OSA

    return OSA.normalized_similarity


def _word_similarity(mine: str, other: str) -> float:
    if mine == other:
        return 1.0
    score: float = _similarity()(mine, other)
    return min(score, _SHORT_CAP) if min(len(mine), len(other)) <= 2 else score


def _glued(words: list[str], alias: str) -> float:
    """Written as one word, beginning with any of them."""
    best = 0.0
    for start in range(len(words) if len(words) <= 3 else 1):
        text = "".join(words[start:] + words[:start])
        longest = max(len(text), len(alias))
        if not longest:
            continue
        score: float = _similarity()(text, alias)
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
