"""Presentations as rows, and rows as presentations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, exists, func, literal, or_, select, update

from postroom.domain.delivery import Status
from postroom.domain.presentation import Presentation, Token
from postroom.domain.question_change import QuestionEventType
from postroom.domain.question_states import PresentationStatus, QuestionStatus
from postroom.world.store.engine.rows import read, values
from postroom.world.store.tables.conversations import inbound_messages
from postroom.world.store.tables.deliveries import delivery_receipts, delivery_requests
from postroom.world.store.tables.questions import presentation_parts, presentations, question_events, questions


def found_presentations(connection: Connection, asked: Select[Any]) -> list[Presentation]:
    """In the order of these rows, each with the provider's ids of all its parts."""
    return [one for one, _ in fenced_presentations(connection, asked)]


def fenced_presentations(connection: Connection, asked: Select[Any]) -> list[tuple[Presentation, int]]:
    """The same, each with its fence."""
    rows = connection.execute(asked).all()
    parts = _parts(connection, [row.id for row in rows])
    return [(read_presentation(row, parts.get(row.id, ())), row.fence) for row in rows]


def about(channel: str, address: str, provider_id: str) -> Select[Any]:
    """
    Of an open question: that for which this message was sent, as a reminder or as a box to reply in.

    All that is sent about a presentation has its id in the request's.
    """
    request, receipt = delivery_requests.c, delivery_receipts.c
    return (
        select(presentations, request.id.label("sent"), request.created_at.label("sent_at"))
        .join(questions, questions.c.id == presentations.c.question_id)
        .join(delivery_requests, request.request_id == literal("ask:") + presentations.c.id)
        .join(delivery_receipts, receipt.delivery_request_id == request.id)
        .where(
            questions.c.status == str(QuestionStatus.OPEN),
            presentations.c.channel == channel,
            presentations.c.address == address,
            receipt.provider_delivery_id == provider_id,
        )
        .limit(1)
    )


def found_about(connection: Connection, channel: str, address: str, provider_id: str) -> Presentation | None:
    """The same, worded as it was in that message."""
    row = connection.execute(about(channel, address, provider_id)).first()
    if row is None:
        return None
    shown = read_presentation(row, ())
    return shown if row.sent == row.delivery_id else worded_at(connection, shown, row.sent_at)


def worded_at(connection: Connection, shown: Presentation, at_us: int) -> Presentation:
    """What was said then is about the words of then: it is no answer to those that stand on the card since."""
    event, question = question_events.c, questions.c
    revised = (event.event_type == str(QuestionEventType.REVISED), event.at > at_us)
    asked = select(func.count()).where(event.question_id == shown.question_id, *revised)
    since: int = connection.execute(asked).scalar_one()
    if since == 0:
        return shown
    now: int = connection.execute(select(question.revision).where(question.id == shown.question_id)).scalar_one()
    return replace(shown, revision=now - since)


def unnumbered(channel: str, address: str) -> Select[Any]:
    """Of open questions: those whose card may be there under a number that never reached us."""
    mine = delivery_requests.c.request_id == literal("ask:") + presentations.c.id
    doubled = exists().where(mine, delivery_requests.c.possible_duplicate.is_(True))
    parked = exists().where(mine, delivery_requests.c.status == str(Status.AWAITING_APPROVAL))
    under_way = and_(presentations.c.status == str(PresentationStatus.PLANNED), presentations.c.fence > 0, ~parked)
    return (
        select(presentations)
        .join(questions, questions.c.id == presentations.c.question_id)
        .where(
            questions.c.status == str(QuestionStatus.OPEN),
            presentations.c.channel == channel,
            presentations.c.address == address,
            or_(under_way, presentations.c.status == str(PresentationStatus.UNCERTAIN), doubled),
        )
        .order_by(presentations.c.id)
    )


def is_numbered(connection: Connection, channel: str, address: str, provider_id: str) -> bool:
    """A message there that we know by this number, ours or a person's own."""
    request, receipt = delivery_requests.c, delivery_receipts.c
    known = (
        select(request.id)
        .join(delivery_receipts, receipt.delivery_request_id == request.id)
        .where(receipt.provider_delivery_id == provider_id, request.channel == channel, request.address == address)
    )
    heard = (inbound_messages.c.channel == channel, inbound_messages.c.event_id == f"message:{address}:{provider_id}")
    return any(
        connection.execute(one.limit(1)).first() is not None
        for one in (known, select(inbound_messages.c.id).where(*heard))
    )


def awaiting_words(channel: str, places: Sequence[str]) -> Select[Any]:
    """Of open questions, the card there on which *Other* was pressed last."""
    table = presentations.c
    return (
        select(presentations)
        .join(questions, questions.c.id == table.question_id)
        .where(
            questions.c.status == str(QuestionStatus.OPEN),
            table.channel == channel,
            table.address.in_(places),
            table.words_awaited_at.is_not(None),
        )
        .order_by(table.words_awaited_at.desc())
        .limit(1)
    )


def wrote_since(connection: Connection, awaiting: Row[Any], place: str) -> bool:
    """Whether they wrote anything else there since; a message that is being heard has no person yet."""
    table = inbound_messages.c
    theirs = (table.person == awaiting.person_id, table.channel == awaiting.channel, table.place == place)
    last = connection.execute(select(table.received_at).where(*theirs).order_by(table.id.desc()).limit(1)).scalar()
    return last is not None and last > awaiting.words_awaited_at


def presentation_by_id(connection: Connection, question_id: str, presentation_id: str | None) -> Presentation | None:
    """None, too, when it shows another question."""
    mine = (presentations.c.id == presentation_id, presentations.c.question_id == question_id)
    return next(iter(found_presentations(connection, select(presentations).where(*mine))), None)


def write_toggles(connection: Connection, presentation_id: str, toggles: Sequence[str], now_us: int) -> None:
    change = update(presentations).where(presentations.c.id == presentation_id)
    connection.execute(change.values(toggles=json.dumps(list(toggles)), updated_at=now_us))


def presentation_row(new: Presentation) -> dict[str, Any]:
    return values(new, without=("delivery_id", "provider_ids"), toggles="[]", fence=0)


def read_presentation(row: Row[Any], parts: Sequence[str]) -> Presentation:
    return read(Presentation, row, provider_ids=tuple(parts), toggles=tuple(json.loads(row.toggles)))


def token_row(token: Token) -> dict[str, Any]:
    return {
        "token_hash": token.hash,
        "presentation_id": token.presentation_id,
        "action": str(token.action),
        "option": token.option,
        "revision": token.revision,
    }


def read_token(row: Row[Any]) -> Token:
    return read(Token, row, hash=row.token_hash)


def _parts(connection: Connection, ids: Sequence[str]) -> dict[str, list[str]]:
    if not ids:
        return {}
    table = presentation_parts.c
    asked = select(presentation_parts).where(table.presentation_id.in_(ids)).order_by(table.presentation_id, table.part)
    rows: Sequence[Row[Any]] = connection.execute(asked).all()
    return {name: [row.provider_id for row in group] for name, group in groupby(rows, lambda row: row.presentation_id)}
