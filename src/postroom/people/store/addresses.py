"""Pairings on disk: codes that wait for their person, and senders who guess."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Connection, and_, delete, func, insert, select, update

from postroom.kernel.database.rows import read, values
from postroom.kernel.values.errors import Code, Refused
from postroom.kernel.values.ids import seconds
from postroom.message.delivery import folded
from postroom.people.model import (
    CODES_CLOSED_SECONDS,
    MOST_OPEN_PAIRINGS,
    CodeSent,
    NewPairing,
    Person,
    Purpose,
    WrongCodes,
)
from postroom.people.store.people import StoredPeople
from postroom.people.store.tables import email_confirmations, pairing_codes, pairing_wrong_codes, people
from postroom.people.store.writing import BookWriter

_CODE: Final = pairing_codes.c
_WRONG: Final = pairing_wrong_codes.c
_TABLE: Final = email_confirmations.c
IS_INBOX: Final = _TABLE.purpose == Purpose.INBOX
KEPT_US: Final = seconds(30 * 24 * 3600.0)  # after what was started could still be used


class StoredPairings:
    def __init__(self, people: StoredPeople) -> None:
        self._people = people

    async def start(self, new: NewPairing) -> NewPairing:
        return await self._people.write(lambda writer: _start(writer.connection, new), new.created_at_us)

    async def redeem(self, sent: CodeSent, now_us: int) -> Person | None:
        """The code and the address change together; a message that is read twice has paired once."""
        return await self._people.write(lambda writer: _redeem(writer, sent), now_us)


def _start(connection: Connection, new: NewPairing) -> NewPairing:
    """Under the lock of the person, so that two at once are not one too many."""
    connection.execute(select(people.c.id).where(people.c.id == new.person_id).with_for_update())
    known = _code_under(connection, new.id) or _link_under(connection, new.id)
    if known is not None:
        if (known.person_id, known.channel) != (new.person_id, new.channel):
            raise Refused(Code.KEY_REUSED, "this idempotency key was used for another pairing")
        return known
    _refuse_too_many(connection, new)
    if new.digest is None:
        _send_link(connection, new)
    else:
        connection.execute(delete(pairing_codes).where(_CODE.expires_at < new.created_at_us - KEPT_US))
        connection.execute(insert(pairing_codes), values(new, without=("address",), expires_at=new.expires_at_us))
    return new


def _refuse_too_many(connection: Connection, new: NewPairing) -> None:
    now_us = new.created_at_us
    codes = (_CODE.person_id == new.person_id, _CODE.used_at.is_(None), _CODE.expires_at > now_us)
    links = (~IS_INBOX, _TABLE.user_id == new.person_id, _TABLE.confirmed_at.is_(None), _TABLE.expires_at > now_us)
    found = [connection.execute(select(func.count()).where(*open_now)).scalar_one() for open_now in (codes, links)]
    if sum(found) >= MOST_OPEN_PAIRINGS:
        words = f"{MOST_OPEN_PAIRINGS} codes or links of this person are open already; use one, or wait until it ends"
        raise Refused(Code.ILLEGAL_TRANSITION, words)


def _code_under(connection: Connection, pairing_id: str) -> NewPairing | None:
    row = connection.execute(select(pairing_codes).where(_CODE.id == pairing_id)).first()
    return read(NewPairing, row, address=None) if row else None


def _redeem(writer: BookWriter, sent: CodeSent) -> Person | None:
    connection, now_us = writer.connection, writer.now_us
    wanted = and_(_CODE.digest.in_(sent.digests), _CODE.channel == sent.channel)
    found = connection.execute(select(pairing_codes).where(wanted).with_for_update()).all()
    if before := next((row for row in found if row.used_by == sent.event_id), None):
        return next(iter(writer.read([before.person_id])), None)
    wrong = _wrong_codes(connection, sent)
    if wrong.is_closed(now_us):
        return None
    code = next((row for row in found if row.used_at is None and row.expires_at > now_us), None)
    if code is None:
        _remember(connection, sent, wrong.and_more(len(sent.digests), now_us))
        return None
    used = update(pairing_codes).where(_CODE.id == code.id)
    connection.execute(used.values(used_at=now_us, used_by=sent.event_id))
    return writer.prove(code.person_id, sent.channel, sent.sender)


def _wrong_codes(connection: Connection, sent: CodeSent) -> WrongCodes:
    row = connection.execute(select(pairing_wrong_codes).where(_from(sent)).with_for_update()).first()
    return read(WrongCodes, row) if row else WrongCodes()


def _remember(connection: Connection, sent: CodeSent, wrong: WrongCodes) -> None:
    """Those of whom nothing wrong was heard for long are forgotten."""
    old = _WRONG.last_at < wrong.last_at_us - seconds(CODES_CLOSED_SECONDS)
    connection.execute(delete(pairing_wrong_codes).where(old))
    row = values(wrong, channel=sent.channel, sender=folded(sent.sender))
    if not connection.execute(update(pairing_wrong_codes).where(_from(sent)).values(row)).rowcount:
        connection.execute(insert(pairing_wrong_codes), row)


def _from(sent: CodeSent) -> Any:
    return and_(_WRONG.channel == sent.channel, _WRONG.sender == folded(sent.sender))


# The links that confirm an address.


def _send_link(connection: Connection, new: NewPairing) -> None:
    """To an address that a person is to prove; what it was good for is forgotten after a while."""
    connection.execute(delete(email_confirmations).where(_TABLE.created_at < new.created_at_us - KEPT_US))
    due = {"due_at": new.created_at_us, "expires_at": new.expires_at_us}
    row = values(new, without=("person_id",), user_id=new.person_id, attempts=0, purpose=Purpose.PAIRING, **due)
    connection.execute(insert(email_confirmations), row)


def _link_under(connection: Connection, pairing_id: str) -> NewPairing | None:
    row = connection.execute(select(email_confirmations).where(_TABLE.id == pairing_id)).first()
    return read(NewPairing, row, person_id=row.user_id, digest=None) if row else None
