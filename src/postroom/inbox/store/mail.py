"""Links that confirm an address, for e-mail copies or as a person's own: sent once, good once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, assert_never

import structlog
from sqlalchemy import (
    Connection,
    Row,
    and_,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)

from postroom.attention.state import Loaded, NoticeChanges, Wanted
from postroom.attention.store import load, lock_person, write
from postroom.inbox.model import (
    LINK_LIFE_SECONDS,
    MOST_A_DAY,
    AddressClaim,
    AskedToConfirm,
    Ending,
    GivenUp,
    HandedOver,
    Preferences,
    TryAgain,
)
from postroom.inbox.store.notes import Follow, follow_notes, preference_values, read_preferences, wishes_of
from postroom.inbox.store.waiting import (
    lock_inbox,
    notification_preferences,
)
from postroom.kernel.database.claims import Claims
from postroom.kernel.database.engine import Database
from postroom.kernel.database.rows import Columns, read
from postroom.kernel.values.errors import FieldError, Refused, ValidationError
from postroom.kernel.values.ids import seconds
from postroom.people.model import Purpose, person_of_inbox
from postroom.people.signing_in.rules import digest as rules_digest
from postroom.people.signing_in.rules import new_secret
from postroom.people.store.addresses import IS_INBOX, KEPT_US
from postroom.people.store.people import StoredPeople
from postroom.people.store.tables import email_confirmations, person_addresses
from postroom.people.store.writing import BookWriter

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
_LINKS: Final = Claims(
    email_confirmations,
    and_(_TABLE.handed_over_at.is_(None), _TABLE.confirmed_at.is_(None), _WANTED),
    fence=_TABLE.attempts,
    lease=_TABLE.due_at,
)
_log = structlog.get_logger("postroom.pairing")


class StoredConfirmations:
    def __init__(self, database: Database, people: StoredPeople) -> None:
        self._database = database
        self._people = people

    async def take(self, *, now_us: int, lease_until_us: int, copies: bool = True) -> Sequence[AskedToConfirm]:
        asked = or_(IS_INBOX, _TABLE.expires_at > now_us) if copies else and_(~IS_INBOX, _TABLE.expires_at > now_us)

        def work(connection: Connection) -> list[AskedToConfirm]:
            taken = _LINKS.take(connection, asked, limit=_MOST_AT_ONCE, now_us=now_us, lease_until_us=lease_until_us)
            return [*_taken(connection, taken, now_us)]

        return await self._database.write(work)

    async def settle(self, asked: AskedToConfirm, ending: Ending, now_us: int) -> bool:
        """False when it was taken up by another meanwhile."""
        ended, unsent = _ended(ending, now_us), _TABLE.handed_over_at.is_(None)
        return await self._database.write(
            lambda connection: _LINKS.write(connection, asked.id, asked.attempts, ended, unsent)
        )

    async def claim(self, secret: str, now_us: int) -> AddressClaim | None:
        row = await self._database.read(lambda connection: _open(connection, secret, now_us))
        return read(AddressClaim, row) if row else None

    async def confirm(self, secret: str, now_us: int) -> AddressClaim | None:
        claimed = await self.claim(secret, now_us)
        if claimed is None:
            return None
        if claimed.purpose is Purpose.PAIRING:
            return await self._prove(secret, claimed, now_us)
        return await self._database.write(lambda connection: _copies_go_there(connection, secret, claimed, now_us))

    async def _prove(self, secret: str, claimed: AddressClaim, now_us: int) -> AddressClaim | None:
        def work(writer: BookWriter) -> AddressClaim | None:
            if not _used(writer.connection, secret, now_us):
                return None
            writer.prove(claimed.user_id, claimed.channel, claimed.address)
            return claimed

        try:
            return await self._people.write(work, now_us)
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
    mine = and_(_TABLE.digest == rules_digest(secret), _TABLE.confirmed_at.is_(None))
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


def _taken(connection: Connection, rows: Sequence[Row[Any]], now_us: int) -> Iterator[AskedToConfirm]:
    for row in rows:
        secret = new_secret()
        values = {
            "digest": rules_digest(secret),
            "expires_at": now_us + seconds(LINK_LIFE_SECONDS) if row.purpose == Purpose.INBOX else row.expires_at,
        }
        _LINKS.write(connection, row.id, row.attempts, values)
        yield read(AskedToConfirm, row, digest=rules_digest(secret), secret=secret)


def _open(connection: Connection, secret: str, now_us: int) -> Row[Any] | None:
    good = and_(_TABLE.digest == rules_digest(secret), _TABLE.confirmed_at.is_(None), _TABLE.expires_at > now_us)
    return connection.execute(select(email_confirmations).where(good, _WANTED)).first()


def _ended(ending: Ending, now_us: int) -> Columns:
    match ending:
        case HandedOver() | GivenUp():
            return {"handed_over_at": now_us}
        case TryAgain(at_us):
            return {"due_at": at_us}
        case _:
            assert_never(ending)


# What people want, one row each.


PolicyEdit = Callable[[Preferences, Loaded], tuple[Preferences, NoticeChanges | None]]


class StoredPreferences:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, user_id: str) -> Preferences:
        return await self._database.read(lambda connection: wishes_of(connection, user_id))

    async def change(self, user_id: str, edit: Callable[[Preferences], Preferences], now_us: int) -> Preferences:
        return await self._database.write(lambda connection: _change(connection, user_id, edit, now_us))

    async def change_both(
        self, user_id: str, wanted: Wanted, edit: PolicyEdit, follow: Follow, now_us: int
    ) -> Preferences:
        """The preferences and what attention keeps of the same person, as one step."""
        return await self._database.write(
            lambda connection: _change_both(connection, user_id, wanted, edit, follow, now_us)
        )

    async def is_users_own(self, channel: str, address: str) -> bool:
        """Whether somebody has this address, confirmed, as the place for copies of their own notifications."""
        if channel != "email":
            return False
        found = select(notification_preferences.c.user_id).where(notification_preferences.c.email == address).limit(1)
        return await self._database.read(lambda connection: connection.execute(found).first() is not None)

    async def awaits_confirmation(self, channel: str, address: str) -> bool:
        """Whether a message that asks this address if it is somebody's own is on its way out just now."""
        here = and_(_TABLE.channel == channel, _TABLE.address == address)
        asked = and_(here, _TABLE.digest.is_not(None), _TABLE.handed_over_at.is_(None))
        found = select(_TABLE.id).where(asked, _WANTED).limit(1)
        return await self._database.read(lambda connection: connection.execute(found).first() is not None)


def _change_both(
    connection: Connection, user_id: str, wanted: Wanted, edit: PolicyEdit, follow: Follow, now_us: int
) -> Preferences:
    """Whoever takes both locks takes the person's first."""
    person = person_of_inbox(user_id)
    lock_person(connection, person)
    lock_inbox(connection, user_id)
    loaded = load(connection, person, wanted)
    after, changes = edit(wishes_of(connection, user_id), loaded)
    if changes is not None:
        write(connection, loaded, changes)
    kept = _change(connection, user_id, lambda _: after, now_us)
    follow_notes(connection, user_id, follow)
    return kept


def _change(
    connection: Connection, user_id: str, edit: Callable[[Preferences], Preferences], now_us: int
) -> Preferences:
    lock_inbox(connection, user_id)
    known, before = read_preferences(connection, user_id), wishes_of(connection, user_id)
    after = edit(before)
    values = preference_values(_as_said(known, before, after)) | {"updated_at": now_us}
    if known is None:
        connection.execute(insert(notification_preferences), values | {"user_id": user_id, "created_at": now_us})
    else:
        mine = notification_preferences.c.user_id == user_id
        connection.execute(update(notification_preferences).where(mine).values(values))
    if after.email_pending is not None:
        ask_to_confirm(connection, user_id, after.email_pending, now_us)
    return wishes_of(connection, user_id)


def _as_said(known: Preferences | None, before: Preferences, after: Preferences) -> Preferences:
    """An address that is only the owner's own, and not one named for copies, goes on to follow the owner's."""
    is_lent = (known or Preferences()).email is None and before.email is not None
    return replace(after, email=None) if is_lent and after.email == before.email else after
