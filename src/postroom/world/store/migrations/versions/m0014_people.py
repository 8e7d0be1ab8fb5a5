"""One record of a person: contacts become people with addresses, and so do those who have an inbox."""

from __future__ import annotations

import hashlib
import json
import re
import string
from collections.abc import Mapping
from typing import Any, Final

from alembic import op
from sqlalchemy import Connection, RowMapping, text

from postroom.world.store.migrations.statements import on_postgres, run

revision = "0014"
down_revision = "0013"

_BOOK: Final = "agent://household/owner"
_SOURCE: Final = "sign-in"
_LOWER: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_PLAIN_ID: Final = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?")

_TABLES = [
    """
    CREATE TABLE {shared}people (
        id TEXT NOT NULL,
        owner_agent TEXT NOT NULL,
        name TEXT NOT NULL,
        agent_address TEXT NOT NULL,
        role TEXT NOT NULL,
        trusted BOOLEAN NOT NULL,
        zone TEXT,
        language TEXT,
        source TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        updated_at BIGINT NOT NULL,
        CONSTRAINT pk_people PRIMARY KEY (id),
        CONSTRAINT uq_people_owner_agent_agent_address UNIQUE (owner_agent, agent_address),
        CONSTRAINT ck_people_role CHECK (role IN ('owner', 'approver', 'member', 'contact'))
    )
    """,
    "CREATE INDEX ix_people_owner_agent_id ON {shared}people (owner_agent, id)",
    "CREATE UNIQUE INDEX ix_people_owner ON {shared}people (role) WHERE role = 'owner'",
    """
    CREATE TABLE {shared}person_addresses (
        id TEXT NOT NULL,
        person_id TEXT NOT NULL,
        owner_agent TEXT NOT NULL,
        channel TEXT NOT NULL,
        address TEXT NOT NULL,
        folded TEXT NOT NULL,
        rank INTEGER NOT NULL,
        verified_at BIGINT,
        label TEXT NOT NULL,
        CONSTRAINT pk_person_addresses PRIMARY KEY (id),
        CONSTRAINT uq_person_addresses_person_id_channel_folded UNIQUE (person_id, channel, folded),
        CONSTRAINT fk_person_addresses_person_id FOREIGN KEY (person_id)
            REFERENCES {shared}people (id) ON DELETE CASCADE
    )
    """,
    """
    CREATE INDEX ix_person_addresses_owner_agent_folded_channel
        ON {shared}person_addresses (owner_agent, folded, channel)
    """,
    """
    CREATE UNIQUE INDEX ix_person_addresses_verified ON {shared}person_addresses (owner_agent, channel, folded)
        WHERE verified_at IS NOT NULL
    """,
    """
    CREATE TABLE {shared}people_seeds (
        person_id TEXT NOT NULL,
        owner_agent TEXT NOT NULL,
        name TEXT NOT NULL,
        said TEXT NOT NULL,
        changed BOOLEAN NOT NULL,
        CONSTRAINT pk_people_seeds PRIMARY KEY (person_id)
    )
    """,
    """
    INSERT INTO {shared}people
        (id, owner_agent, name, agent_address, role, trusted, source, created_at, updated_at)
        SELECT id, owner_agent, name, agent_address, 'contact', trusted, source, created_at, updated_at
        FROM {shared}contacts
    """,
    # The file may change them until somebody does so in the database.
    """
    INSERT INTO {shared}people_seeds (person_id, owner_agent, name, said, changed)
        SELECT id, owner_agent, name, '', FALSE FROM {shared}contacts WHERE source = 'settings'
    """,
]

_POSTGRES_KEYS = [
    statement
    for table in ("contact_aliases", "contact_memory")
    for statement in (
        f"ALTER TABLE shared.{table} DROP CONSTRAINT fk_{table}_contact_id",
        f"""
        ALTER TABLE shared.{table} ADD CONSTRAINT fk_{table}_contact_id FOREIGN KEY (contact_id)
            REFERENCES shared.people (id) ON DELETE CASCADE
        """,
    )
]

# SQLite cannot point a key elsewhere, so that both tables are made anew.
_SQLITE_KEYS = [
    """
    CREATE TABLE new_contact_aliases (
        id TEXT NOT NULL,
        contact_id TEXT NOT NULL,
        owner_agent TEXT NOT NULL,
        alias TEXT NOT NULL,
        is_name BOOLEAN NOT NULL,
        normal TEXT NOT NULL,
        folded TEXT NOT NULL,
        latin TEXT NOT NULL,
        skeletons TEXT NOT NULL,
        script TEXT NOT NULL,
        CONSTRAINT pk_contact_aliases PRIMARY KEY (id),
        CONSTRAINT uq_contact_aliases_contact_id_normal UNIQUE (contact_id, normal),
        CONSTRAINT fk_contact_aliases_contact_id FOREIGN KEY (contact_id)
            REFERENCES people (id) ON DELETE CASCADE
    )
    """,
    "INSERT INTO new_contact_aliases SELECT * FROM contact_aliases",
    "DROP TABLE contact_aliases",
    "ALTER TABLE new_contact_aliases RENAME TO contact_aliases",
    "CREATE INDEX ix_contact_aliases_owner_agent_normal ON contact_aliases (owner_agent, normal)",
    """
    CREATE TABLE new_contact_memory (
        id TEXT NOT NULL,
        owner_agent TEXT NOT NULL,
        query TEXT NOT NULL,
        contact_id TEXT NOT NULL,
        agent_address TEXT NOT NULL,
        alias TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        rival FLOAT NOT NULL,
        book_version INTEGER NOT NULL,
        source TEXT NOT NULL,
        confirm_count INTEGER NOT NULL,
        created_at BIGINT NOT NULL,
        confirmed_at BIGINT NOT NULL,
        CONSTRAINT pk_contact_memory PRIMARY KEY (id),
        CONSTRAINT uq_contact_memory_owner_agent_query UNIQUE (owner_agent, query),
        CONSTRAINT fk_contact_memory_contact_id FOREIGN KEY (contact_id)
            REFERENCES people (id) ON DELETE CASCADE
    )
    """,
    "INSERT INTO new_contact_memory SELECT * FROM contact_memory",
    "DROP TABLE contact_memory",
    "ALTER TABLE new_contact_memory RENAME TO contact_memory",
    "CREATE INDEX ix_contact_memory_contact_id ON contact_memory (contact_id)",
]

_PERSON = """
    INSERT INTO {shared}people
        (id, owner_agent, name, agent_address, role, trusted, zone, source, created_at, updated_at)
    VALUES (:id, :book, :name, :agent_address, :role, FALSE, :zone, :source, :created_at, :updated_at)
"""

_ADDRESS = """
    INSERT INTO {shared}person_addresses
        (id, person_id, owner_agent, channel, address, folded, rank, verified_at, label)
    VALUES (:id, :person_id, :owner_agent, :channel, :address, :folded, :rank, :verified_at, :label)
"""


def upgrade() -> None:
    run(_TABLES)
    run(_POSTGRES_KEYS if on_postgres() else _SQLITE_KEYS)
    connection = op.get_bind()
    prints = _move_addresses(connection)
    _renew_fingerprints(connection, prints)
    run(["DROP TABLE {shared}contacts"])
    _add_those_with_an_inbox(connection)


def _move_addresses(connection: Connection) -> dict[str, tuple[str, str]]:
    """Of every contact the old fingerprint and the new one."""
    prints: dict[str, tuple[str, str]] = {}
    rows: list[dict[str, Any]] = []
    for contact in connection.execute(_sql("SELECT * FROM {shared}contacts")).mappings():
        kept = [("telegram", contact["telegram_chat_id"], 1), ("email", contact["email"], 2)]
        places = [(channel, address, rank) for channel, address, rank in kept if address]
        rows += [_address_row(contact, channel, address, rank) for channel, address, rank in places]
        before = [contact["agent_address"], contact["telegram_chat_id"], contact["email"]]
        after = [contact["agent_address"], [[channel, address] for channel, address, _ in places]]
        prints[contact["id"]] = _print(before), _print(after)
    if rows:
        connection.execute(_sql(_ADDRESS), rows)
    return prints


def _address_row(contact: RowMapping, channel: str, address: str, rank: int) -> dict[str, Any]:
    return {
        "id": f"{contact['id']}-{rank}",
        "person_id": contact["id"],
        "owner_agent": contact["owner_agent"],
        "channel": channel,
        "address": address,
        "folded": _folded(address),
        "rank": rank,
        "verified_at": None,
        "label": "",
    }


def _renew_fingerprints(connection: Connection, prints: Mapping[str, tuple[str, str]]) -> None:
    """What was confirmed holds on; what had stopped to hold, because the contact moved, stays so."""
    asked = _sql("SELECT id, contact_id, fingerprint FROM {shared}contact_memory")
    renewed = [
        {"id": row.id, "fingerprint": prints[row.contact_id][1]}
        for row in connection.execute(asked)
        if prints[row.contact_id][0] == row.fingerprint
    ]
    if renewed:
        connection.execute(_sql("UPDATE {shared}contact_memory SET fingerprint = :fingerprint WHERE id = :id"), renewed)
    offers = [
        {"token_hash": row.token_hash, "candidates": _renewed(json.loads(row.candidates), prints)}
        for row in connection.execute(_sql("SELECT token_hash, candidates FROM {shared}contact_offers"))
    ]
    if offers:
        changed = "UPDATE {shared}contact_offers SET candidates = :candidates WHERE token_hash = :token_hash"
        connection.execute(_sql(changed), offers)


def _renewed(candidates: list[dict[str, Any]], prints: Mapping[str, tuple[str, str]]) -> str:
    for one in candidates:
        before, after = prints.get(one["contact_id"], ("", ""))
        if one["fingerprint"] == before:
            one["fingerprint"] = after
    return json.dumps(candidates, ensure_ascii=False)


def _add_those_with_an_inbox(connection: Connection) -> None:
    """The operator is the owner; another who is called `owner` is not, and gets no record by that id."""
    taken = set(connection.execute(_sql("SELECT id FROM {shared}people")).scalars()) | {"owner"}
    book = {"book": _BOOK}
    agents = set(
        connection.execute(_sql("SELECT agent_address FROM {shared}people WHERE owner_agent = :book"), book).scalars()
    )
    proved: set[str] = set()
    asked = _sql("SELECT * FROM {shared}notification_preferences ORDER BY created_at, user_id")
    everybody = list(connection.execute(asked).mappings())
    for wishes in sorted(everybody, key=lambda one: one["user_id"] != "operator"):
        is_owner = wishes["user_id"] == "operator"
        if not is_owner and wishes["user_id"] in taken:
            continue
        person = _person_row(wishes, is_owner, agents)
        connection.execute(_sql(_PERSON), person)
        if wishes["email"]:
            connection.execute(_sql(_ADDRESS), _inbox_address(wishes, person["id"], proved))


def _person_row(wishes: RowMapping, is_owner: bool, agents: set[str]) -> dict[str, Any]:
    user_id = "owner" if is_owner else wishes["user_id"]
    own = _BOOK if is_owner else _user_address(user_id)
    has_zone = wishes["quiet_hours_start"] is not None or wishes["quiet_hours_timezone"] != "UTC"
    return {
        "id": user_id,
        "book": _BOOK,
        "name": "Owner" if is_owner else user_id,
        "agent_address": f"agent://contact/{user_id}" if own in agents else own,
        "role": "owner" if is_owner else "member",
        "zone": wishes["quiet_hours_timezone"] if has_zone else None,
        "source": _SOURCE,
        "created_at": wishes["created_at"],
        "updated_at": wishes["updated_at"],
    }


def _inbox_address(wishes: RowMapping, person_id: str, proved: set[str]) -> dict[str, Any]:
    """Confirmed by a link; of several people with one mailbox, it is proved to be the first one's."""
    folded = _folded(wishes["email"])
    is_first = folded not in proved
    proved.add(folded)
    return {
        "id": f"{person_id}-inbox",
        "person_id": person_id,
        "owner_agent": _BOOK,
        "channel": "email",
        "address": wishes["email"],
        "folded": folded,
        "rank": 1,
        "verified_at": wishes["updated_at"] if is_first else None,
        "label": "inbox",
    }


def _user_address(user_id: str) -> str:
    if _PLAIN_ID.fullmatch(user_id):
        return f"agent://user/{user_id}"
    readable = re.sub(r"[^a-z0-9._-]+", "-", user_id.lower()).strip("._-")[:40]
    mark = hashlib.sha256(user_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"agent://user/{readable}-{mark}" if readable else f"agent://user/{mark}"


def _print(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def _folded(address: str) -> str:
    return address.translate(_LOWER)


def _sql(statement: str) -> Any:
    return text(statement.format(shared="shared." if on_postgres() else ""))
