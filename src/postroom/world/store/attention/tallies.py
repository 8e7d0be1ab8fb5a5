"""How many notices of a person have ended how, kept beside them: what is kept is counted without being read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, delete, func, insert, literal, select, text

from postroom.domain.notice_rows import Loaded, NoticeChanges, NoticeCounts
from postroom.world.store.engine.insert_for import insert_for
from postroom.world.store.tables.attention import (
    ACCEPTED,
    CLOSED,
    IS_ACCEPTED,
    OPEN,
    attention_log,
    notice_tallies,
    notices,
)

LOGGED: Final = "logged"  # beside the states: acceptances in the log, of whichever agent
_tally, _one = notice_tallies.c, notices.c
Deltas = Counter[tuple[str, str, str]]  # by person, agent and state


def tally_changes(connection: Connection, before: Loaded, changes: NoticeChanges) -> None:
    """Of open ones there are few; they are counted when asked for, and cost nothing while they move."""
    deltas, known = Deltas(), {one.id: one for one in before.notices}
    for notice in changes.notices:
        was = known.get(notice.id)
        if was is not None and not was.open:
            deltas[was.person, was.agent, was.state] -= 1
        if not notice.open:
            deltas[notice.person, notice.agent, notice.state] += 1
    for fact in changes.log:
        deltas[fact.person, "", LOGGED] += fact.kind == ACCEPTED
    _add(connection, deltas)


def untally(connection: Connection, ids: Sequence[str]) -> None:
    """Closed notices that are about to be removed, with what the log says of them."""
    gone = select(_one.person, _one.agent, _one.state).where(_one.id.in_(ids))
    logged = select(attention_log.c.person).where(attention_log.c.notice.in_(ids), attention_log.c.kind == ACCEPTED)
    deltas = Deltas()
    for row in connection.execute(gone):
        deltas[row.person, row.agent, row.state] -= 1
    for person in connection.execute(logged).scalars():
        deltas[person, "", LOGGED] -= 1
    _add(connection, deltas)


def _add(connection: Connection, deltas: Deltas) -> None:
    """In one order everywhere, so that no two transactions wait for each other."""
    rows = [
        {"person": person, "agent": agent, "state": state, "many": many}
        for (person, agent, state), many in sorted(deltas.items())
        if many
    ]
    new = insert_for(connection, notice_tallies)
    once = new.on_conflict_do_update(
        index_elements=[_tally.person, _tally.agent, _tally.state],
        set_={"many": _tally.many + new.excluded.many},
    )
    for row in rows:
        connection.execute(once, row)


def tally_again(connection: Connection) -> None:
    """From what is kept. Whoever ends a notice meanwhile waits with its tally, and adds it to ours."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"LOCK TABLE {notice_tallies.fullname} IN EXCLUSIVE MODE"))
    connection.execute(delete(notice_tallies))
    ended = (_one.person, _one.agent, _one.state)
    logged = attention_log.c.person
    for kept in (
        select(*ended, func.count()).where(CLOSED).group_by(*ended),
        select(logged, literal(""), literal(LOGGED), func.count()).where(IS_ACCEPTED).group_by(logged),
    ):
        connection.execute(insert(notice_tallies).from_select(notice_tallies.c.keys(), kept))


def counted(connection: Connection, person: str | None) -> NoticeCounts:
    """
    Of one person or of all: what ended as it is tallied, and what is open.

    The open ones are not grouped by the database: SQLite would take the index that groups, and read all that is kept.
    """
    ended = select(_tally.agent, _tally.state, func.sum(_tally.many)).group_by(_tally.agent, _tally.state)
    still = select(_one.agent, _one.state, literal(1)).where(OPEN)
    rows = [
        *connection.execute(_of(ended, _tally.person, person)),
        *connection.execute(_of(still, _one.person, person)),
    ]
    logged = sum(int(many) for _, state, many in rows if state == LOGGED)
    return _counts([row for row in rows if row.state != LOGGED], logged)


def counted_row_by_row(connection: Connection) -> NoticeCounts:
    """Of all that is kept."""
    kept = select(_one.agent, _one.state, func.count()).group_by(_one.agent, _one.state)
    logged = select(func.count()).select_from(attention_log).where(IS_ACCEPTED)
    return _counts(connection.execute(kept), int(connection.execute(logged).scalar_one()))


def _counts(rows: Iterable[Any], logged: int) -> NoticeCounts:
    states, agents = Counter[str](), Counter[str]()
    for agent, state, many in rows:
        states[state] += int(many)
        agents[agent] += int(many)
    return NoticeCounts(states=_positive(states), agents=_positive(agents), logged=logged)


def _of(asked: Select[Any], column: ColumnElement[str], person: str | None) -> Select[Any]:
    return asked if person is None else asked.where(column == person)


def _positive(counts: Counter[str]) -> dict[str, int]:
    """In alphabetical order; what was pruned to the last stays as a tally of nothing."""
    return {name: many for name, many in sorted(counts.items()) if many}
