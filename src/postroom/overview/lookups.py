"""What an id means, for a reader: its trace, and a reason for each thing it stands for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from sqlalchemy import Connection, or_, select

from postroom.attention.reading import NoticeReading, NoticeView
from postroom.conversations.model import KeptMessage
from postroom.conversations.store import StoredInbound
from postroom.delivery.reading.record import TracedDelivery
from postroom.delivery.store.tables import delivery_requests
from postroom.inbox.model import Terms
from postroom.kernel.database.engine import Database
from postroom.kernel.running.clock import Clock
from postroom.kernel.text.visible import reveal
from postroom.kernel.values.errors import SettingsError
from postroom.kernel.values.fields import Document, nearest
from postroom.kernel.values.principal import HOUSEHOLD_OWNER, Role
from postroom.message.delivery import Priority
from postroom.overview.story import RequestTrace, ids_with_prefix, note, recent_ids, surroundings, trace
from postroom.overview.why import why, why_refused
from postroom.overview.why_held import inbound_document, why_held, why_inbound, why_note, why_notice, why_question
from postroom.people.store.people import StoredPeople
from postroom.questions.shapes import QuestionStory, QuestionView
from postroom.questions.store.questions import story

_SHORTEST_PREFIX: Final = 4
_MOST_CANDIDATES: Final = 8
_REMEMBERED: Final = 500


class NothingKnown(SettingsError):
    """No delivery, request, notification or question has this id."""


class SeveralMeant(SettingsError):
    """The beginning of more ids than one."""

    def __init__(self, prefix: str, ids: Iterable[str]) -> None:
        super().__init__(f"'{prefix}' is the beginning of several ids; give more of it. There are {', '.join(ids)}.")


@dataclass(frozen=True, slots=True)
class DeliveryReason:
    id: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookups:
    """
    With an origin, only what that sender has sent is known; whatever is not known raises NothingKnown.

    `terms` and `attempts_for` are how the household decides, so that a reason given is the reason that counts.
    """

    database: Database
    inbound: StoredInbound
    notices: NoticeReading
    people: StoredPeople
    terms: Terms
    attempts_for: Callable[[Priority], int]
    clock: Clock

    async def trace(self, identifier: str, origin: str | None = None) -> Document:
        kept, name = await self._written(identifier, origin)
        inbound = {} if kept is None else {"inbound": inbound_document(kept, name)}
        carried = await self._carried(identifier) if origin is None else identifier
        try:
            found = await self.database.read(lambda connection: _traced(connection, carried, origin))
        except NothingKnown:
            if kept is None and origin is None:
                await self._refuse_unsent(identifier)
            if kept is None:
                raise
            found = RequestTrace(request_id=identifier)
        return found.document() | inbound

    async def _carried(self, identifier: str) -> str:
        """Of a notice the delivery that showed it, which may be a digest of several agents' words."""
        view = await self.notices.notice(identifier)
        sends = view.sends if view is not None else ()
        return next((one.delivery_id for one in sends if one.delivery_id is not None), identifier)

    async def _refuse_unsent(self, identifier: str) -> None:
        """What is known and has no trace is not called unknown."""
        known = await self.database.read(lambda connection: _has_reason(connection, identifier))
        if known or await self.notices.notice(identifier) is not None:
            raise NothingKnown(f"No message of '{identifier}' has left: `postroom why {identifier}` says where it is.")

    async def why(self, identifier: str, origin: str | None = None) -> list[DeliveryReason]:
        of_note = await self.database.read(partial(_note_meant, identifier=identifier)) if origin is None else None
        copy = await self.notices.notice(of_note) if of_note is not None else None
        if of_note is None and (found := await self._of_notice(identifier, origin)) is not None:
            return [found]
        kept, name = await self._written(identifier, origin)
        written = [] if kept is None else [DeliveryReason(kept.id, why_inbound(kept, name, self.clock.now_us()))]
        try:
            reasons = await self.database.read(partial(self._reasons, identifier=identifier, origin=origin, copy=copy))
        except NothingKnown:
            if not written:
                raise
            reasons = []
        return written + [await self._with_notices(one) for one in reasons]

    async def _written(self, identifier: str, origin: str | None) -> tuple[KeptMessage | None, str | None]:
        """A message that a person wrote, with their name; not for those who see only what they sent."""
        return (None, None) if origin is not None else await self.inbound.with_name(identifier)

    async def _of_notice(self, notice_id: str, origin: str | None) -> DeliveryReason | None:
        view = await self.notices.notice(notice_id)
        if view is None or (origin is not None and view.agent != origin):
            return None
        found = await self.people.find(HOUSEHOLD_OWNER, view.person)
        person = found[0].name if len(found) == 1 and found[0].name else view.person
        return DeliveryReason(notice_id, why_notice(view, person, self.clock.now_us()))

    async def _with_notices(self, reason: DeliveryReason) -> DeliveryReason:
        """And what held a delivery before it was one."""
        views = await self.notices.behind(reason.id)
        held = [words for view in views if (words := why_held(view, self.clock.now_us()))]
        return replace(reason, why=" ".join([reason.why, *held]))

    def _reasons(
        self, connection: Connection, identifier: str, origin: str | None, copy: NoticeView | None
    ) -> list[DeliveryReason]:
        """One paragraph for each delivery, refusal, note or question that the identifier stands for."""
        meant, now_us = _meant(connection, identifier, origin), self.clock.now_us()
        kept = note(connection, meant) if origin is None else None
        words = [
            why_note(kept, copy, terms=self.terms, now_us=now_us) if kept is not None else None,
            _of_question(connection, now_us, meant, origin),
        ]
        found = _trace(connection, meant, origin)
        told = [self._of_delivery(connection, one) for one in found.deliveries]
        chosen = [one for one in told if one.id == meant] or told
        refused = [DeliveryReason(one.id, why_refused(one, now_us)) for one in found.refusals]
        notes = [DeliveryReason(meant, one) for one in words if one is not None]
        return notes + chosen + refused or [_without_delivery(_known(connection, meant, origin))]

    def _of_delivery(self, connection: Connection, traced: TracedDelivery) -> DeliveryReason:
        one = traced.delivery
        around = surroundings(connection, one.delivery_id, one.channel)
        around = replace(around, max_attempts=self.attempts_for(one.priority))
        return DeliveryReason(one.delivery_id, why(traced, self.clock.now_us(), around))


def _of_question(connection: Connection, now_us: int, identifier: str, origin: str | None) -> str | None:
    """Of a sender only what it asked itself."""
    found = story(connection, identifier)
    if found is None or (origin is not None and found.question.asker not in (origin, f"{Role.BUTLER}:{origin}")):
        return None
    view = QuestionView(question=found.question, presentations=found.presentations)
    known = QuestionStory(view=view, events=(), attempts=found.attempts if origin is None else ())
    return reveal(why_question(known, now_us))


def _traced(connection: Connection, identifier: str, origin: str | None) -> RequestTrace:
    meant = _meant(connection, identifier, origin)
    cards = _of_cards(connection, meant) if origin is None else None
    return cards or _known(connection, meant, origin)


def _of_cards(connection: Connection, question_id: str) -> RequestTrace | None:
    """Of a question the ways of its cards, one for each person and channel; None while none has left."""
    found = story(connection, question_id)
    sent = [one.delivery_id for one in found.presentations if one.delivery_id is not None] if found is not None else []
    ways = [trace(connection, _request_id(connection, one)) for one in sent]
    deliveries = [one for way in ways for one in way.deliveries]
    hops = [one for way in ways for one in way.hops]
    return RequestTrace(request_id=question_id, hops=hops, deliveries=deliveries) if deliveries else None


def _has_reason(connection: Connection, identifier: str) -> bool:
    return story(connection, identifier) is not None or note(connection, identifier) is not None


def _note_meant(connection: Connection, identifier: str) -> str | None:
    """The id of the note, if it is one's."""
    kept = note(connection, _meant(connection, identifier, None))
    return kept.note.id if kept is not None else None


def _meant(connection: Connection, identifier: str, origin: str | None) -> str:
    """The one id that begins so. Ids of one request are one: made in the same moment, they begin alike."""
    if len(identifier) < _SHORTEST_PREFIX or not _trace(connection, identifier, origin).is_empty:
        return identifier
    found = ids_with_prefix(connection, identifier, origin=origin, most=_MOST_CANDIDATES)
    if len(set(found.values())) > 1:
        raise SeveralMeant(identifier, found)
    return next(iter(found if len(found) == 1 else found.values()), identifier)


def _without_delivery(found: RequestTrace) -> DeliveryReason:
    """The switchboard noted the call, and nothing came of it."""
    reason = found.hops[-1].error_message or found.hops[-1].status
    return DeliveryReason(found.request_id, f"It never became a delivery: {reason}. Nothing was stored or sent.")


def _trace(connection: Connection, identifier: str, origin: str | None) -> RequestTrace:
    found = trace(connection, _request_id(connection, identifier))
    return found if origin is None else found.of(origin)


def _known(connection: Connection, identifier: str, origin: str | None) -> RequestTrace:
    found = _trace(connection, identifier, origin)
    if not found.is_empty:
        return found
    if origin is not None:
        raise NothingKnown(f"Nothing of yours is known under '{identifier}'. Give the id of what you sent or asked.")
    ids = recent_ids(connection, _REMEMBERED)
    meant = nearest(identifier, ids)
    latest = f"The newest delivery is {ids[0]}." if ids else "No delivery has been stored yet."
    raise NothingKnown(
        f"Nothing is known of '{identifier}'{f', did you mean {meant}?' if meant else '.'} {latest} "
        "Give the id of a delivery, a request, a notification or a question."
    )


def _request_id(connection: Connection, identifier: str) -> str:
    """A request id, or the request behind a delivery id."""
    one = delivery_requests.c
    asked = select(one.request_id).where(or_(one.request_id == identifier, one.id == identifier))
    return connection.execute(asked.limit(1)).scalar() or identifier
