"""Links that confirm an address for e-mail copies: asked for with the preferences, sent once, good once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, assert_never

from sqlalchemy import Connection, Row, and_, delete, func, insert, or_, select, update

from postroom.domain.console_session import digest, new_secret
from postroom.domain.email_confirmation import LINK_LIFE_SECONDS, MOST_A_DAY, AddressClaim, AskedToConfirm
from postroom.domain.email_copy import Ending, GivenUp, HandedOver, TryAgain
from postroom.domain.errors import FieldError, ValidationError
from postroom.domain.time import seconds
from postroom.world.store.engine.database import Database
from postroom.world.store.inbox.lock import lock_inbox
from postroom.world.store.tables.email_confirmations import email_confirmations
from postroom.world.store.tables.inbox import notification_preferences

_TABLE: Final = email_confirmations.c
_DAY_US: Final = seconds(24 * 3600.0)
_KEPT_US: Final = 30 * _DAY_US
_MOST_AT_ONCE: Final = 20
_WANTED: Final = and_(
    notification_preferences.c.user_id == _TABLE.user_id, notification_preferences.c.email_pending == _TABLE.address
)


class StoredConfirmations:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def take(self, *, now_us: int, lease_until_us: int) -> Sequence[AskedToConfirm]:
        due = and_(_TABLE.handed_over_at.is_(None), _TABLE.confirmed_at.is_(None), _TABLE.due_at <= now_us)
        found = select(email_confirmations).join(notification_preferences, _WANTED).where(due).limit(_MOST_AT_ONCE)

        def work(connection: Connection) -> list[AskedToConfirm]:
            return [*_taken(connection, connection.execute(found).all(), now_us, lease_until_us)]

        return await self._database.write(work)

    async def settle(self, asked: AskedToConfirm, ending: Ending, now_us: int) -> None:
        mine = update(email_confirmations).where(_TABLE.digest == asked.digest)
        await self._database.write(lambda connection: connection.execute(mine.values(_ended(ending, now_us))))

    async def claim(self, secret: str, now_us: int) -> AddressClaim | None:
        row = await self._database.read(lambda connection: _open(connection, secret, now_us))
        return AddressClaim(user_id=row.user_id, address=row.address) if row else None

    async def confirm(self, secret: str, now_us: int) -> AddressClaim | None:
        """Both rows change together, while no other hand changes this person's preferences."""
        claimed = await self.claim(secret, now_us)
        if claimed is None:
            return None

        def work(connection: Connection) -> AddressClaim | None:
            lock_inbox(connection, claimed.user_id)
            if _open(connection, secret, now_us) is None:
                return None
            used = update(email_confirmations).where(_TABLE.digest == digest(secret)).values(confirmed_at=now_us)
            connection.execute(used)
            own = update(notification_preferences).where(notification_preferences.c.user_id == claimed.user_id)
            connection.execute(own.values(email=claimed.address, email_pending=None, updated_at=now_us))
            return claimed

        return await self._database.write(work)


def ask_to_confirm(connection: Connection, user_id: str, address: str, now_us: int) -> None:
    """Once for an address while its link is good; raises ValidationError for somebody who asks too often."""
    mine = (_TABLE.user_id == user_id, _TABLE.created_at > now_us - _DAY_US)
    is_open = and_(_TABLE.confirmed_at.is_(None), or_(_TABLE.expires_at.is_(None), _TABLE.expires_at > now_us))
    same = select(_TABLE.id).where(_TABLE.user_id == user_id, _TABLE.address == address, is_open)
    if connection.execute(same).first() is not None:
        return
    if connection.execute(select(func.count()).where(*mine)).scalar_one() >= MOST_A_DAY:
        error = f"at most {MOST_A_DAY} addresses a day can be asked to confirm; try again tomorrow"
        raise ValidationError.of([FieldError("email", error, "rate_limited")])
    connection.execute(delete(email_confirmations).where(_TABLE.created_at < now_us - _KEPT_US))
    connection.execute(
        insert(email_confirmations),
        {
            "id": new_secret(),
            "user_id": user_id,
            "address": address,
            "attempts": 0,
            "due_at": now_us,
            "created_at": now_us,
        },
    )


def awaits_confirmation(connection: Connection, address: str) -> bool:
    """Whether a mail that asks this address is on its way out just now."""
    asked = and_(_TABLE.address == address, _TABLE.digest.is_not(None), _TABLE.handed_over_at.is_(None))
    found = select(_TABLE.id).join(notification_preferences, _WANTED).where(asked).limit(1)
    return connection.execute(found).first() is not None


def _taken(
    connection: Connection, rows: Sequence[Row[Any]], now_us: int, lease_until_us: int
) -> Iterator[AskedToConfirm]:
    for row in rows:
        secret = new_secret()
        values = {
            "digest": digest(secret),
            "due_at": lease_until_us,
            "expires_at": now_us + seconds(LINK_LIFE_SECONDS),
            "attempts": row.attempts + 1,
        }
        mine = and_(_TABLE.id == row.id, _TABLE.attempts == row.attempts)
        if connection.execute(update(email_confirmations).where(mine).values(values)).rowcount:
            yield AskedToConfirm(digest=digest(secret), address=row.address, secret=secret, attempts=row.attempts)


def _open(connection: Connection, secret: str, now_us: int) -> Row[Any] | None:
    good = and_(_TABLE.digest == digest(secret), _TABLE.confirmed_at.is_(None), _TABLE.expires_at > now_us)
    found = select(email_confirmations).join(notification_preferences, _WANTED).where(good)
    return connection.execute(found).first()


def _ended(ending: Ending, now_us: int) -> dict[str, Any]:
    match ending:
        case HandedOver() | GivenUp():
            return {"handed_over_at": now_us}
        case TryAgain(at_us):
            return {"due_at": at_us}
        case _:
            assert_never(ending)
