"""Who is invited to sign in, and the links people ask for: limited, sent once, good once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from sqlalchemy import Connection, delete, func, insert, select, update

from postroom.domain.audit import AuditKind, NewAudit
from postroom.domain.console_session import LinkToSend, SignInWay, digest, new_secret
from postroom.domain.sign_in_link import MOST_OF_PERSON, MOST_OF_SENDER, MOST_OPEN, LinkWish
from postroom.domain.time import seconds
from postroom.world.store.engine.database import Database
from postroom.world.store.shared.audit import add_entry
from postroom.world.store.shared.console_sessions import link_row
from postroom.world.store.tables.console_sessions import console_links
from postroom.world.store.tables.people import people
from postroom.world.store.tables.sign_in import sign_in_attempts, sign_in_grants

_HOUR_US: Final = seconds(3600.0)
_AT_ONCE: Final = 20
_LINKS, _ATTEMPTS, _GRANTS = console_links.c, sign_in_attempts.c, sign_in_grants.c


class StoredSignInLinks:
    def __init__(self, database: Database, mint: Callable[[int], str]) -> None:
        self._database = database
        self._mint = mint

    async def is_invited(self, person_id: str) -> bool:
        return person_id in await self.invited([person_id])

    async def invited(self, person_ids: Sequence[str]) -> frozenset[str]:
        asked = select(_GRANTS.person_id).where(_GRANTS.person_id.in_(person_ids))
        return await self._database.read(lambda connection: frozenset(connection.execute(asked).scalars()))

    async def grant(self, person_id: str, by: str, now_us: int, *, door: str = "console") -> None:
        """However often; the first invitation counts, each is written down."""
        known = select(_GRANTS.person_id).where(_GRANTS.person_id == person_id)
        row = {"person_id": person_id, "invited_by": by, "invited_at": now_us}

        def work(connection: Connection) -> None:
            if connection.execute(known).first() is None:
                connection.execute(insert(sign_in_grants).values(row))
            entry = NewAudit(
                actor=by, kind=AuditKind.ACCESS, act="invited to sign in", subject=f"person:{person_id}", door=door
            )
            add_entry(connection, self._mint(now_us), entry, now_us)

        await self._database.write(work)

    async def withdraw(self, person_id: str) -> bool:
        gone = delete(sign_in_grants).where(_GRANTS.person_id == person_id)
        return bool(await self._database.write(lambda connection: connection.execute(gone).rowcount))

    async def ask(self, wish: LinkWish | None, *, sender: str, browser: str, now_us: int) -> None:
        """Whether or not there is a person to send it to, the same steps are taken; too many are left unsent."""

        def work(connection: Connection) -> None:
            connection.execute(delete(sign_in_attempts).where(_ATTEMPTS.at < now_us - _HOUR_US))
            of_sender = select(func.count()).select_from(sign_in_attempts).where(_ATTEMPTS.sender == digest(sender))
            may_ask = connection.execute(of_sender).scalar_one() < MOST_OF_SENDER
            if may_ask:  # more of them than count are not kept: a stranger must not fill the table
                row = {"id": self._mint(now_us), "sender": digest(sender), "at": now_us}
                connection.execute(insert(sign_in_attempts).values(row))
            is_free = _is_free(connection, wish.person_id if wish else "", now_us)
            if wish is not None and may_ask and is_free:
                self._queue(connection, wish, browser, now_us)

        await self._database.write(work)

    async def send(self, wish: LinkWish, now_us: int) -> None:
        """An invitation: good in any browser."""
        await self._database.write(lambda connection: self._queue(connection, wish, "", now_us))

    async def take(self, now_us: int) -> Sequence[LinkToSend]:
        """What is to be sent, each under a new secret, and handed out once."""
        due = select(console_links).where(
            _LINKS.channel.is_not(None), _LINKS.sent_at.is_(None), _LINKS.used_at.is_(None), _LINKS.expires_at > now_us
        )
        due = due.order_by(_LINKS.created_at).limit(_AT_ONCE).with_for_update(skip_locked=True)

        def work(connection: Connection) -> list[LinkToSend]:
            found = []
            for row in connection.execute(due).all():
                secret = new_secret()
                mine = update(console_links).where(_LINKS.digest == row.digest)
                connection.execute(mine.values(digest=digest(secret), sent_at=now_us))
                way = SignInWay(row.way)
                found.append(
                    LinkToSend(digest=digest(secret), secret=secret, way=way, channel=row.channel, address=row.address)
                )
            return found

        return await self._database.write(work)

    def _queue(self, connection: Connection, wish: LinkWish, browser: str, now_us: int) -> None:
        """Under a digest whose secret no one has, until it is sent."""
        row = link_row(digest(new_secret()), wish.principal, now_us, wish.token_ids, wish.way)
        more = {"browser": digest(browser) if browser else None, "channel": wish.channel, "address": wish.address}
        connection.execute(insert(console_links).values({**row, **more}))


def _is_free(connection: Connection, person_id: str, now_us: int) -> bool:
    """The person is held meanwhile, so that two who ask at once are counted one after the other."""
    connection.execute(select(people.c.id).where(people.c.id == person_id).with_for_update())
    asked = select(func.count()).select_from(console_links)
    asked = asked.where(_LINKS.person_id == person_id, _LINKS.way == str(SignInWay.LINK))
    lately = connection.execute(asked.where(_LINKS.created_at > now_us - _HOUR_US)).scalar_one()
    open_now = connection.execute(asked.where(_LINKS.used_at.is_(None), _LINKS.expires_at > now_us)).scalar_one()
    return bool(lately < MOST_OF_PERSON and open_now < MOST_OPEN)
