"""Dead letters in the database: lists with their lineage, replay and discard in one transaction each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, func, insert, or_, select, update

from postroom.delivery.afterwards.store import tell_others
from postroom.delivery.model import DeadLetter, Discard, EarlierReplay, Replay, ReplayRefused
from postroom.delivery.reading.file import DeadLetterQuery
from postroom.delivery.reading.record import CallMade, calls_made
from postroom.delivery.store.rows import envelope_of
from postroom.delivery.store.tables import delivery_attempts, delivery_dead_letter, delivery_requests
from postroom.kernel.database.engine import PENDING_CHANNEL, Database
from postroom.kernel.database.rows import read
from postroom.kernel.http.answers import JsonObject
from postroom.kernel.values.ids import DeadLetterId, DeliveryId, record
from postroom.message.delivery import AttemptResult, Status

_letters = delivery_dead_letter.c
_requests = delivery_requests.c
_attempts = delivery_attempts.c
_original = func.coalesce(_requests.replay_of, _requests.id)
_LETTER = select(
    delivery_dead_letter,
    _original.label("original_id"),
    _requests.request_id,
    _requests.idempotency_key,
    _requests.origin_butler,
    _requests.channel,
    _requests.intent,
    _requests.target_identity,
).join(delivery_requests, _letters.delivery_request_id == _requests.id)
_Decide = Callable[[DeadLetter], Replay | ReplayRefused]


@record
class OpenedLetter:
    """With what was to be said, and every call that was made."""

    letter: DeadLetter
    envelope: JsonObject
    attempts: Sequence[CallMade]


class StoredDeadLetters:
    """Each change is one transaction in which nobody else can touch the same lineage."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def letters(self, query: DeadLetterQuery) -> Sequence[DeadLetter]:
        """Newest first, one more than the page holds when there are more."""
        return await self._database.read(partial(letters, query=query))

    async def letter(self, dead_letter_id: DeadLetterId) -> OpenedLetter | None:
        return await self._database.read(partial(_opened, dead_letter_id=dead_letter_id))

    async def replay(self, dead_letter_id: DeadLetterId, decide: _Decide) -> Replay | ReplayRefused | None:
        """Writes what is decided on the letter as it stands; None when there is no such letter."""
        return await self._database.write(partial(_replay, dead_letter_id=dead_letter_id, decide=decide))

    async def discard(self, dead_letter_id: DeadLetterId, reason: str, now_us: int) -> Discard | None:
        return await self._database.write(
            partial(_discard, dead_letter_id=dead_letter_id, reason=reason, now_us=now_us)
        )


def letters(connection: Connection, query: DeadLetterQuery) -> list[DeadLetter]:
    return with_lineage(connection, connection.execute(matching(query)).mappings().all())


def matching(query: DeadLetterQuery) -> Select[Any]:
    found = _LETTER.order_by(_letters.id.desc()).limit(query.page.limit + 1)
    for column, value in (
        (_requests.channel, query.channel),
        (_requests.origin_butler, query.origin_butler),
        (_letters.error_class, query.error_class),
    ):
        if value is not None:
            found = found.where(column == str(value))
    if query.since_us is not None:
        found = found.where(_letters.created_at >= query.since_us)
    if not query.include_discarded:
        found = found.where(_letters.discarded_at.is_(None))
    if query.page.before is not None:
        found = found.where(_letters.id < query.page.before)
    return found


def with_lineage(connection: Connection, rows: Sequence[RowMapping]) -> list[DeadLetter]:
    originals = {row["original_id"] for row in rows}
    if not originals:
        return []
    replays = _replays(connection, originals)
    uncertain = _uncertain(connection, originals)
    return [_dead_letter(row, replays[row["original_id"]], row["original_id"] in uncertain) for row in rows]


def _replays(connection: Connection, originals: Iterable[str]) -> dict[str, list[EarlierReplay]]:
    made = select(_requests.replay_of, _requests.id, _requests.replay_number, _requests.status).where(
        _requests.replay_of.in_(originals)
    )
    found: dict[str, list[EarlierReplay]] = defaultdict(list)
    for row in connection.execute(made.order_by(_requests.replay_number)):
        found[row.replay_of].append(
            EarlierReplay(delivery_id=DeliveryId(row.id), number=row.replay_number, status=Status(row.status))
        )
    return found


def _uncertain(connection: Connection, originals: Iterable[str]) -> set[str]:
    """Lineages in which some attempt may have arrived, and nothing since has said whether it did."""
    listed = list(originals)
    found = (
        select(_original)
        .join(delivery_attempts, _attempts.delivery_request_id == _requests.id)
        .where(or_(_requests.id.in_(listed), _requests.replay_of.in_(listed)))
        .where(_attempts.outcome == str(AttemptResult.UNCERTAIN), _requests.doubtful_since.is_not(None))
        .distinct()
    )
    return set(connection.execute(found).scalars())


def _dead_letter(row: RowMapping, replays: Sequence[EarlierReplay], uncertain: bool) -> DeadLetter:
    return read(
        DeadLetter,
        row,
        delivery_id=DeliveryId(row["delivery_request_id"]),
        original_delivery_id=DeliveryId(row["original_id"]),
        replays=tuple(replays),
        uncertain=uncertain,
    )


def _opened(connection: Connection, dead_letter_id: DeadLetterId) -> OpenedLetter | None:
    letter = _letter(connection, dead_letter_id)
    if letter is None:
        return None
    kept = select(_requests.request_envelope, _requests.message_content).where(_requests.id == letter.delivery_id)
    return OpenedLetter(
        letter=letter,
        envelope=envelope_of(*connection.execute(kept).one()),
        attempts=calls_made(connection, letter.delivery_id) or (),
    )


def _letter(connection: Connection, dead_letter_id: DeadLetterId) -> DeadLetter | None:
    row = connection.execute(_LETTER.where(_letters.id == dead_letter_id)).mappings().first()
    return with_lineage(connection, [row])[0] if row else None


def _replay(connection: Connection, dead_letter_id: DeadLetterId, decide: _Decide) -> Replay | ReplayRefused | None:
    """Whoever comes second to the same lineage waits, and then sees what the first one wrote."""
    found = _letter(connection, dead_letter_id)
    if found is None:
        return None
    connection.execute(select(_requests.id).where(_requests.id == found.original_delivery_id).with_for_update())
    letter = _letter(connection, dead_letter_id)
    decided = decide(letter) if letter else None
    if letter is not None and isinstance(decided, Replay):
        _write(connection, letter, decided)
    return decided


def _write(connection: Connection, letter: DeadLetter, decided: Replay) -> None:
    """The same content, as new; parts that arrived the first time are not sent again."""
    row = connection.execute(select(delivery_requests).where(_requests.id == letter.delivery_id)).mappings().one()
    anew: dict[str, object] = {
        "id": decided.delivery_id,
        "idempotency_key": decided.idempotency_key,
        "status": str(Status.PENDING),
        "attempts": 0,
        "calls": 0,
        "fence": 0,
        "sending": False,
        "possible_duplicate": decided.possible_duplicate,
        "doubtful_since": _doubtful_since(connection, letter),
        "not_before": decided.at_us,
        "lease_until": None,
        "waiting_reason": None,
        "waiting_detail": None,
        "waiting_asked_seconds": None,
        "terminal_error_class": None,
        "terminal_error_message": None,
        "provider_delivery_id": None,
        "trace_id": decided.trace_id,
        "replay_of": letter.original_delivery_id,
        "replay_number": decided.number,
        "created_at": decided.at_us,
        "updated_at": decided.at_us,
        "terminal_at": None,
    }
    connection.execute(insert(delivery_requests).values(**{**row, **anew}))
    counted = (letter.delivery_id, letter.original_delivery_id)
    connection.execute(
        update(delivery_dead_letter)
        .where(_letters.delivery_request_id.in_(counted))
        .values(replay_count=_letters.replay_count + 1)
    )
    tell_others(connection, PENDING_CHANNEL)


def _doubtful_since(connection: Connection, letter: DeadLetter) -> int | None:
    """A replay goes out under the same key, so that a provider which can be asked knows of both."""
    if not letter.uncertain:
        return None
    lineage = or_(_requests.id == letter.original_delivery_id, _requests.replay_of == letter.original_delivery_id)
    since: int | None = connection.execute(select(func.min(_requests.doubtful_since)).where(lineage)).scalar()
    return since


def _discard(connection: Connection, dead_letter_id: DeadLetterId, reason: str, now_us: int) -> Discard | None:
    changed = (
        update(delivery_dead_letter)
        .where(_letters.id == dead_letter_id, _letters.discarded_at.is_(None))
        .values(discarded_at=now_us, discard_reason=reason)
    )
    fresh = connection.execute(changed).rowcount == 1
    kept = select(_letters.discarded_at, _letters.discard_reason).where(_letters.id == dead_letter_id)
    row = connection.execute(kept).first()
    return Discard(at_us=row.discarded_at, reason=row.discard_reason, fresh=fresh) if row else None
