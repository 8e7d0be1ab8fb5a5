"""Presentations on disk: which are to be shown or closed, who is at it, and what their buttons stand for."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, and_, bindparam, exists, func, or_, select, update

from postroom.delivery.store.tables import delivery_receipts, delivery_requests
from postroom.kernel.database.claims import Claims
from postroom.kernel.database.engine import Database, Repeated, insert_for
from postroom.kernel.database.moments import put_moment
from postroom.kernel.database.prepared import Prepared
from postroom.kernel.database.rows import Columns, read, values
from postroom.kernel.values.ids import SECOND_US
from postroom.kernel.values.moments import Reason
from postroom.message.delivery import Status
from postroom.questions.model import (
    PASSED_ON,
    SETTLED,
    Hold,
    PlannedPresentation,
    Presentation,
    PresentationClaim,
    PresentationMove,
    PresentationStatus,
    PressedToken,
    Question,
    QuestionEventType,
    QuestionStatus,
    Shown,
    SubjectKind,
    Token,
    after_showing,
)
from postroom.questions.store import steps
from postroom.questions.store.steps import presentation_row
from postroom.questions.store.tables import (
    presentation_parts,
    presentation_tokens,
    presentations,
    question_events,
    question_people,
    questions,
)

_ON_SHOW: Final = (PresentationStatus.SHOWN, PresentationStatus.UNCERTAIN)
_TO_DO: Final = (PresentationStatus.PLANNED, PresentationStatus.CLOSING, *_ON_SHOW)
_CLAIMS: Final = Claims(
    presentations,
    presentations.c.status.in_([str(status) for status in _TO_DO]),
    fence=presentations.c.fence,
    lease=presentations.c.due_at,
)
# These are asked for every card.
_OF_QUESTION: Final = Prepared(
    select(presentations).where(
        presentations.c.id == bindparam("its_id"), presentations.c.question_id == bindparam("asked_id")
    )
)
_PARTS: Final = Prepared(
    select(presentation_parts)
    .where(presentation_parts.c.presentation_id.in_(bindparam("ids", expanding=True)))
    .order_by(presentation_parts.c.presentation_id, presentation_parts.c.part)
)
_UNPLANNED: Final = Prepared(
    select(questions)
    .where(
        questions.c.id.in_(
            select(question_people.c.question_id)
            .where(question_people.c.planned_at.is_(None))
            .distinct()
            .limit(bindparam("most"))
        )
    )
    .order_by(questions.c.id)
)
_OF: Final = Prepared(
    select(presentations).where(presentations.c.question_id == bindparam("asked_id")).order_by(presentations.c.id)
)
_PRESSED: Final = Prepared(select(presentation_tokens).where(presentation_tokens.c.token_hash == bindparam("pressed")))
_BY_ID: Final = Prepared(select(presentations).where(presentations.c.id == bindparam("its_id")))
_OVER: Final = Prepared(
    update(presentations).where(presentations.c.id == bindparam("its_id")).values(status=bindparam("its_end"))
)
_TokensOf = Callable[[PresentationClaim], Sequence[Token]]


def _no_tokens(_claim: PresentationClaim) -> Sequence[Token]:
    return ()


# ---- rows ----


def found_presentations(connection: Connection, asked: Select[Any]) -> list[Presentation]:
    """In the order of these rows, each with the provider's ids of all its parts."""
    return _read_presentations(connection, connection.execute(asked).all())


def _read_presentations(connection: Connection, rows: Sequence[Row[Any]]) -> list[Presentation]:
    """What has not been shown has no parts."""
    parts = _parts(connection, [row.id for row in rows if row.status != PresentationStatus.PLANNED])
    return [_read_presentation(row, parts.get(row.id, ())) for row in rows]


def _read_presentation(row: Row[Any], parts: Sequence[str]) -> Presentation:
    return read(Presentation, row, provider_ids=tuple(parts))


def _parts(connection: Connection, ids: Sequence[str]) -> dict[str, list[str]]:
    if not ids:
        return {}
    rows = _PARTS.run(connection, {"ids": list(ids)})
    return {name: [row.provider_id for row in group] for name, group in groupby(rows, lambda row: row.presentation_id)}


def presentation_by_id(connection: Connection, question_id: str, presentation_id: str | None) -> Presentation | None:
    """None, too, when it shows another question."""
    if presentation_id is None:
        return None
    rows = _OF_QUESTION.run(connection, {"its_id": presentation_id, "asked_id": question_id})
    return next(iter(_read_presentations(connection, rows)), None)


def write_toggles(connection: Connection, presentation_id: str, toggles: Sequence[str], now_us: int) -> None:
    change = update(presentations).where(presentations.c.id == presentation_id)
    connection.execute(change.values(toggles=json.dumps(list(toggles)), updated_at=now_us))


# ---- the transactions ----


class Written(NamedTuple):
    """What conversations keep: whether an event is in it, and when a person last wrote to a place."""

    is_known: Callable[[Connection, str, str], bool]
    last_us: Callable[[Connection, str, str, str], int | None]


class StoredPresentations:
    def __init__(self, database: Database, mint: Callable[[int], str], written: Written) -> None:
        self._database = database
        self._repeated = Repeated(database)
        self._mint = mint
        self._written = written

    async def to_plan(self, limit: int) -> Sequence[Question]:
        """Open questions with people for whom no place to show them has been chosen; choosing twice does no harm."""
        most = {"most": limit}
        return await self._repeated.read(
            limit, lambda connection: steps.questions_of(connection, _UNPLANNED.run(connection, most))
        )

    async def unplanned(self, question_id: str) -> frozenset[str]:
        """The people of it for whom that is so."""
        people = question_people.c
        asked = select(people.person_id).where(people.question_id == question_id, people.planned_at.is_(None))
        return await self._database.read(lambda connection: frozenset(connection.execute(asked).scalars()))

    async def plan(
        self, question_id: str, people: Sequence[str], places: Sequence[PlannedPresentation], now_us: int
    ) -> Sequence[Presentation]:
        """All that there is of the question afterwards; one that ended meanwhile gets nothing new."""

        def work(connection: Connection) -> list[Presentation]:
            question = steps.locked(connection, question_id)
            if question is not None and question.is_open:
                rows = [presentation_row(one.under(self._mint(now_us), question_id, now_us)) for one in places]
                _PLAN_MORE.run_each(connection, rows)
                mine = (question_people.c.question_id == question_id, question_people.c.person_id.in_(people))
                connection.execute(update(question_people).where(*mine).values(planned_at=now_us))
            return found_presentations(connection, _of(question_id))

        return await self._database.write(work)

    async def of(self, question_id: str) -> Sequence[Presentation]:
        return await self._database.read(
            lambda connection: _read_presentations(connection, _OF.run(connection, {"asked_id": question_id}))
        )

    async def due(
        self, now_us: int, *, lease_until_us: int, limit: int, tokens_of: _TokensOf = _no_tokens
    ) -> Sequence[PresentationClaim]:
        """
        To close or to show: new ones, those whose wording is not the question's any more, those of lost processes.

        Of a question that has ended meanwhile only those come that an earlier claim may have sent:
        find out, and tell `presented`. What `tokens_of` says of a claim is issued with it.
        """
        if not await _CLAIMS.may_be_due(self._repeated, now_us):
            return []

        def work(connection: Connection) -> list[PresentationClaim]:
            taken = _CLAIMS.take(connection, limit=limit, now_us=now_us, lease_until_us=lease_until_us)
            claims = _claims(connection, taken)
            _issue(connection, [token for claim in claims for token in tokens_of(claim)])
            return claims

        return await self._database.write(work)

    async def let_go(self, before_us: int, now_us: int) -> None:
        """What an earlier process had in hand, up to leases that end then."""
        await self._database.write(lambda connection: _CLAIMS.let_go(connection, before_us=before_us, now_us=now_us))

    async def next_due(self, after_us: int) -> int | None:
        table = presentations.c
        later = select(table.due_at).where(table.due_at > after_us).order_by(table.due_at).limit(1)
        return await self._database.read(lambda connection: connection.execute(later).scalar())

    async def submitted(
        self, claim: PresentationClaim, delivery_id: str, *, revision: int, look_again_us: int, now_us: int
    ) -> bool:
        """Its message is a delivery now, and bears this wording; False when the claim is stale."""
        values = {"delivery_id": delivery_id, "due_at": look_again_us, "updated_at": now_us}
        if claim.presentation.status is PresentationStatus.PLANNED:
            values["revision"] = revision
        return await self._database.write(lambda connection: _write(connection, claim, values))

    async def later(
        self, claim: PresentationClaim, at_us: int, hold: Hold | None = None, failure: str | None = None
    ) -> bool:
        """Given back until then, with what holds it up; False when the claim is stale."""
        values = {"due_at": at_us, "hold": hold and str(hold), "failure": failure}
        return await self._database.write(lambda connection: _write(connection, claim, values))

    async def away(self, claim: PresentationClaim, at_us: int, now_us: int) -> None:
        """Given back until then; it may come up late, and what is next does not wait for it."""

        def work(connection: Connection) -> None:
            question = steps.locked(connection, claim.question.id)
            values = {"due_at": at_us, "hold": str(Hold.AWAY), "failure": None}
            if _write(connection, claim, values) and question is not None:
                _pass_on(connection, question, claim.presentation, now_us)

        await self._database.write(work)

    async def again(self, hold: Hold, now_us: int) -> None:
        """What was given back with that is due now."""
        table = presentations.c
        held = (table.due_at > now_us, table.status == str(PresentationStatus.PLANNED), table.hold == str(hold))
        change = update(presentations).where(*held).values(due_at=now_us)
        await self._database.write(lambda connection: connection.execute(change))

    async def line(self, claim: PresentationClaim) -> Sequence[PresentationClaim]:
        """The cards about approvals that wait for the same person there, the first to be decided first."""
        mine, table, asked = claim.presentation, presentations.c, questions.c
        waits = (
            asked.status == str(QuestionStatus.OPEN),
            asked.subject_kind == str(SubjectKind.APPROVAL),
            asked.preview == str(claim.question.preview),  # what only the console decides stands in no one's way
            table.channel == mine.channel,
            table.address == mine.address,
            _status_in((PresentationStatus.PLANNED, *_ON_SHOW)),
        )
        waiting = select(presentations).join(questions, asked.id == table.question_id).where(*waits)

        def work(connection: Connection) -> list[PresentationClaim]:
            return _claims(connection, connection.execute(waiting).all())

        return await self._database.read(work)

    async def presented(self, claim: PresentationClaim, shown: Shown, now_us: int) -> bool:
        """How showing or closing it went; False when the claim is stale."""

        def work(connection: Connection) -> bool:
            question = steps.locked(connection, claim.question.id)
            current = presentation_by_id(connection, claim.question.id, claim.presentation.id)
            if question is None or current is None or _is_overtaken(current, shown):
                return False
            if not _settle(connection, claim, question, current, shown, now_us):
                return False
            if shown.move in PASSED_ON and question.is_open:
                _pass_on(connection, question, current, now_us)
            _insert_parts(connection, current, shown.provider_ids)
            return True

        return await self._database.write(work)

    async def issue(self, tokens: Sequence[Token]) -> None:
        """Before the card is sent: a press may come back at once. The same tokens again change nothing."""
        if tokens:
            await self._database.write(lambda connection: _issue(connection, tokens))

    async def pressed(self, token_hash: str) -> PressedToken | None:
        def work(connection: Connection) -> PressedToken | None:
            row = _PRESSED.run(connection, {"pressed": token_hash}).first()
            if row is None:
                return None
            [shown] = _read_presentations(connection, _BY_ID.run(connection, {"its_id": row.presentation_id}))
            return PressedToken(token=read(Token, row, hash=row.token_hash), presentation=shown)

        return await self._database.read(work)

    async def behind(self, channel: str, address: str, provider_id: str) -> Presentation | None:
        """The presentation that this message, or this part of one, is; or, of an open question, is about."""
        part = presentation_parts.c
        wanted = (part.channel == channel, part.address == address, part.provider_id == provider_id)
        asked = select(presentations).join(presentation_parts).where(*wanted)

        def work(connection: Connection) -> Presentation | None:
            found = found_presentations(connection, asked)
            return found[0] if found else _found_about(connection, channel, address, provider_id)

        return await self._database.read(work)

    async def perhaps(self, channel: str, address: str, provider_id: str) -> Sequence[Presentation]:
        """What this message may be, when we know none by its number: a process may have died before it learnt it."""

        def work(connection: Connection) -> list[Presentation]:
            found = found_presentations(connection, _unnumbered(channel, address))
            if found and _is_sent(connection, channel, address, provider_id):
                return []
            theirs = f"message:{address}:{provider_id}"
            return [] if found and self._written.is_known(connection, channel, theirs) else found

        return await self._database.read(work)

    async def open_on(self, channel: str) -> Sequence[Presentation]:
        """Those on show there that still wait for an answer."""
        table = presentations.c
        asked = (
            select(presentations)
            .join(questions, questions.c.id == table.question_id)
            .where(questions.c.status == str(QuestionStatus.OPEN), table.channel == channel, _status_in(_ON_SHOW))
            .order_by(table.id)
        )
        return await self._database.read(lambda connection: found_presentations(connection, asked))

    async def await_words(self, presentation_id: str, now_us: int) -> None:
        """The person pressed *Other*: the next that they write there, alone with us, is the answer."""
        change = update(presentations).where(presentations.c.id == presentation_id).values(words_awaited_at=now_us)
        await self._database.write(lambda connection: connection.execute(change))

    async def awaited(self, channel: str, places: Sequence[str]) -> Presentation | None:
        """The card for which a message that comes now is that next one; None when another came before it."""

        def work(connection: Connection) -> Presentation | None:
            found = connection.execute(_awaiting_words(channel, places)).first()
            if found is None:
                return None
            last_us = self._written.last_us(connection, found.person_id, channel, places[0])
            if last_us is not None and last_us > found.words_awaited_at:  # they wrote something else there since
                return None
            return _worded_at(connection, _read_presentation(found, ()), found.words_awaited_at)

        return await self._database.read(work)


def _of(question_id: str) -> Select[Any]:
    return select(presentations).where(presentations.c.question_id == question_id).order_by(presentations.c.id)


def _status_in(statuses: Sequence[PresentationStatus]) -> ColumnElement[bool]:
    return presentations.c.status.in_([str(status) for status in statuses])


def _after(status: PresentationStatus, move: PresentationMove) -> PresentationStatus:
    """A card that is on show may be shown again, with another wording."""
    if status is PresentationStatus.SHOWN and move is PresentationMove.SHOW:
        return status
    return after_showing(status, move)


def _claims(connection: Connection, rows: Sequence[Row[Any]]) -> list[PresentationClaim]:
    """Of rows of presentations, in the order of their ids."""
    ordered = sorted(rows, key=lambda row: row.id)
    parts = _parts(connection, [row.id for row in ordered if row.status != PresentationStatus.PLANNED])
    known = {one.id: one for one in steps.with_ids(connection, sorted({row.question_id for row in ordered}))}
    return [
        PresentationClaim(
            presentation=_read_presentation(row, parts.get(row.id, ())),
            question=known[row.question_id],
            fence=row.fence,
        )
        for row in ordered
    ]


def _issue(connection: Connection, tokens: Sequence[Token]) -> None:
    rows = [values(one, without=("hash",), token_hash=one.hash) for one in tokens]
    _ISSUE.run_each(connection, rows)


def _write(connection: Connection, claim: PresentationClaim, values: Columns) -> bool:
    return _CLAIMS.write(connection, claim.presentation.id, claim.fence, values)


def _is_overtaken(current: Presentation, shown: Shown) -> bool:
    """The question ended while its new words were on their way: whoever closes the card has it now."""
    closes = shown.move in (PresentationMove.CLOSE, PresentationMove.LEAVE)
    return current.status in (PresentationStatus.CLOSING, *SETTLED) and not closes


def _settle(
    connection: Connection,
    claim: PresentationClaim,
    question: Question,
    current: Presentation,
    shown: Shown,
    now_us: int,
) -> bool:
    """
    The claim is used up; False when another one is newer.

    A card that came up after the end, or with an old wording, is due again at once.
    """
    status, revision = _after(current.status, shown.move), shown.revision or current.revision
    is_outdated = status in _ON_SHOW and (not question.is_open or revision < question.revision)
    change = {
        "status": str(status),
        "revision": revision,
        "hold": shown.hold and str(shown.hold),
        "failure": shown.failure,
        "due_at": now_us if is_outdated else None,
        "fence": claim.fence + 1,
        "updated_at": now_us,
        "delivery_id": shown.delivery_id or current.delivery_id,
    }
    if not _write(connection, claim, change):
        return False
    if status in _ON_SHOW and not question.is_open:  # a move of its own, as the table holds us to
        _OVER.run(connection, {"its_id": current.id, "its_end": str(after_showing(status, PresentationMove.END))})
    if status is PresentationStatus.FAILED:
        steps.next_in_line(connection, question, now_us)
    return True


def _pass_on(connection: Connection, question: Question, stuck: Presentation, now_us: int) -> None:
    """The person's next channel does not wait for its turn; when nobody is reached any more, nor does escalation."""
    table = presentations.c
    left = found_presentations(connection, _of(question.id).where(table.status != str(PresentationStatus.FAILED)))
    untouched = (table.status == str(PresentationStatus.PLANNED), table.fence == 0, table.due_at > now_us)
    for one in [one for one in left if one.person_id == stuck.person_id and one.id > stuck.id][:1]:
        connection.execute(update(presentations).where(table.id == one.id, *untouched).values(due_at=now_us))
    nobody = all(one.hold is Hold.AWAY for one in left)
    if nobody and question.is_open and question.escalate_to and question.escalated_at_us is None:
        after = (now_us - question.created_at_us) // SECOND_US
        now = update(questions).where(questions.c.id == question.id, questions.c.escalated_at.is_(None))
        if connection.execute(now.values(escalate_after_seconds=after)).rowcount:
            put_moment(connection, steps.MOMENTS, question.id, Reason.ESCALATE, now_us)


def _insert_parts(connection: Connection, shown: Presentation, provider_ids: Sequence[str]) -> None:
    rows = [
        {
            "channel": shown.channel,
            "address": shown.address,
            "provider_id": provider_id,
            "presentation_id": shown.id,
            "part": part,
        }
        for part, provider_id in enumerate(provider_ids)
    ]
    _NUMBER.run_each(connection, rows)


def _new(table: Table, *key: str) -> Prepared:
    """Those whose key is taken stay as they are."""
    return Prepared(lambda connection: insert_for(connection, table).on_conflict_do_nothing(index_elements=key))


_ISSUE: Final = _new(presentation_tokens, "token_hash")
_NUMBER: Final = _new(presentation_parts, "channel", "address", "provider_id")
_PLAN_MORE: Final = _new(presentations, "question_id", "person_id", "channel")


# ---- which card it was that a person answered ----


def _about(channel: str, address: str, provider_id: str) -> Select[Any]:
    """
    Of an open question: that for which this message was sent, as a reminder or as a box to reply in.

    All that is sent about a presentation has its id in the request's.
    """
    request, receipt = delivery_requests.c, delivery_receipts.c
    return (
        select(presentations, request.id.label("sent"), request.created_at.label("sent_at"))
        .join(questions, questions.c.id == presentations.c.question_id)
        .join(delivery_requests, request.request_id == presentations.c.id)
        .join(delivery_receipts, receipt.delivery_request_id == request.id)
        .where(
            questions.c.status == str(QuestionStatus.OPEN),
            presentations.c.channel == channel,
            presentations.c.address == address,
            receipt.provider_delivery_id == provider_id,
        )
        .limit(1)
    )


def _found_about(connection: Connection, channel: str, address: str, provider_id: str) -> Presentation | None:
    """The same, worded as it was in that message."""
    row = connection.execute(_about(channel, address, provider_id)).first()
    if row is None:
        return None
    shown = _read_presentation(row, ())
    return shown if row.sent == row.delivery_id else _worded_at(connection, shown, row.sent_at)


def _worded_at(connection: Connection, shown: Presentation, at_us: int) -> Presentation:
    """What was said then is about the words of then: it is no answer to those that stand on the card since."""
    event, question = question_events.c, questions.c
    revised = (event.event_type == str(QuestionEventType.REVISED), event.at > at_us)
    asked = select(func.count()).where(event.question_id == shown.question_id, *revised)
    since: int = connection.execute(asked).scalar_one()
    if since == 0:
        return shown
    now: int = connection.execute(select(question.revision).where(question.id == shown.question_id)).scalar_one()
    return replace(shown, revision=now - since)


def _unnumbered(channel: str, address: str) -> Select[Any]:
    """Of open questions: those whose card may be there under a number that never reached us."""
    mine = delivery_requests.c.request_id == presentations.c.id
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


def _is_sent(connection: Connection, channel: str, address: str, provider_id: str) -> bool:
    """A message of ours there that we know by this number."""
    request, receipt = delivery_requests.c, delivery_receipts.c
    known = (
        select(request.id)
        .join(delivery_receipts, receipt.delivery_request_id == request.id)
        .where(receipt.provider_delivery_id == provider_id, request.channel == channel, request.address == address)
    )
    return connection.execute(known.limit(1)).first() is not None


def _awaiting_words(channel: str, places: Sequence[str]) -> Select[Any]:
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
