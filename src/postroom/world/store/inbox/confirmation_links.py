"""The links that confirm an address."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, delete, func, insert, select

from postroom.domain.confirmation_origin import Purpose
from postroom.domain.pairing import NewPairing
from postroom.world.store.tables.email_confirmations import email_confirmations

_TABLE: Final = email_confirmations.c
KEPT_US: Final = 30 * 86_400_000_000
IS_INBOX: Final = _TABLE.purpose == Purpose.INBOX


def send_link(connection: Connection, new: NewPairing) -> None:
    """To an address that a person is to prove; what it was good for is forgotten after a while."""
    connection.execute(delete(email_confirmations).where(_TABLE.created_at < new.created_at_us - KEPT_US))
    row = {
        "id": new.id,
        "user_id": new.person_id,
        "address": new.address,
        "attempts": 0,
        "due_at": new.created_at_us,
        "created_at": new.created_at_us,
        "expires_at": new.expires_at_us,
        "purpose": Purpose.PAIRING,
        "channel": new.channel,
    }
    connection.execute(insert(email_confirmations), row)


def open_links(connection: Connection, person_id: str, now_us: int) -> int:
    """How many links of a person may still prove an address."""
    mine = (~IS_INBOX, _TABLE.user_id == person_id, _TABLE.confirmed_at.is_(None), _TABLE.expires_at > now_us)
    return connection.execute(select(func.count()).where(*mine)).scalar_one()


def link_under(connection: Connection, pairing_id: str) -> NewPairing | None:
    row = connection.execute(select(email_confirmations).where(_TABLE.id == pairing_id)).first()
    if row is None:
        return None
    return NewPairing(
        id=row.id, person_id=row.user_id, channel=row.channel, address=row.address, created_at_us=row.created_at
    )
