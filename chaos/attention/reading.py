"""Read what became of notices from the log, the ledger, the provider and the journal."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, select

from chaos import journal
from chaos.attention.accounts import Accounts, Person, Place, Sent, judged
from chaos.attention.replay import otherwise
from chaos.offset_clock import OffsetClock
from chaos.rig import Rig
from chaos.tokens import tokens_in
from postroom.attention.attention import Attention
from postroom.attention.rules.decide import every_open_notice_has_a_next
from postroom.attention.state import Wanted
from postroom.delivery.store.tables import delivery_requests
from postroom.household.attention import build_attention
from postroom.household.store import Premises, connect_store
from postroom.settings.load import load

_TEXTS = {"telegram": "text", "email": "body"}


async def accounts(rig: Rig, offset_seconds: float) -> Accounts:
    settings, _ = load(rig.environment)
    store = connect_store(settings)
    try:
        attention = build_attention(Premises(settings=settings, store=store, clock=OffsetClock(offset_seconds)))
        people = [await _person(attention, one.person) for one in await attention.book.store.everybody()]
        sent = await store.database.read(_sent)
    finally:
        await store.database.close()
    arrived = [place for channel, text in _TEXTS.items() for place in await _arrived(rig, channel, text)]
    return judged(people, sent, arrived, list(journal.read(rig.journal)))


async def _person(attention: Attention, person: str) -> Person:
    """Everything that is kept of one person, with every law and the replay."""
    audited = await attention.audit_of(person)
    state = (await attention.book.store.read(person, Wanted(everything=True))).state(person)
    events = [row.event for row in await attention.book.store.log(person)]
    book, now_us = attention.book.policies, attention.book.clock.now_us()
    return Person(
        state=state,
        events=events,
        otherwise=otherwise(person, events, book),
        broken=(*audited, *every_open_notice_has_a_next(state, book, now_us)),
    )


def _sent(connection: Connection) -> list[Sent]:
    request = delivery_requests.c
    found = select(request.channel, request.message_content, request.status, request.possible_duplicate)
    return [
        Sent(place=_place(channel, text), delivered=status == "delivered", marked=bool(possible_duplicate))
        for channel, text, status, possible_duplicate in connection.execute(found)
    ]


async def _arrived(rig: Rig, channel: str, text: str) -> list[Place]:
    messages: list[dict[str, Any]] = await rig.provider.listed(channel)
    return [_place(channel, one[text]) for one in messages]


def _place(channel: str, text: str) -> Place:
    return channel, tuple(sorted(tokens_in(text)))
