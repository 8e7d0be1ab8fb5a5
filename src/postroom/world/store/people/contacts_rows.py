"""Contacts as rows, and rows as contacts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Column, Connection, RowMapping, insert, select, update

from postroom.domain.agent_address import SCHEME
from postroom.domain.contact import Contact, NewContact
from postroom.domain.contact_book import Entry, Keys
from postroom.domain.errors import Code, Refused
from postroom.world.store.tables.contacts import contact_aliases, contact_books, contacts

_MOST_PARAMETERS = 500
_CHAT = re.compile(r"-?[0-9]+|@[a-z0-9_]+")


def raise_version(connection: Connection, owner_agent: str) -> None:
    mine = contact_books.c.owner_agent == owner_agent
    if not connection.execute(update(contact_books).where(mine).values(version=contact_books.c.version + 1)).rowcount:
        connection.execute(insert(contact_books), {"owner_agent": owner_agent, "version": 1})


def read_contacts(connection: Connection, owner_agent: str, ids: Sequence[str]) -> list[Contact]:
    """In the order of the ids that were found."""
    found: dict[str, RowMapping] = {}
    names: dict[str, list[str]] = {}
    for some in _slices(ids):
        mine = contacts.c.owner_agent == owner_agent
        rows = connection.execute(select(contacts).where(mine, contacts.c.id.in_(some))).mappings()
        found |= {row["id"]: row for row in rows}
        asked = (
            select(contact_aliases.c.contact_id, contact_aliases.c.alias)
            .where(contact_aliases.c.contact_id.in_(some), contact_aliases.c.is_name.is_(False))
            .order_by(contact_aliases.c.id)
        )
        for row in connection.execute(asked):
            names.setdefault(row.contact_id, []).append(row.alias)
    return [contact_of(found[one], tuple(names.get(one, ()))) for one in dict.fromkeys(ids) if one in found]


def with_address(connection: Connection, owner_agent: str, address: str) -> Contact | None:
    """The one contact that is reached under this address, of whatever kind."""
    lowered = address.strip().lower()
    column = _column_of(lowered)
    if column is None:
        return None
    asked = select(contacts.c.id).where(contacts.c.owner_agent == owner_agent, column == lowered)
    ids = list(connection.execute(asked.limit(2)).scalars())
    return read_contacts(connection, owner_agent, ids)[0] if len(ids) == 1 else None


def _column_of(address: str) -> Column[Any] | None:
    """Where such an address would stand: one column has an index that serves, a choice of three has none."""
    if address.startswith(SCHEME):
        return contacts.c.agent_address
    if _CHAT.fullmatch(address):
        return contacts.c.telegram_chat_id
    return contacts.c.email if "@" in address else None


def as_new(contact: Contact) -> NewContact:
    return NewContact(
        name=contact.name,
        aliases=contact.aliases,
        agent_address=contact.agent_address,
        telegram_chat_id=contact.telegram_chat_id,
        email=contact.email,
        trusted=contact.trusted,
    )


def read_entries(connection: Connection, owner_agent: str, only: set[str] | None) -> list[Entry]:
    table = contact_aliases.c
    columns = (
        table.id,
        table.contact_id,
        table.alias,
        table.normal,
        table.folded,
        table.latin,
        table.skeletons,
        table.script,
    )
    asked = select(*columns).where(table.owner_agent == owner_agent)
    if only is None:
        rows = list(connection.execute(asked))
    else:
        rows = [row for some in _slices(sorted(only)) for row in connection.execute(asked.where(table.id.in_(some)))]
    return [
        Entry(
            row.id,
            row.contact_id,
            row.alias,
            Keys(row.normal, row.folded, row.latin, tuple(json.loads(row.skeletons)), row.script),
        )
        for row in rows
    ]


def contact_of(row: Mapping[str, Any] | RowMapping, aliases: tuple[str, ...]) -> Contact:
    return Contact(
        id=row["id"],
        owner_agent=row["owner_agent"],
        name=row["name"],
        aliases=aliases,
        agent_address=row["agent_address"],
        telegram_chat_id=row["telegram_chat_id"],
        email=row["email"],
        trusted=bool(row["trusted"]),
        source=row["source"],
        created_at_us=row["created_at"],
        updated_at_us=row["updated_at"],
    )


def contact_columns(new: NewContact, address: str) -> dict[str, Any]:
    return {
        "name": new.name,
        "agent_address": address,
        "telegram_chat_id": new.telegram_chat_id,
        "email": lowered(new.email),
        "trusted": new.trusted,
    }


def key_columns(keys: Keys) -> dict[str, Any]:
    return {
        "normal": keys.normal,
        "folded": keys.folded,
        "latin": keys.latin,
        "skeletons": json.dumps(keys.skeletons),
        "script": keys.script,
    }


def refuse_taken(connection: Connection, owner_agent: str, contact_id: str, address: str) -> None:
    asked = select(contacts.c.id).where(
        contacts.c.owner_agent == owner_agent, contacts.c.agent_address == address, contacts.c.id != contact_id
    )
    if connection.execute(asked).first():
        raise Refused(Code.CONTACT_EXISTS, "another contact in this book has this agent address")


def lowered(email: str | None) -> str | None:
    return email.strip().lower() if email else None


def compatible(known: Contact, card: NewContact) -> bool:
    pairs = ((known.telegram_chat_id, card.telegram_chat_id), (known.email, card.email))
    return all(mine is None or other is None or mine.lower() == other.lower() for mine, other in pairs)


def _slices(values: Iterable[str]) -> Iterable[list[str]]:
    """Databases take only so many parameters at once."""
    everything = list(values)
    for start in range(0, len(everything), _MOST_PARAMETERS):
        yield everything[start : start + _MOST_PARAMETERS]
