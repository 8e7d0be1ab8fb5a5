"""Ways in which people write the names of a book in many scripts: typos, other order, other alphabet."""

from __future__ import annotations

import json
import random
import unicodedata
from dataclasses import dataclass
from pathlib import Path

_DATA = json.loads(Path(__file__).with_name("names.json").read_text(encoding="utf-8"))
PEOPLE: list[dict[str, object]] = _DATA["people"]
NAMES: list[str] = [str(person["name"]) for person in PEOPLE]
UNKNOWN: list[str] = _DATA["unknown"]
AMBIGUOUS: list[dict[str, object]] = _DATA["ambiguous"]
_LATIN = list("abcdefghijklmnopqrstuvwxyz")

# Other people's real names, a letter or two away from somebody in the book.
NEAR_MISSES = [
    "Marta Rossi", "Marco Rossi", "Mara Rossi", "Anna Kovač", "Hanna Schmidt", "Anne Schmidt", "Rob Johnson",
    "Roberta Johnson", "Stefan Clark", "Stephan Clark", "Jonathan Reid", "Catherine Muller", "Karina Miller",
    "Christoph Lee", "Christopher Leo", "Alexandr Novák", "Alexandre Novak", "William Turney", "Sarah Conner",
    "Sara O'Connor", "Philip Stott", "Sean Murray", "Rebecca Storm", "José Garza", "Zoe Möller", "Lukas Wójcik",
    "Иван Петренко", "Ирина Петрова", "Дмитрий Кузнец", "Юлия Федотова", "李鸣", "王方", "张为", "Li Min", "Wang Fan",
    "Kim Minjung", "Park Jihoo", "Elena Nikolaou", "David Levin", "Amita Sharma",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Query:
    text: str
    meant: str
    how: str


def queries(seed: int = 7) -> list[Query]:
    dice, made = random.Random(seed), []
    for person in PEOPLE:
        made += _of(str(person["name"]), str(person["script"]), list(map(str, person["written"])), dice)  # type: ignore[call-overload]
    return made


def _of(name: str, script: str, written: list[str], dice: random.Random) -> list[Query]:
    letters = _LATIN if script == "Latn" else _alphabet(script)
    length = len([one for one in _graphemes(name) if one.strip()])
    made = [Query(name, name, "exact"), Query(f"  {name.upper()} ", name, "case and spaces")]
    if length >= 5:
        made += [Query(_slip(name, letters, dice), name, "one slip") for _ in range(2)]
    if length >= 9:
        made.append(Query(_slip(_slip(name, letters, dice), letters, dice), name, "two slips"))
    for other in written:
        made.append(Query(other, name, "written differently"))
        if len(other) >= 8:
            alphabet = _LATIN if other.isascii() else _alphabet("Cyrl")
            made.append(Query(_slip(other.lower(), alphabet, dice), name, "written differently, one slip"))
    words = name.split()
    if len(words) == 2:
        made.append(Query(f"{words[1]} {words[0]}", name, "other order"))
    return made


def _slip(text: str, letters: list[str], dice: random.Random) -> str:
    parts = _graphemes(text)
    places = [place for place, part in enumerate(parts) if part.strip()]
    place = dice.choice(places[1:] if len(places) > 2 else places)
    match dice.choice(["other", "missing", "extra", "swapped", "doubled"]):
        case "other":
            parts[place] = dice.choice([one for one in letters if one != parts[place]])
        case "missing":
            del parts[place]
        case "extra":
            parts.insert(place, dice.choice(letters))
        case "doubled":
            parts.insert(place, parts[place])
        case _ if parts[place - 1].strip():
            parts[place], parts[place - 1] = parts[place - 1], parts[place]
    return "".join(parts)


def _graphemes(text: str) -> list[str]:
    parts: list[str] = []
    for one in text:
        if parts and unicodedata.category(one) in ("Mn", "Mc", "Me"):
            parts[-1] += one
        else:
            parts.append(one)
    return parts


def _alphabet(script: str) -> list[str]:
    everything = "".join(str(person["name"]) for person in PEOPLE if person["script"] == script)
    return sorted({part for part in _graphemes(everything) if part.strip()})
