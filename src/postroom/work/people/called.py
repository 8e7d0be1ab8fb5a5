"""Whether words that were typed are a person's name, or the beginning of one of its words."""

from __future__ import annotations

from postroom.domain.person import Person
from postroom.work.people.normalise import keys_of


def is_called(person: Person, words: str) -> bool:
    """By any of their names, in whatever letters; from the beginning of a word, so that “art” is not Martin."""
    typed = keys_of(words)
    names = [keys_of(name) for name in (person.name, *person.aliases)]
    return any(_begins(name.folded, typed.folded) or _begins(name.latin, typed.latin) for name in names)


def _begins(name: str, typed: str) -> bool:
    return typed != "" and f" {typed}" in f" {name}"
