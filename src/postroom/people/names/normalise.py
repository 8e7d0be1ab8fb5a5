"""Writes of one name in any script, brought to forms that can be compared."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

from anyascii import anyascii

from postroom.people.model import Keys, Person

_APOSTROPHES: Final = frozenset("'’ʼ`´‘")
_SPACES: Final = re.compile(r"\s+")
_SEPARATING: Final = frozenset("PSCZ")

# Marks a writer may leave out: Latin, Greek and Cyrillic accents, niqqud, harakat. Vowel signs of
# Indic and Thai scripts are marks too, and stay: without them the names would be other names.
_OPTIONAL_MARKS: Final = (
    (0x0000, 0x036F),
    (0x0483, 0x0487),
    (0x0591, 0x05C7),
    (0x0610, 0x061A),
    (0x064B, 0x065F),
    (0x0670, 0x0670),
    (0x1AB0, 0x1AFF),
)
_SAME_LETTER: Final = str.maketrans(
    {
        "ς": "σ",
        "ى": "ي",
        "ة": "ه",
        "ß": "ss",
        "ł": "l",
        "ø": "o",
        "đ": "d",
        "ı": "i",
        "þ": "th",
        "æ": "ae",
        "œ": "oe",
    }
)
_KOREAN_SURNAMES: Final = {
    "gim": "kim",
    "i": "lee",
    "bak": "park",
    "choe": "choi",
    "jeong": "jung",
    "gang": "kang",
    "jo": "cho",
    "yun": "yoon",
    "im": "lim",
    "o": "oh",
    "ryu": "yoo",
    "yu": "yoo",
    "seo": "suh",
    "no": "roh",
    "u": "woo",
    "gu": "koo",
}
_SYLLABLE_START: Final = re.compile(r"(?<=[A-Za-z])(?=[A-Z])")
_NOT_LATIN: Final = re.compile(r"[^a-z0-9 ]")

_DIGRAPHS: Final = tuple(
    (re.compile(pattern), letters)
    for pattern, letters in (
        ("shch|sch|tch", "s"),
        ("kh", "h"),
        ("gh", "g"),
        ("ph", "f"),
        ("th", "t"),
        ("dh", "d"),
        ("zh|dj|dzh", "j"),
        ("sh", "s"),
        ("ch(?=[rl])", "h"),
        ("ch", "s"),
        ("ts|tz", "s"),
        ("ck|q|c(?![eiyh])", "k"),
        ("x", "ks"),
        ("bh", "b"),
        ("oo", "u"),
        ("ee", "i"),
    )
)
_VOWELS: Final = re.compile(r"[aeiouyh]")
_SOUND_GROUPS: Final = str.maketrans("bpvfdtgkcszjmnlr", "bbbbddggssssmnlr")
_DOUBLED: Final = re.compile(r"(.)\1+")


def keys_of(text: str) -> Keys:
    normal = normalise(text)
    folded = fold(normal)
    latin = romanise(normal)
    return Keys(normal, folded, latin, skeletons(latin), script_of(folded))


def normalise(text: str) -> str:
    """Compatibility forms and case folded; punctuation out by category, since \\w would break Indic names."""
    kept = []
    for character in unicodedata.normalize("NFKC", text).casefold():
        if character in _APOSTROPHES:
            continue
        kept.append(" " if unicodedata.category(character)[0] in _SEPARATING else character)
    return _SPACES.sub(" ", "".join(kept)).strip()


def has_alias(person: Person, alias: str) -> bool:
    wanted = normalise(alias)
    return any(normalise(name) == wanted for name in (person.name, *person.aliases))


def fold(normal: str) -> str:
    bare = "".join(one for one in unicodedata.normalize("NFD", normal) if not _is_optional(one))
    return unicodedata.normalize("NFC", bare).translate(_SAME_LETTER)


def _is_optional(character: str) -> bool:
    if unicodedata.category(character) != "Mn":
        return False
    return any(first <= ord(character) <= last for first, last in _OPTIONAL_MARKS)


def romanise(normal: str) -> str:
    composed = unicodedata.normalize("NFC", normal)
    hangul = any("\uac00" <= one <= "\ud7a3" for one in composed)
    han = any("\u4e00" <= one <= "\u9fff" for one in composed)
    latin = anyascii(composed)
    if hangul or han:  # a capital begins each syllable
        latin = _SYLLABLE_START.sub(" ", latin)
    words = _NOT_LATIN.sub("", latin.lower()).split()
    if hangul and words:
        words[0] = _KOREAN_SURNAMES.get(words[0], words[0])
    if (hangul or han) and len(words) > 1:  # surname, then the given name as one word
        words = [words[0], "".join(words[1:])]
    return " ".join(words)


@lru_cache(maxsize=50_000)
def skeletons(latin: str) -> tuple[str, ...]:
    """What is left when vowels go and alike sounds merge; spelling habits differ, so there are up to four."""
    words = latin.split()
    found = {" ".join(_skeleton(word, digraphs, w) for word in words) for digraphs in (True, False) for w in ("v", "")}
    return tuple(sorted(found))


def _skeleton(word: str, digraphs: bool, w: str) -> str:
    if digraphs:
        for pattern, letters in _DIGRAPHS:
            word = pattern.sub(letters, word)
    word = word.replace("w", w).replace("q", "k").replace("x", "ks")
    return _DOUBLED.sub(r"\1", _VOWELS.sub("", word).translate(_SOUND_GROUPS))


def script_of(text: str) -> str:
    for character in text:
        if character.isalpha():
            return unicodedata.name(character, "?").split()[0]
    return "?"
