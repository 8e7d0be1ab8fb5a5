"""Which addresses the words of a search stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tests.people.names.test_matching import ANN

from postroom.people.model import Person, PersonAddress
from postroom.people.names.resolve import Concerned

HOLDS = replace(
    ANN,
    addresses=(
        PersonAddress(channel="email", address="Lucja@Example.org"),
        PersonAddress(channel="telegram", address="4711", rank=2),
    ),
)


@dataclass
class Book:
    people: Sequence[Person]
    asked: list[str] = field(default_factory=list)

    async def listed(self, owner_agent: str, words: str, *, after: str | None, limit: int) -> Sequence[Person]:
        self.asked.append(words)
        return self.people[:limit]


async def test_a_name_stands_for_all_addresses_of_its_person() -> None:
    assert await Concerned(search=Book([HOLDS])).places("lucja") == ["email:lucja@example.org", "telegram:4711"]


async def test_words_inside_a_name_or_an_address_stand_for_nobody() -> None:
    assert await Concerned(search=Book([HOLDS])).places("art") == []
    assert await Concerned(search=Book([HOLDS])).places("4711") == []


async def test_without_words_nobody_is_looked_for() -> None:
    book = Book([HOLDS])

    assert await Concerned(search=book).people("  ") == []
    assert book.asked == []


async def test_a_name_of_very_many_people_stays_bounded() -> None:
    assert len(await Concerned(search=Book([HOLDS] * 500)).people("lucja")) == 20
