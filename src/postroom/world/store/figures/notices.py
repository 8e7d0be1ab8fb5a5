"""Notices counted by stretch, agent and state: person by person, each along the index of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Select, func, select

from postroom.domain.span_figures import MOST_LOOKED_AT, Counted, CountedNotices, FigureQuery
from postroom.world.store.figures.places import place_by_time
from postroom.world.store.tables.attention import attention_people, notices

_notices = notices.c


def counted_notices(connection: Connection, query: FigureQuery) -> CountedNotices:
    states = [
        Counted(place=row.place, channel="", agent=row.agent, state=row.state, many=row.many)
        for row in connection.execute(_grouped(query, _people(connection, query)))
    ]
    return CountedNotices(states=states, is_whole=sum(one.many for one in states) < MOST_LOOKED_AT)


def _people(connection: Connection, query: FigureQuery) -> list[str]:
    """Named one by one: the index of notices begins with the person."""
    if query.person is not None:
        return [query.person]
    return list(connection.execute(select(attention_people.c.person).order_by(attention_people.c.person)).scalars())


def _grouped(query: FigureQuery, people: Sequence[str]) -> Select[Any]:
    looked = _looked(query, people).subquery("looked")
    groups = (looked.c.place, looked.c.agent, looked.c.state)
    return select(*groups, func.count().label("many")).group_by(*groups)


def _looked(query: FigureQuery, people: Sequence[str]) -> Select[Any]:
    place = place_by_time(_notices.created_at, query.edges_us).label("place")
    found = select(place, _notices.agent, _notices.state).limit(MOST_LOOKED_AT).where(_notices.person.in_(people))
    found = found.where(_notices.created_at >= query.edges_us[0], _notices.created_at < query.edges_us[-1])
    return found.where(_notices.agent == query.agent) if query.agent is not None else found
