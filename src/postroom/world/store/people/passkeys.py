"""Passkeys and the challenges they answer: a challenge is handed out once and taken once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from postroom.domain.audit import AuditKind, NewAudit
from postroom.domain.passkey import MOST_CHALLENGES, MOST_PASSKEYS, Challenge, Passkey
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.rows import read, values
from postroom.world.store.shared.audit import add_entry
from postroom.world.store.tables.console_sessions import console_sessions
from postroom.world.store.tables.sign_in import passkey_challenges, passkeys

_KEYS, _CHALLENGES = passkeys.c, passkey_challenges.c


class StoredPasskeys:
    def __init__(self, database: Database, mint: Callable[[int], str]) -> None:
        self._database = database
        self._mint = mint

    async def keep_challenge(self, challenge: Challenge, now_us: int) -> None:
        row = values(challenge)

        def work(connection: Connection) -> None:
            connection.execute(delete(passkey_challenges).where(_CHALLENGES.expires_at <= now_us))
            _make_room(connection)
            connection.execute(insert(passkey_challenges).values(row))

        await self._database.write(work)

    async def take_challenge(self, digest: str, now_us: int) -> Challenge | None:
        """Whoever asks first has it, and it is gone; None when it is unknown, used or too old."""
        taken = delete(passkey_challenges).where(_CHALLENGES.digest == digest).returning(*passkey_challenges.c)
        row = await self._database.write(lambda connection: connection.execute(taken).first())
        if row is None or row.expires_at <= now_us:
            return None
        return read(Challenge, row)

    async def get(self, passkey_id: str) -> Passkey | None:
        asked = select(passkeys).where(_KEYS.id == passkey_id)
        row = await self._database.read(lambda connection: connection.execute(asked).first())
        return _passkey(row) if row else None

    async def of(self, person_id: str) -> Sequence[Passkey]:
        asked = select(passkeys).where(_KEYS.person_id == person_id).order_by(_KEYS.created_at, _KEYS.id)
        rows = await self._database.read(lambda connection: connection.execute(asked).all())
        return [_passkey(row) for row in rows]

    async def counts(self, person_ids: Sequence[str]) -> dict[str, int]:
        asked = select(_KEYS.person_id, func.count()).where(_KEYS.person_id.in_(person_ids)).group_by(_KEYS.person_id)
        rows = await self._database.read(lambda connection: connection.execute(asked).all())
        return {row[0]: row[1] for row in rows}

    async def add(self, passkey: Passkey, by: str) -> bool:
        """False when it is registered already, or the person has as many as one may have."""

        def work(connection: Connection) -> bool:
            mine = select(func.count()).select_from(passkeys).where(_KEYS.person_id == passkey.person_id)
            known = select(_KEYS.id).where(_KEYS.id == passkey.id)
            is_full = connection.execute(mine).scalar_one() >= MOST_PASSKEYS
            if is_full or connection.execute(known).first() is not None:
                return False
            connection.execute(insert(passkeys).values(_row(passkey)))
            self._audit(connection, by, "registered a passkey", passkey.label, passkey.created_at_us)
            return True

        return await self._database.write(work)

    async def used(self, passkey: Passkey, counter: int, now_us: int) -> bool:
        """False when another sign-in with it came between, or it was removed."""
        mine = update(passkeys).where(_KEYS.id == passkey.id, _KEYS.counter == passkey.counter)
        change = mine.values(counter=counter, last_used_at=now_us)
        return bool(await self._database.write(lambda connection: connection.execute(change).rowcount))

    async def remove(self, person_id: str, passkey_id: str, by: str, now_us: int) -> bool:
        """With every session that began with it."""
        gone = delete(passkeys).where(_KEYS.id == passkey_id, _KEYS.person_id == person_id).returning(_KEYS.label)
        table = console_sessions.c
        ended = update(console_sessions).where(table.credential == passkey_id, table.ended_at.is_(None))

        def work(connection: Connection) -> bool:
            row = connection.execute(gone).first()
            if row is None:
                return False
            connection.execute(ended.values(ended_at=now_us))
            self._audit(connection, by, "removed a passkey", row.label, now_us)
            return True

        return await self._database.write(work)

    async def remove_all(self, person_id: str) -> int:
        gone = delete(passkeys).where(_KEYS.person_id == person_id)
        return int(await self._database.write(lambda connection: connection.execute(gone).rowcount))

    def _audit(self, connection: Connection, by: str, act: str, label: str, now_us: int) -> None:
        entry = NewAudit(actor=by, kind=AuditKind.ACCESS, act=act, detail=label)
        add_entry(connection, self._mint(now_us), entry, now_us)


def _make_room(connection: Connection) -> None:
    """The oldest go: strangers who ask without end must not fill the table."""
    many = connection.execute(select(func.count()).select_from(passkey_challenges)).scalar_one()
    if many >= MOST_CHALLENGES:
        oldest = select(_CHALLENGES.digest).order_by(_CHALLENGES.expires_at).limit(many - MOST_CHALLENGES + 1)
        connection.execute(delete(passkey_challenges).where(_CHALLENGES.digest.in_(oldest)))


def _row(passkey: Passkey) -> dict[str, Any]:
    return values(passkey, transports=",".join(passkey.transports))


def _passkey(row: Row[Any]) -> Passkey:
    return read(Passkey, row, transports=tuple(filter(None, row.transports.split(","))))
