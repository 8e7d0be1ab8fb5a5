"""Links that confirm an address, for e-mail copies or as a person's own: sent once, good once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, assert_never

import structlog
from sqlalchemy import Connection, Row, and_, delete, exists, func, insert, or_, select, update

from postroom.domain.confirmation_origin import Purpose
from postroom.domain.console_session import digest, new_secret
from postroom.domain.email_confirmation import LINK_LIFE_SECONDS, MOST_A_DAY, AddressClaim, AskedToConfirm
from postroom.domain.email_copy import Ending, GivenUp, HandedOver, TryAgain
from postroom.domain.errors import FieldError, Refused, ValidationError
from postroom.domain.time import seconds
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.rows import read
from postroom.world.store.inbox.confirmation_links import IS_INBOX, KEPT_US
from postroom.world.store.inbox.lock import lock_inbox
from postroom.world.store.people.people import StoredPeople
from postroom.world.store.people.person_writer import PersonWriter
from postroom.world.store.tables.email_confirmations import email_confirmations
from postroom.world.store.tables.inbox import notification_preferences
from postroom.world.store.tables.people import person_addresses

_TABLE: Final = email_confirmations.c
_DAY_US: Final = seconds(24 * 3600.0)
_MOST_AT_ONCE: Final = 20
_WANTED_FOR_COPIES: Final = exists().where(
    notification_preferences.c.user_id == _TABLE.user_id, notification_preferences.c.email_pending == _TABLE.address
)
_WANTED_AS_PROOF: Final = exists().where(
    person_addresses.c.person_id == _TABLE.user_id,
    person_addresses.c.channel == _TABLE.channel,
    person_addresses.c.address == _TABLE.address,
    person_addresses.c.verified_at.is_(None),
)
_WANTED: Final = or_(and_(IS_INBOX, _WANTED_FOR_COPIES), and_(~IS_INBOX, _WANTED_AS_PROOF))
_log = structlog.get_logger("postroom.pairing")


class StoredConfirmations:
    def __init__(self, database: Database, people: StoredPeople) -> None:
        self._database = database
        self._people = people

    async def take(self, *, now_us: int, lease_until_us: int, copies: bool = True) -> Sequence[AskedToConfirm]:
        due = and_(_TABLE.handed_over_at.is_(None), _TABLE.confirmed_at.is_(None), _TABLE.due_at <= now_us)
        asked = or_(IS_INBOX, _TABLE.expires_at > now_us) if copies else and_(~IS_INBOX, _TABLE.expires_at > now_us)
        found = select(email_confirmations).where(due, asked, _WANTED).limit(_MOST_AT_ONCE)

        def work(connection: Connection) -> list[AskedToConfirm]:
            return [*_taken(connection, connection.execute(found).all(), now_us, lease_until_us)]

        return await self._database.write(work)

    async def settle(self, asked: AskedToConfirm, ending: Ending, now_us: int) -> None:
        mine = update(email_confirmations).where(_TABLE.digest == asked.digest)
        await self._database.write(lambda connection: connection.execute(mine.values(_ended(ending, now_us))))

    async def claim(self, secret: str, now_us: int) -> AddressClaim | None:
        row = await self._database.read(lambda connection: _open(connection, secret, now_us))
        return _claim_of(row) if row else None

    async def confirm(self, secret: str, now_us: int) -> AddressClaim | None:
        claimed = await self.claim(secret, now_us)
        if claimed is None:
            return None
        if claimed.purpose is Purpose.PAIRING:
            return await self._prove(secret, claimed, now_us)
        return await self._database.write(lambda connection: _copies_go_there(connection, secret, claimed, now_us))

    async def _prove(self, secret: str, claimed: AddressClaim, now_us: int) -> AddressClaim | None:
        def work(connection: Connection, writer: PersonWriter) -> AddressClaim | None:
            if not _used(connection, secret, now_us):
                return None
            writer.prove(connection, claimed.user_id, claimed.channel, claimed.address, now_us)
            return claimed

        try:
            return await self._people.write(work)
        except Refused as error:
            _log.warning("pairing.refused", channel=claimed.channel, reason=error.message)
            return None


def _copies_go_there(connection: Connection, secret: str, claimed: AddressClaim, now_us: int) -> AddressClaim | None:
    """Both rows change together, while no other hand changes this person's preferences."""
    lock_inbox(connection, claimed.user_id)
    if not _used(connection, secret, now_us):
        return None
    own = update(notification_preferences).where(notification_preferences.c.user_id == claimed.user_id)
    connection.execute(own.values(email=claimed.address, email_pending=None, updated_at=now_us))
    return claimed


def _used(connection: Connection, secret: str, now_us: int) -> bool:
    """From now on; False when it is good no more."""
    if _open(connection, secret, now_us) is None:
        return False
    mine = and_(_TABLE.digest == digest(secret), _TABLE.confirmed_at.is_(None))
    return bool(connection.execute(update(email_confirmations).where(mine).values(confirmed_at=now_us)).rowcount)


def ask_to_confirm(connection: Connection, user_id: str, address: str, now_us: int) -> None:
    """Once for an address while its link is good; raises ValidationError for somebody who asks too often."""
    mine = (IS_INBOX, _TABLE.user_id == user_id, _TABLE.created_at > now_us - _DAY_US)
    is_open = and_(_TABLE.confirmed_at.is_(None), or_(_TABLE.expires_at.is_(None), _TABLE.expires_at > now_us))
    same = select(_TABLE.id).where(IS_INBOX, _TABLE.user_id == user_id, _TABLE.address == address, is_open)
    if connection.execute(same).first() is not None:
        return
    if connection.execute(select(func.count()).where(*mine)).scalar_one() >= MOST_A_DAY:
        error = f"at most {MOST_A_DAY} addresses a day can be asked to confirm; try again tomorrow"
        raise ValidationError.of([FieldError("email", error, "rate_limited")])
    connection.execute(delete(email_confirmations).where(_TABLE.created_at < now_us - KEPT_US))
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


def awaits_confirmation(connection: Connection, channel: str, address: str) -> bool:
    """Whether a message that asks this address is on its way out just now."""
    here = and_(_TABLE.channel == channel, _TABLE.address == address)
    asked = and_(here, _TABLE.digest.is_not(None), _TABLE.handed_over_at.is_(None))
    return connection.execute(select(_TABLE.id).where(asked, _WANTED).limit(1)).first() is not None


def _taken(
    connection: Connection, rows: Sequence[Row[Any]], now_us: int, lease_until_us: int
) -> Iterator[AskedToConfirm]:
    for row in rows:
        secret = new_secret()
        values = {
            "digest": digest(secret),
            "due_at": lease_until_us,
            "expires_at": now_us + seconds(LINK_LIFE_SECONDS) if row.purpose == Purpose.INBOX else row.expires_at,
            "attempts": row.attempts + 1,
        }
        mine = and_(_TABLE.id == row.id, _TABLE.attempts == row.attempts)
        if connection.execute(update(email_confirmations).where(mine).values(values)).rowcount:
            yield read(AskedToConfirm, row, digest=digest(secret), secret=secret)


def _open(connection: Connection, secret: str, now_us: int) -> Row[Any] | None:
    good = and_(_TABLE.digest == digest(secret), _TABLE.confirmed_at.is_(None), _TABLE.expires_at > now_us)
    return connection.execute(select(email_confirmations).where(good, _WANTED)).first()


def _claim_of(row: Row[Any]) -> AddressClaim:
    return read(AddressClaim, row)


def _ended(ending: Ending, now_us: int) -> dict[str, Any]:
    match ending:
        case HandedOver() | GivenUp():
            return {"handed_over_at": now_us}
        case TryAgain(at_us):
            return {"due_at": at_us}
        case _:
            assert_never(ending)
