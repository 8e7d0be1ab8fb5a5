"""Cards of a file join the contacts they belong to, or become contacts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlalchemy import Connection, select

from postroom.domain.address_folding import folded
from postroom.domain.person import NewPerson, Person
from postroom.world.store.people.people_rows import read_people, searchable, with_address
from postroom.world.store.people.person_writer import PersonWriter
from postroom.world.store.tables.contacts import contact_aliases


class CardMerger:
    def __init__(self, writer: PersonWriter) -> None:
        self._writer = writer

    def merging(
        self, owner_agent: str, cards: Sequence[NewPerson], source: str, now_us: int
    ) -> Callable[[Connection], tuple[int, int]]:
        ids = [self._writer.mint(now_us) for _ in cards]

        def work(connection: Connection) -> tuple[int, int]:
            created = updated = 0
            for person_id, card in zip(ids, cards, strict=True):
                known = self._same_person(connection, owner_agent, card)
                if known is None:
                    self._writer.insert(connection, owner_agent, person_id, card, source, now_us)
                    created += 1
                elif (merged := self._merged(known, card)) != known.as_written:
                    self._writer.update(connection, known, merged, now_us)
                    updated += 1
            return created, updated

        return work

    def _same_person(self, connection: Connection, owner_agent: str, card: NewPerson) -> Person | None:
        """By an address they share, or by the name when the addresses do not contradict each other."""
        for address in (card.agent_address, *(one.address for one in card.addresses)):
            if address and (known := with_address(connection, owner_agent, address)):
                return known
        normal = contact_aliases.c.normal == self._writer.normal(card.name)
        asked = select(contact_aliases.c.contact_id).where(searchable(owner_agent), normal)
        ids = sorted(set(connection.execute(asked).scalars()))
        found = read_people(connection, owner_agent, ids) if len(ids) == 1 else []
        return found[0] if found and _compatible(found[0], card) else None

    def _merged(self, known: Person, card: NewPerson) -> NewPerson:
        """A channel on which the person is known already keeps its address."""
        names = {self._writer.normal(name) for name in (known.name, *known.aliases)}
        more = tuple(name for name in (card.name, *card.aliases) if self._writer.normal(name) not in names)
        new = tuple(one for one in card.addresses if known.address_on(one.channel) is None)
        places = sorted((*known.addresses, *new), key=lambda one: one.rank)
        return replace(known.as_written, aliases=(*known.aliases, *more), addresses=tuple(places))


def _compatible(known: Person, card: NewPerson) -> bool:
    """On no channel do they have different addresses."""
    return all(
        (mine := known.address_on(one.channel)) is None or folded(mine) == folded(one.address) for one in card.addresses
    )
