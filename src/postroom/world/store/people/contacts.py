"""Contact books on disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlalchemy import Connection, delete, insert, select, update

from postroom.domain.agent_address import CONTACT_PREFIX
from postroom.domain.contact import Contact, NewContact
from postroom.domain.contact_book import Entry, Keys
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.retry_conflict import write_twice
from postroom.world.store.people.contacts_rows import (
    as_new,
    compatible,
    contact_columns,
    contact_of,
    key_columns,
    lowered,
    raise_version,
    read_contacts,
    read_entries,
    refuse_taken,
    with_address,
)
from postroom.world.store.tables.contacts import contact_aliases, contacts

_CARDS_AT_ONCE = 200


class StoredContacts:
    """Every change raises the version of its book, so that whoever holds the book knows to look again."""

    def __init__(self, database: Database, mint: Callable[[int], str], keys_of: Callable[[str], Keys]) -> None:
        self._database = database
        self._mint = mint
        self._keys_of = keys_of

    async def entry_ids(self, owner_agent: str) -> set[str]:
        asked = select(contact_aliases.c.id).where(contact_aliases.c.owner_agent == owner_agent)
        return await self._database.read(lambda connection: set(connection.execute(asked).scalars()))

    async def entries(self, owner_agent: str, only: set[str] | None = None) -> Sequence[Entry]:
        return await self._database.read(lambda connection: read_entries(connection, owner_agent, only))

    async def contacts(self, owner_agent: str, ids: Sequence[str]) -> Mapping[str, Contact]:
        found = await self._database.read(lambda connection: read_contacts(connection, owner_agent, ids))
        return {contact.id: contact for contact in found}

    async def get(self, owner_agent: str, contact_id: str) -> Contact | None:
        return (await self.contacts(owner_agent, [contact_id])).get(contact_id)

    async def by_address(self, owner_agent: str, agent_address: str) -> Contact | None:
        return await self._database.read(lambda connection: with_address(connection, owner_agent, agent_address))

    async def named(self, owner_agent: str, name: str) -> Sequence[Contact]:
        """Contacts with exactly this name or alias."""
        normal = self._keys_of(name).normal

        def work(connection: Connection) -> Sequence[Contact]:
            asked = select(contact_aliases.c.contact_id).where(
                contact_aliases.c.owner_agent == owner_agent, contact_aliases.c.normal == normal
            )
            return read_contacts(connection, owner_agent, sorted(set(connection.execute(asked).scalars())))

        return await self._database.read(work)

    async def is_trusted(self, owner_agent: str, channel: str, address: str) -> bool:
        column = {"telegram": contacts.c.telegram_chat_id, "email": contacts.c.email}.get(channel)
        if column is None:
            return False
        asked = select(contacts.c.id).where(
            contacts.c.owner_agent == owner_agent, column == address.strip().lower(), contacts.c.trusted
        )
        return await self._database.read(lambda connection: connection.execute(asked).first() is not None)

    async def page(self, owner_agent: str, *, after: str | None, limit: int) -> Sequence[Contact]:
        def work(connection: Connection) -> Sequence[Contact]:
            asked = select(contacts.c.id).where(contacts.c.owner_agent == owner_agent).order_by(contacts.c.id)
            if after is not None:
                asked = asked.where(contacts.c.id > after)
            return read_contacts(connection, owner_agent, list(connection.execute(asked.limit(limit)).scalars()))

        return await self._database.read(work)

    async def create(
        self, owner_agent: str, new: NewContact, *, source: str, now_us: int, reserved_id: str | None = None
    ) -> Contact:
        """Raises Refused when the address is another contact's; what is there under a reserved id was made before."""
        contact_id = reserved_id or self._mint(now_us)

        def work(connection: Connection) -> Contact:
            if reserved_id and (made := read_contacts(connection, owner_agent, [reserved_id])):
                return made[0]
            return self._insert(connection, owner_agent, contact_id, new, source, now_us)

        return await write_twice(self._database, work)

    async def replace(self, owner_agent: str, contact_id: str, new: NewContact, *, now_us: int) -> Contact | None:
        return await self.change(owner_agent, contact_id, lambda _: new, now_us=now_us)

    async def change(
        self, owner_agent: str, contact_id: str, edit: Callable[[Contact], NewContact], *, now_us: int
    ) -> Contact | None:
        """Read, edit and write as one step; None when there is no such contact."""

        def work(connection: Connection) -> Contact | None:
            connection.execute(select(contacts.c.id).where(contacts.c.id == contact_id).with_for_update())
            known = read_contacts(connection, owner_agent, [contact_id])
            return self._update(connection, owner_agent, contact_id, edit(known[0]), now_us) if known else None

        return await write_twice(self._database, work)

    async def delete(self, owner_agent: str, contact_id: str) -> bool:
        def work(connection: Connection) -> bool:
            gone = delete(contacts).where(contacts.c.id == contact_id, contacts.c.owner_agent == owner_agent)
            if not connection.execute(gone).rowcount:
                return False
            raise_version(connection, owner_agent)
            return True

        return await write_twice(self._database, work)

    async def merge(
        self, owner_agent: str, cards: Sequence[NewContact], *, source: str, now_us: int
    ) -> tuple[int, int]:
        """How many were new, and how many added something to a contact that was there."""
        created = updated = 0
        for start in range(0, len(cards), _CARDS_AT_ONCE):  # others want to write meanwhile
            some = cards[start : start + _CARDS_AT_ONCE]
            more = await write_twice(self._database, self._merging(owner_agent, some, source, now_us))
            created, updated = created + more[0], updated + more[1]
        return created, updated

    def _merging(
        self, owner_agent: str, cards: Sequence[NewContact], source: str, now_us: int
    ) -> Callable[[Connection], tuple[int, int]]:
        ids = [self._mint(now_us) for _ in cards]

        def work(connection: Connection) -> tuple[int, int]:
            created = updated = 0
            for contact_id, card in zip(ids, cards, strict=True):
                known = self._same_person(connection, owner_agent, card)
                if known is None:
                    self._insert(connection, owner_agent, contact_id, card, source, now_us)
                    created += 1
                elif (merged := self._merged(known, card)) != as_new(known):
                    self._update(connection, owner_agent, known.id, merged, now_us)
                    updated += 1
            return created, updated

        return work

    async def keep_in_step(self, owner_agent: str, wanted: Sequence[NewContact], *, source: str, now_us: int) -> None:
        """The contacts of one source become exactly these, keeping the ids of those that stay."""
        ids = [self._mint(now_us) for _ in wanted]

        def work(connection: Connection) -> None:
            asked = select(contacts.c.id).where(contacts.c.owner_agent == owner_agent, contacts.c.source == source)
            found = read_contacts(connection, owner_agent, list(connection.execute(asked).scalars()))
            left: dict[str, list[Contact]] = {}
            for contact in found:
                left.setdefault(contact.name, []).append(contact)
            for contact_id, new in zip(ids, wanted, strict=True):
                if not (namesakes := left.get(new.name)):
                    self._insert(connection, owner_agent, contact_id, new, source, now_us)
                elif as_new(known := namesakes.pop(0)) != self._as_kept(new, known.id):
                    self._update(connection, owner_agent, known.id, new, now_us)
            for gone in (contact for contacts_left in left.values() for contact in contacts_left):
                connection.execute(delete(contacts).where(contacts.c.id == gone.id))
                raise_version(connection, owner_agent)

        await write_twice(self._database, work)

    def _insert(
        self, connection: Connection, owner_agent: str, contact_id: str, new: NewContact, source: str, now_us: int
    ) -> Contact:
        address = new.agent_address or CONTACT_PREFIX + contact_id
        if new.agent_address is not None:
            refuse_taken(connection, owner_agent, contact_id, address)
        row = {
            "id": contact_id,
            "owner_agent": owner_agent,
            **contact_columns(new, address),
            "source": source,
            "created_at": now_us,
            "updated_at": now_us,
        }
        connection.execute(insert(contacts), row)
        names = self._aliases(new)
        self._add_names(connection, owner_agent, contact_id, names, now_us)
        raise_version(connection, owner_agent)
        return contact_of(row, tuple(alias for alias, is_name in names if not is_name))

    def _update(
        self, connection: Connection, owner_agent: str, contact_id: str, new: NewContact, now_us: int
    ) -> Contact:
        address = new.agent_address or CONTACT_PREFIX + contact_id
        refuse_taken(connection, owner_agent, contact_id, address)
        values = {**contact_columns(new, address), "updated_at": now_us}
        connection.execute(update(contacts).where(contacts.c.id == contact_id).values(values))
        self._name(connection, owner_agent, contact_id, new, now_us)
        raise_version(connection, owner_agent)
        return read_contacts(connection, owner_agent, [contact_id])[0]

    def _name(self, connection: Connection, owner_agent: str, contact_id: str, new: NewContact, now_us: int) -> None:
        """An alias row never changes: what is no longer said goes, what is new comes under a new id."""
        mine = contact_aliases.c.contact_id == contact_id
        wanted = self._aliases(new)
        known = {
            (row.alias, row.is_name): row.id
            for row in connection.execute(
                select(contact_aliases.c.id, contact_aliases.c.alias, contact_aliases.c.is_name).where(mine)
            )
        }
        gone = [row_id for key, row_id in known.items() if key not in wanted]
        if gone:
            connection.execute(delete(contact_aliases).where(contact_aliases.c.id.in_(gone)))
        missing = {key: keys for key, keys in wanted.items() if key not in known}
        self._add_names(connection, owner_agent, contact_id, missing, now_us)

    def _add_names(
        self,
        connection: Connection,
        owner_agent: str,
        contact_id: str,
        names: Mapping[tuple[str, bool], Keys],
        now_us: int,
    ) -> None:
        rows = [
            {
                "id": self._mint(now_us),
                "contact_id": contact_id,
                "owner_agent": owner_agent,
                "alias": alias,
                "is_name": is_name,
                **key_columns(keys),
            }
            for (alias, is_name), keys in names.items()
        ]
        if rows:
            connection.execute(insert(contact_aliases), rows)

    def _aliases(self, new: NewContact) -> dict[tuple[str, bool], Keys]:
        """The name and every alias that says something else."""
        wanted: dict[tuple[str, bool], Keys] = {}
        said: set[str] = set()
        for place, alias in enumerate((new.name, *new.aliases)):
            keys = self._keys_of(alias)
            if keys.normal and keys.normal not in said:
                said.add(keys.normal)
                wanted[alias, place == 0] = keys
        return wanted

    def _same_person(self, connection: Connection, owner_agent: str, card: NewContact) -> Contact | None:
        """By an address they share, or by the name when the addresses do not contradict each other."""
        for address in (card.agent_address, card.telegram_chat_id, card.email):
            if address and (known := with_address(connection, owner_agent, address)):
                return known
        asked = select(contact_aliases.c.contact_id).where(
            contact_aliases.c.owner_agent == owner_agent, contact_aliases.c.normal == self._normal(card.name)
        )
        ids = sorted(set(connection.execute(asked).scalars()))
        found = read_contacts(connection, owner_agent, ids) if len(ids) == 1 else []
        return found[0] if found and compatible(found[0], card) else None

    def _merged(self, known: Contact, card: NewContact) -> NewContact:
        said = {self._normal(name) for name in (known.name, *known.aliases)}
        more = tuple(name for name in (card.name, *card.aliases) if self._normal(name) not in said)
        return NewContact(
            name=known.name,
            aliases=(*known.aliases, *more),
            agent_address=known.agent_address,
            telegram_chat_id=known.telegram_chat_id or card.telegram_chat_id,
            email=known.email or card.email,
            trusted=known.trusted,
        )

    def _as_kept(self, new: NewContact, contact_id: str) -> NewContact:
        return NewContact(
            name=new.name,
            aliases=tuple(alias for alias, is_name in self._aliases(new) if not is_name),
            agent_address=new.agent_address or CONTACT_PREFIX + contact_id,
            telegram_chat_id=new.telegram_chat_id,
            email=lowered(new.email),
            trusted=new.trusted,
        )

    def _normal(self, name: str) -> str:
        return self._keys_of(name).normal
