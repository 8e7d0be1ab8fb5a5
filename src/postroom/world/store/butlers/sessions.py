"""The stored sessions: every change names the state it expects."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import structlog
from sqlalchemy import Connection, Row, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from postroom.domain.appointment import SET_ASIDE
from postroom.domain.errors import ErrorClass
from postroom.domain.session import (
    STOPPED,
    NewSession,
    Session,
    SessionEvent,
    SessionOutcome,
    SessionStatus,
    after,
    after_crash,
)
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.rows import UNREADABLE, check_legible, read, values
from postroom.world.store.tables.sessions import OPEN, sessions

_c = sessions.c
_log = structlog.get_logger("postroom.store")


class StoredSessions:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, new: NewSession, *, most_queued: int) -> Session | None:
        """The stored session, an earlier one under the same key, or None when the queue is full."""
        return await self._database.write(lambda connection: _add(connection, new, most_queued))

    async def claim(self, butler: str, *, now_us: int) -> Session | None:
        """The oldest in the queue, which is now running."""
        return await self._database.write(lambda connection: _claim(connection, butler, now_us))

    async def end(self, session: Session, outcome: SessionOutcome, *, now_us: int) -> bool:
        """False when a later attempt, or nobody, is running it."""
        values = {
            "status": str(after(SessionStatus.RUNNING, outcome.event)),
            "error_class": outcome.error_class and str(outcome.error_class),
            "error_message": outcome.error_message,
            "transcript": json.dumps(outcome.transcript),
            "finished_at": now_us,
        }
        return await self._database.write(lambda connection: _move(connection, session, values))

    async def release(self, session: Session) -> bool:
        """Back into the queue at its old place, and not counted against it."""
        values = {"status": str(after(SessionStatus.RUNNING, SessionEvent.RELEASE)), "started_at": None}
        return await self._database.write(lambda connection: _move(connection, session, values))

    async def drop(self, butler: str, session_id: str, *, now_us: int) -> bool:
        """Ends one that waits in the queue; False when it does not."""
        values = {
            "status": str(after(SessionStatus.QUEUED, STOPPED.event)),
            "error_message": STOPPED.error_message,
            "finished_at": now_us,
        }
        named = (_c.id == session_id, *_in(butler, SessionStatus.QUEUED))
        dropped = update(sessions).where(*named).values(values)
        return await self._database.write(lambda connection: connection.execute(dropped).rowcount == 1)

    async def recover(self, butler: str, *, now_us: int) -> Sequence[Session]:
        """Everything an earlier process of this butler left running, as it is from now on."""
        return await self._database.write(lambda connection: _recover(connection, butler, now_us))

    async def get(self, butler: str, session_id: str) -> Session | None:
        found = select(sessions).where(_c.butler == butler, _c.id == session_id)
        return await self._database.read(lambda connection: _first(connection, found))

    async def newest(
        self, butler: str, *, status: SessionStatus | None, before: str | None, limit: int
    ) -> Sequence[Session]:
        """`before` is the last id of the page above."""
        found = select(sessions).where(_c.butler == butler).order_by(_c.id.desc()).limit(limit)
        if status is not None:
            found = found.where(_c.status == str(status))
        if before is not None:
            found = found.where(_c.id < before)
        listed = await self._database.read(lambda connection: [_readable(row) for row in connection.execute(found)])
        return [one for one in listed if one is not None]

    async def counts(self, butler: str) -> Mapping[SessionStatus, int]:
        found = select(_c.status, func.count()).where(_c.butler == butler).group_by(_c.status)
        rows = await self._database.read(lambda connection: [tuple(row) for row in connection.execute(found)])
        return {SessionStatus(status): int(count) for status, count in rows}


def _add(connection: Connection, new: NewSession, most_queued: int) -> Session | None:
    if earlier := _earlier(connection, new):
        return earlier
    queued = select(func.count()).where(*_in(new.butler, SessionStatus.QUEUED))
    if int(connection.execute(queued).scalar_one()) >= most_queued:
        return _earlier(connection, new)  # it may be this very one that has taken the last place meanwhile
    try:
        with connection.begin_nested():
            connection.execute(insert(sessions), _row(new))
    except IntegrityError:  # somebody else was faster with the same key
        return _earlier(connection, new)
    return _first(connection, select(sessions).where(_c.id == new.id))


def _earlier(connection: Connection, new: NewSession) -> Session | None:
    if new.key is None:
        return None
    return _first(connection, select(sessions).where(_c.butler == new.butler, _c.request_key == new.key))


def _claim(connection: Connection, butler: str, now_us: int) -> Session | None:
    queued = (
        select(sessions)
        .where(*_in(butler, SessionStatus.QUEUED))
        .order_by(_c.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    while (row := connection.execute(queued).first()) is not None and _readable(row) is None:
        _set_aside(connection, row.id, now_us)  # or all others would wait behind it
    session = _readable(row) if row is not None else None
    if session is None:
        return None
    values = {
        "status": str(after(SessionStatus.QUEUED, SessionEvent.CLAIM)),
        "attempt": session.attempt + 1,
        "started_at": now_us,
    }
    connection.execute(
        update(sessions).where(_c.id == session.id, _c.status == str(SessionStatus.QUEUED)).values(values)
    )
    return _first(connection, select(sessions).where(_c.id == session.id))


def _recover(connection: Connection, butler: str, now_us: int) -> list[Session]:
    running = select(sessions).where(*_in(butler, SessionStatus.RUNNING)).order_by(_c.id)
    left: list[Session] = []
    for row in connection.execute(running).all():
        if (readable := _readable(row)) is not None:
            left.append(readable)
        else:
            _set_aside(connection, row.id, now_us)
    for session in left:
        status = after(SessionStatus.RUNNING, after_crash(session.crashes))
        values: dict[str, Any] = {"status": str(status), "crashes": session.crashes + 1, "started_at": None}
        if status is SessionStatus.LOST:
            values |= {
                "started_at": session.started_us,
                "finished_at": now_us,
                "error_class": "internal_error",
                "error_message": "the household went down during this session, more than once",
            }
        _move(connection, session, values)
    ids = [session.id for session in left]
    after_all = select(sessions).where(_c.id.in_(ids)).order_by(_c.id)
    return [_session(row) for row in connection.execute(after_all)]


def _set_aside(connection: Connection, session_id: str, now_us: int) -> None:
    _log.error("session.set_aside", session_id=session_id)
    values = {
        "status": str(SessionStatus.FAILED),
        "error_class": str(ErrorClass.INTERNAL),
        "error_message": SET_ASIDE,
        "finished_at": now_us,
    }
    connection.execute(update(sessions).where(_c.id == session_id).values(values))


def sessions_set_aside(connection: Connection, since_us: int) -> list[str]:
    """Which sessions, of any butler, could not be run because of what stands in their rows."""
    asked = select(_c.id, _c.butler).where(_c.error_message == SET_ASIDE, _c.finished_at >= since_us)
    return [f"session {row.id} of {row.butler}" for row in connection.execute(asked.order_by(_c.id))]


def _in(butler: str, status: SessionStatus) -> tuple[Any, ...]:
    """With the condition of the index over what has not ended: only then can it be used."""
    return _c.butler == butler, _c.status == str(status), OPEN


def _move(connection: Connection, session: Session, values: Mapping[str, Any]) -> bool:
    expected = (_c.id == session.id, _c.status == str(SessionStatus.RUNNING), _c.attempt == session.attempt)
    return connection.execute(update(sessions).where(*expected).values(dict(values))).rowcount == 1


def _first(connection: Connection, statement: Any) -> Session | None:
    row = connection.execute(statement).first()
    return _readable(row) if row is not None else None


def _readable(row: Row[Any]) -> Session | None:
    try:
        check_legible(row)
        return _session(row)
    except UNREADABLE:
        return None


def _row(new: NewSession) -> dict[str, Any]:
    return values(
        new,
        without=("trigger", "created_us", "key", "context"),
        trigger_source=new.trigger,
        request_key=new.key,
        request_context=None if new.context is None else json.dumps(dict(new.context)),
        status=str(SessionStatus.QUEUED),
        attempt=0,
        crashes=0,
        created_at=new.created_us,
    )


def _session(row: Row[Any]) -> Session:
    return read(
        Session,
        row,
        trigger=row.trigger_source,
        context=_object(row.request_context),
        depth=int(row.depth),
        attempt=int(row.attempt),
        crashes=int(row.crashes),
        created_us=row.created_at,
        started_us=row.started_at,
        finished_us=row.finished_at,
        transcript=_object(row.transcript),
    )


def _object(text: str | None) -> dict[str, Any] | None:
    """Raises ValueError when it is anything else."""
    value = json.loads(text) if text else None
    if value is not None and not isinstance(value, dict):
        raise ValueError("not an object")
    return value
