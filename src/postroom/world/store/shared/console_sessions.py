"""Sign-in links that work once, and the sessions they begin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, delete, insert, select, update

from postroom.domain.console_session import LINK_LIFE_SECONDS, SESSION_LIFE_SECONDS, ConsoleSession, digest, new_secret
from postroom.domain.principal import Principal, Role
from postroom.domain.time import seconds
from postroom.world.store.engine.database import Database
from postroom.world.store.tables.console_sessions import console_links, console_sessions

_BETWEEN: Final = ","
_KEPT_US: Final = seconds(24 * 3600.0)  # after their end, so that a late click is told "expired" and not "unknown"


class StoredConsoleSessions:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def invite(self, principal: Principal, now_us: int, *, token_ids: Sequence[str] = ()) -> str:
        """The secret of a new link; whoever shows it first is signed in, for as long as these tokens are good."""
        secret = new_secret()
        row = _row(secret, principal, now_us, LINK_LIFE_SECONDS, _BETWEEN.join(token_ids))

        def work(connection: Connection) -> None:
            for table in (console_links, console_sessions):
                connection.execute(delete(table).where(table.c.expires_at < now_us - _KEPT_US))
            connection.execute(insert(console_links).values(row))

        await self._database.write(work)
        return secret

    async def redeem(self, link_secret: str, now_us: int) -> str | None:
        """The secret of a new session, or None when the link is unknown, used or too old; the row decides a race."""
        secret, table = new_secret(), console_links.c
        use = (
            update(console_links)
            .where(table.digest == digest(link_secret), table.used_at.is_(None), table.expires_at > now_us)
            .values(used_at=now_us)
            .returning(table.role, table.name, table.token_ids)
        )

        def work(connection: Connection) -> bool:
            found = connection.execute(use).first()
            if found is None:
                return False
            principal = Principal(Role(found.role), found.name)
            session = _row(secret, principal, now_us, SESSION_LIFE_SECONDS, found.token_ids)
            connection.execute(insert(console_sessions).values(session))
            return True

        return secret if await self._database.write(work) else None

    async def find(self, secret: str, now_us: int) -> ConsoleSession | None:
        table = console_sessions.c
        wanted = select(table.role, table.name, table.expires_at, table.token_ids).where(
            table.digest == digest(secret), table.ended_at.is_(None), table.expires_at > now_us
        )
        row = await self._database.read(lambda connection: connection.execute(wanted).first())
        if row is None:
            return None
        return ConsoleSession(
            principal=Principal(Role(row.role), row.name),
            expires_at_us=row.expires_at,
            token_ids=tuple(filter(None, (row.token_ids or "").split(_BETWEEN))),
        )

    async def end(self, secret: str, now_us: int) -> None:
        table = console_sessions.c
        ended = update(console_sessions).where(table.digest == digest(secret), table.ended_at.is_(None))
        await self._database.write(lambda connection: connection.execute(ended.values(ended_at=now_us)))

    async def end_all(self, principal: Principal, now_us: int) -> int:
        """Everywhere this principal is signed in, and every link that was not used yet."""
        mine = (("role", str(principal.role)), ("name", principal.name))

        def work(connection: Connection) -> int:
            unused = delete(console_links)
            ended = update(console_sessions).where(console_sessions.c.ended_at.is_(None))
            for column, value in mine:
                unused = unused.where(console_links.c[column] == value)
                ended = ended.where(console_sessions.c[column] == value)
            connection.execute(unused)
            return int(connection.execute(ended.values(ended_at=now_us)).rowcount)

        return await self._database.write(work)


def _row(
    secret: str, principal: Principal, now_us: int, life_seconds: float, token_ids: str | None
) -> dict[str, str | int | None]:
    return {
        "digest": digest(secret),
        "role": str(principal.role),
        "name": principal.name,
        "created_at": now_us,
        "expires_at": now_us + seconds(life_seconds),
        "token_ids": token_ids,
    }
