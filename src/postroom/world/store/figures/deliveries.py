"""
Deliveries counted by stretch, channel, agent and state, without reading more than an index where that can be done.

An id is a time, and one index holds channel, status and id: a count over it touches no row. Who sent them
stands in no index together with the status, so by agent at most MOST_LOOKED_AT rows are read, the newest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, and_, case, func, literal, select, union_all

from postroom.domain.delivery import Status
from postroom.domain.ids import first_id_at
from postroom.domain.span_figures import MOST_LOOKED_AT, Counted, CountedDeliveries, FigureQuery, Took
from postroom.world.store.deliveries.correction_rows import was_kept_back
from postroom.world.store.figures.places import id_spans, place_by_id
from postroom.world.store.tables.approvals import pending_actions
from postroom.world.store.tables.deliveries import IS_RARE, delivery_requests

_requests = delivery_requests.c
SAMPLE: Final = 500  # of each stretch, for how long they took
_MOST_NAMES: Final = 200
_WITHDRAWN: Final = "withdrawn"


def counted_deliveries(connection: Connection, query: FigureQuery) -> CountedDeliveries:
    looked = [_counted(row) for row in connection.execute(_looked(query))]
    is_whole = sum(one.many for one in looked) < MOST_LOOKED_AT
    if query.agent is not None and query.channel is not None:
        looked = [one for one in looked if one.channel == query.channel]
    by_channel = looked if query.agent is not None else _by_channel(connection, query)
    return CountedDeliveries(
        outcomes=by_channel, by_agent=looked, arrivals=arrivals(connection, query), is_whole=is_whole
    )


def known_names(connection: Connection) -> tuple[Sequence[str], Sequence[str]]:
    """Each step is one look into an index."""
    return _names(connection, _requests.channel), _names(connection, _requests.origin_butler)


def _by_channel(connection: Connection, query: FigureQuery) -> list[Counted]:
    channels = [query.channel] if query.channel is not None else _names(connection, _requests.channel)
    if not channels:
        return []
    found = [_counted(row) for row in connection.execute(_over_the_index(channels, query)) if row.many]
    taken_back = {(row.place, row.channel): row.many for row in connection.execute(_taken_back(query))}
    return [one for row in found for one in _without(row, taken_back)]


def _over_the_index(channels: Sequence[str], query: FigureQuery) -> Select[Any]:
    """One range of the index for each channel, state and stretch; asked for those above 0, it would count twice."""
    spans = union_all(
        *(
            select(literal(place).label("place"), literal(first).label("first"), literal(last).label("last"))
            for place, first, last in id_spans(query.edges_us)
        )
    ).subquery("spans")
    kinds = union_all(
        *(
            select(literal(channel).label("channel"), literal(str(status)).label("state"))
            for channel in channels
            for status in Status
        )
    ).subquery("kinds")
    many = (
        select(func.count())
        .where(_requests.channel == kinds.c.channel, _requests.status == kinds.c.state)
        .where(_requests.id >= spans.c.first, _requests.id < spans.c.last)
        .scalar_subquery()
    )
    return select(
        spans.c.place, kinds.c.channel, literal(None).label("agent"), kinds.c.state, many.label("many")
    ).select_from(spans.join(kinds, literal(True)))


def _taken_back(query: FigureQuery) -> Select[Any]:
    place = place_by_id(_requests.id, query.edges_us).label("place")
    return (
        select(place, _requests.channel, func.count().label("many"))
        .where(was_kept_back(), IS_RARE, _within(query))  # the words of its index: only then can it be used
        .group_by(place, _requests.channel)
    )


def _without(row: Counted, taken_back: dict[tuple[int, str], int]) -> list[Counted]:
    """What its sender took back or a person did not let go is nobody's failure."""
    many = taken_back.get((row.place, row.channel), 0) if row.state == Status.FAILED else 0
    if not many:
        return [row]
    kept = Counted(place=row.place, channel=row.channel, agent=None, state=row.state, many=row.many - many)
    taken = Counted(place=row.place, channel=row.channel, agent=None, state=_WITHDRAWN, many=many)
    return [one for one in (kept, taken) if one.many > 0]


def _looked(query: FigureQuery) -> Select[Any]:
    newest = _newest(query).subquery("newest")
    place = place_by_id(newest.c.id, query.edges_us).label("place")
    groups = (place, newest.c.channel, newest.c.agent, newest.c.state)
    return select(*groups, func.count().label("many")).group_by(*groups)


def _newest(query: FigureQuery) -> Select[Any]:
    """Along an index that already has the order: of one agent, of one channel state by state, or of all."""
    if query.agent is None and query.channel is not None:
        each = [
            _rows(and_(_is_on(query.channel), _requests.status == str(one)), query, MOST_LOOKED_AT) for one in Status
        ]
        together = union_all(*(select(one.subquery()) for one in each)).subquery("together")
        return select(together).order_by(together.c.id.desc()).limit(MOST_LOOKED_AT)
    return _rows(_requests.origin_butler == query.agent if query.agent is not None else None, query, MOST_LOOKED_AT)


def _rows(condition: ColumnElement[bool] | None, query: FigureQuery, most: int) -> Select[Any]:
    state = case((was_kept_back(), literal(_WITHDRAWN)), else_=_requests.status)
    found = select(_requests.id, _requests.channel, _requests.origin_butler.label("agent"), state.label("state"))
    found = found.where(_within(query)).order_by(_requests.id.desc()).limit(most)
    return found if condition is None else found.where(condition)


def arrivals(connection: Connection, query: FigureQuery) -> list[Took]:
    """Accepted, or approved where it waited for a person, until the provider had it: the newest of each stretch."""
    each = [_sample(place, first, last, query).subquery() for place, first, last in id_spans(query.edges_us)]
    together = union_all(*(select(one) for one in each)).subquery("together")
    decided = pending_actions.c
    began = func.coalesce(decided.decided_at, together.c.created_at).label("began_at")
    arrived = select(together, began).outerjoin(pending_actions, decided.id == together.c.id)
    arrived = arrived.where(
        together.c.status == str(Status.DELIVERED),
        together.c.terminal_at.is_not(None),
        *([together.c.channel == query.channel] if query.channel is not None else []),
    )
    return [
        Took(
            place=row.place,
            channel=row.channel,
            agent=row.agent,
            milliseconds=(row.terminal_at - row.began_at) / 1000,
        )
        for row in connection.execute(arrived)
    ]


def _sample(place: int, first: str, last: str, query: FigureQuery) -> Select[Any]:
    found = (
        select(
            literal(place).label("place"),
            _requests.id,
            _requests.channel,
            _requests.origin_butler.label("agent"),
            _requests.status,
            _requests.created_at,
            _requests.terminal_at,
        )
        .where(_requests.id >= first, _requests.id < last)
        .order_by(_requests.id.desc())
        .limit(SAMPLE)
    )
    if query.agent is not None:
        return found.where(_requests.origin_butler == query.agent)
    if query.channel is not None:
        return found.where(_is_on(query.channel), _requests.status == str(Status.DELIVERED))
    return found


def _within(query: FigureQuery) -> ColumnElement[bool]:
    first, last = first_id_at(query.edges_us[0]), first_id_at(query.edges_us[-1])
    return and_(_requests.id >= first, _requests.id < last)


def _is_on(channel: str) -> ColumnElement[bool]:
    return _requests.channel == channel


def _names(connection: Connection, column: ColumnElement[str]) -> list[str]:
    found: list[str] = []
    while len(found) < _MOST_NAMES:
        following = select(func.min(column))
        name = connection.execute(following.where(column > found[-1]) if found else following).scalar()
        if name is None:
            break
        found.append(name)
    return found


def _counted(row: Any) -> Counted:
    return Counted(place=row.place, channel=row.channel, agent=row.agent, state=row.state, many=row.many)
