"""How alike two names are, and by which kind of likeness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rapidfuzz.distance import OSA

from postroom.domain.contact import MatchType
from postroom.domain.contact_book import Keys

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
