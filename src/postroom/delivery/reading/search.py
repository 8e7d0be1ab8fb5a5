"""Find deliveries and dead letters for a person, in bounded looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, TypeAlias, TypeVar

from sqlalchemy import ColumnElement, Connection, Select, Subquery, and_, func, or_, select, union_all

from postroom.delivery.afterwards.store import marks
from postroom.delivery.model import DeadLetter
from postroom.delivery.reading.file import DeadLetterQuery, DeliveryQuery
from postroom.delivery.reading.record import SUMMARY, FoundDelivery, found_of
from postroom.delivery.store.dead_letters import letters, matching, with_lineage
from postroom.delivery.store.tables import delivery_dead_letter, delivery_requests
from postroom.kernel.values.ids import DeliveryId, first_id_at, is_uuid

LOOKED_AT: Final = 10_000
_EXCERPT: Final = 160
_MOST_WORDS: Final = 8
_MOST_AT_ONCE = 1000  # neither database takes any number of values in one statement
_requests = delivery_requests.c

_Row = TypeVar("_Row")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRows(Generic[_Row]):
    """`before` begins the next look; with `unfinished` it lies below rows that were read and did not match."""

    rows: Sequence[_Row]
    before: str | None = None
    unfinished: bool = False


FoundDeliveries: TypeAlias = FoundRows[FoundDelivery]
FoundLetters: TypeAlias = FoundRows[DeadLetter]

# -- Deliveries: newest first, by any filter, with a bound on how much one look reads ---


def lookup(
    connection: Connection, query: DeliveryQuery, words: str | None, places: Sequence[str] = ()
) -> FoundDeliveries:
    """
    What an index can find is found by the index; the rest is read, at most LOOKED_AT rows at a time.

    So a word that stands nowhere costs one bounded look, and the person decides
    whether to look further back. `places` are order keys: what went there matches, whatever its words.
    """
    needs_reading = bool(words or query.origin_butler or query.intent)
    most = LOOKED_AT if needs_reading else query.page.limit + 1
    candidates = _candidates(connection, query, most).subquery("candidates")
    wanted = (
        select(*(candidates.c[column.name] for column in SUMMARY), candidates.c.subject, candidates.c.address)
        .add_columns(func.substr(candidates.c.message_content, 1, _EXCERPT).label("excerpt"))
        .where(*_remaining(candidates, query), *_holding(candidates, words, places))
        .order_by(candidates.c.delivery_id.desc())
        .limit(query.page.limit + 1)
    )
    found = connection.execute(wanted).mappings().all()
    marked = marks(connection, [row["delivery_id"] for row in found])
    rows = [found_of(row, marked.get(row["delivery_id"])) for row in found]
    if len(rows) > query.page.limit:
        return FoundRows(rows=rows[:-1], before=rows[-2].delivery_id)
    if not needs_reading:
        return FoundRows(rows=rows)
    many, lowest = connection.execute(select(func.count(), func.min(candidates.c.delivery_id))).one()
    return FoundRows(rows=rows, before=lowest if many == LOOKED_AT else None, unfinished=many == LOOKED_AT)


def _candidates(connection: Connection, query: DeliveryQuery, most: int) -> Select[Any]:
    """A status without a channel is looked up channel by channel, because the index begins with the channel."""
    if query.status is None or query.channel is not None:
        return _in_order(query, query.channel, most)
    channels = _channels(connection)
    if not channels:
        return _in_order(query, None, most)
    each = [_in_order(query, channel, most).subquery() for channel in channels]
    together = union_all(*(select(one) for one in each)).subquery()
    return select(together).order_by(together.c.delivery_id.desc()).limit(most)


def _channels(connection: Connection) -> list[str]:
    """All that deliveries are stored of, also one that is no longer set up; each step is one look into the index."""
    found: list[str] = []
    following = select(func.min(_requests.channel))
    while (after := connection.execute(following).scalar()) is not None:
        found.append(after)
        following = select(func.min(_requests.channel)).where(_requests.channel > after)
    return found


def _in_order(query: DeliveryQuery, channel: str | None, most: int) -> Select[Any]:
    more = (_requests.subject, _requests.address, _requests.message_content, _requests.order_key)
    found = select(*SUMMARY, *more).order_by(_requests.id.desc()).limit(most)
    if channel is not None:
        found = found.where(_requests.channel == channel)
    if query.status is not None:
        found = found.where(_requests.status == str(query.status))
    if query.since_us is not None:
        found = found.where(_requests.id >= first_id_at(query.since_us))
    if query.until_us is not None:
        found = found.where(_requests.id < first_id_at(query.until_us + 1000))
    if query.page.before is not None:
        found = found.where(_requests.id < query.page.before)
    return found


def _remaining(rows: Subquery, query: DeliveryQuery) -> list[ColumnElement[bool]]:
    rest: list[ColumnElement[bool]] = []
    if query.origin_butler is not None:
        rest.append(rows.c.origin_butler == query.origin_butler)
    if query.intent is not None:
        rest.append(rows.c.intent == str(query.intent))
    return rest


def _holding(
    rows: Subquery, words: str | None, places: Sequence[str], more: Sequence[str] = ()
) -> list[ColumnElement[bool]]:
    """Every word somewhere in the row, also in the columns `more`; or it went to one of the places."""
    texts = [rows.c[name] for name in ("target_identity", "subject", "message_content", *more)]
    each = [
        or_(*(text.icontains(word, autoescape=True) for text in texts)) for word in (words or "").split()[:_MOST_WORDS]
    ]
    if not each:
        return []
    return [or_(and_(*each), rows.c.order_key.in_(places))] if places else each


def identified(connection: Connection, identifier: str) -> str | None:
    """The delivery behind a delivery id, a dead letter's id, or a request id that led to exactly one delivery."""
    letters = delivery_dead_letter.c
    if is_uuid(identifier):
        for wanted in (
            select(_requests.id).where(_requests.id == identifier.lower()),
            select(letters.delivery_request_id).where(letters.id == identifier.lower()),
        ):
            if found := connection.execute(wanted).scalar():
                return str(found)
    of_request = select(_requests.id).where(_requests.request_id == identifier).limit(2)
    ids = list(connection.execute(of_request).scalars())
    return ids[0] if len(ids) == 1 else None


def settled_among(connection: Connection, ids: Sequence[str]) -> list[DeliveryId]:
    found: list[DeliveryId] = []
    for start in range(0, len(ids), _MOST_AT_ONCE):
        some = delivery_requests.c.id.in_(ids[start : start + _MOST_AT_ONCE])
        over = select(delivery_requests.c.id).where(some, delivery_requests.c.terminal_at.is_not(None))
        found += [DeliveryId(one) for one in connection.execute(over).scalars()]
    return found


# -- Dead letters: by any filter, by words or by whom they were for ---


def find_letters(
    connection: Connection, query: DeadLetterQuery, words: str | None, places: Sequence[str] = ()
) -> FoundLetters:
    """With words, at most LOOKED_AT letters are read; `places` are order keys, as for deliveries."""
    if not words:
        return _page(letters(connection, query), query)
    looked = _looked_at(query).subquery("looked")
    fitting = select(looked).where(*_holding(looked, words, places, ("error_summary",)))
    rows = connection.execute(fitting.order_by(looked.c.id.desc()).limit(query.page.limit + 1)).mappings().all()
    found = _page(with_lineage(connection, rows), query)
    if found.before is not None:
        return found
    many, lowest = connection.execute(select(func.count(), func.min(looked.c.id))).one()
    return replace(found, before=lowest, unfinished=True) if many == LOOKED_AT else found


def _looked_at(query: DeadLetterQuery) -> Select[Any]:
    most = replace(query, page=replace(query.page, limit=LOOKED_AT - 1))
    return matching(most).add_columns(_requests.subject, _requests.message_content, _requests.order_key)


def _page(found: Sequence[DeadLetter], query: DeadLetterQuery) -> FoundLetters:
    shown = found[: query.page.limit]
    return FoundRows(rows=shown, before=shown[-1].id if len(found) > query.page.limit else None)
