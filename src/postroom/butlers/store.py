"""What butlers keep on disk: a small memory, their appointments, and the sessions of their models."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import structlog
from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Connection,
    Index,
    Integer,
    Row,
    Table,
    Text,
    UniqueConstraint,
    and_,
    delete,
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.exc import IntegrityError

from postroom.butlers.model import (
    BROKEN,
    SET_ASIDE,
    STOPPED,
    Appointment,
    AppointmentKind,
    AppointmentStatus,
    Session,
    SessionEnd,
    SessionEvent,
    SessionOutcome,
    SessionStatus,
    after,
    after_crash,
)
from postroom.kernel.database.claims import Claims
from postroom.kernel.database.engine import Database, write_twice
from postroom.kernel.database.rows import UNREADABLE, Columns, check_legible, read, values
from postroom.kernel.database.schema import SHARED, metadata, one_of, partial_index
from postroom.kernel.values.errors import ErrorClass
from postroom.kernel.values.fields import strict_json

_log = structlog.get_logger("postroom.store")


# A butler's small memory: JSON values by key, with a version that counts changes.

butler_state = Table(
    "butler_state",
    metadata,
    Column("butler", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    schema=SHARED,
)

_state_c = butler_state.c


class StoredState:
    def __init__(self, database: Database, butler: str) -> None:
        self._database = database
        self._butler = butler

    async def get(self, key: str) -> tuple[Any, int] | None:
        """The value and its version."""
        asked = select(_state_c.value, _state_c.version).where(*self._at(key))
        row = await self._database.read(lambda connection: connection.execute(asked).first())
        return (json.loads(row.value), row.version) if row else None

    async def set(self, key: str, value: Any, *, expected_version: int | None, now_us: int) -> int | None:
        """The new version, or None when somebody else changed it meanwhile."""

        def work(connection: Connection) -> int | None:
            row = connection.execute(select(_state_c.version).where(*self._at(key)).with_for_update()).first()
            version = row.version if row else 0
            if expected_version is not None and expected_version != version:
                return None
            values = {"value": strict_json(value, ensure_ascii=False), "version": version + 1, "updated_at": now_us}
            if row:
                connection.execute(update(butler_state).where(*self._at(key)).values(**values))
            else:
                connection.execute(insert(butler_state).values(butler=self._butler, key=key, **values))
            return int(version + 1)

        return await write_twice(self._database, work)

    async def delete(self, key: str) -> bool:
        def work(connection: Connection) -> bool:
            return connection.execute(delete(butler_state).where(*self._at(key))).rowcount > 0

        return await self._database.write(work)

    async def keys(self, prefix: str, limit: int) -> list[str]:
        def work(connection: Connection) -> list[str]:
            begins = func.substr(_state_c.key, 1, len(prefix)) == prefix  # to SQLite, LIKE knows no capitals
            mine = select(_state_c.key).where(_state_c.butler == self._butler, begins)
            return list(connection.execute(mine.order_by(_state_c.key).limit(limit)).scalars())

        return await self._database.read(work)

    def _at(self, key: str) -> tuple[Any, ...]:
        return (_state_c.butler == self._butler, _state_c.key == key)


# Appointments: a reminder outlives every restart.

_WAITING = text("status = 'waiting'")

appointments = Table(
    "appointments",
    metadata,
    Column("id", Text, primary_key=True),
    Column("butler", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("due_at", BigInteger, nullable=False),
    Column("work", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("tries", Integer, nullable=False),
    Column("result", Text),
    Column("created_at", BigInteger, nullable=False),
    partial_index("ix_appointments_due", "butler", "due_at", where=_WAITING),
    schema=SHARED,
)

_appointments_c = appointments.c


# One process keeps a butler's appointments, so nothing is leased; the number of tries is the fence of a run.
_STILL_WAITS: Final = _appointments_c.status == str(AppointmentStatus.WAITING)
_RUNS: Final = Claims(appointments, _STILL_WAITS, fence=_appointments_c.tries, order=_appointments_c.due_at)


class StoredAppointments:
    def __init__(self, database: Database, butler: str) -> None:
        self._database = database
        self._butler = butler

    async def add(self, new: Appointment) -> None:
        await self._database.write(lambda connection: _insert_appointment(connection, new))

    async def keep_schedules(self, current: Sequence[Appointment]) -> None:
        """
        The schedules of the file, and no others.

        One that is already waiting keeps its moment unless the file changed it, so
        that a run missed while we were down is still made, once.
        """

        def work(connection: Connection) -> None:
            mine = (
                _appointments_c.butler == self._butler,
                _appointments_c.kind == str(AppointmentKind.SCHEDULE),
                _appointments_c.status == "waiting",
            )
            waiting = {row.name: row for row in connection.execute(select(appointments).where(*mine))}
            for new in current:
                known = waiting.pop(new.name, None)
                if known is not None and known.work == new.work:
                    continue
                if known is not None:
                    connection.execute(delete(appointments).where(_appointments_c.id == known.id))
                _insert_appointment(connection, new)
            for gone in waiting.values():
                connection.execute(delete(appointments).where(_appointments_c.id == gone.id))

        await self._database.write(work)

    async def due(self, now_us: int) -> Sequence[Appointment | None]:
        """None stands for one that cannot be read: it is set aside, so that the others do not wait behind it."""
        mine = select(appointments).where(
            _appointments_c.butler == self._butler,
            _appointments_c.status == "waiting",
            _appointments_c.due_at <= now_us,
        )

        def work(connection: Connection) -> list[tuple[str, Appointment | None]]:
            return [
                (row.id, _readable_appointment(row))
                for row in connection.execute(mine.order_by(_appointments_c.due_at))
            ]

        found = await self._database.read(work)
        if aside := [row_id for row_id, one in found if one is None]:
            _log.error("appointment.set_aside", butler=self._butler, appointments=aside)
            values = {"status": str(AppointmentStatus.FAILED), "result": SET_ASIDE}
            named = (
                update(appointments)
                .where(_appointments_c.id.in_(aside), _appointments_c.status == "waiting")
                .values(**values)
            )
            await self._database.write(lambda connection: connection.execute(named).rowcount)
        return [one for _, one in found]

    async def next_due_us(self) -> int | None:
        mine = (
            select(_appointments_c.due_at)
            .where(_appointments_c.butler == self._butler, _appointments_c.status == "waiting")
            .order_by(_appointments_c.due_at)
            .limit(1)
        )
        found = await self._database.read(lambda connection: connection.execute(mine).scalar())
        return found if isinstance(found, int) else None

    async def finish(
        self, done: Appointment, status: AppointmentStatus, result: str, following: Appointment | None
    ) -> None:
        """The end of one run and the appointment for the next, together."""

        def work(connection: Connection) -> None:
            values = {"status": str(status), "result": result, "tries": done.tries + 1}
            if _RUNS.write(connection, done.id, done.tries, values, _STILL_WAITS) and following:
                _insert_appointment(connection, following)

        await self._database.write(work)

    async def postpone(self, one: Appointment, due_at_us: int, result: str) -> None:
        values = {"due_at": due_at_us, "tries": one.tries + 1, "result": result}
        await self._database.write(lambda connection: _RUNS.write(connection, one.id, one.tries, values, _STILL_WAITS))

    async def recent(self, limit: int) -> Sequence[Appointment]:
        mine = (
            select(appointments)
            .where(_appointments_c.butler == self._butler)
            .order_by(_appointments_c.due_at.desc())
            .limit(limit)
        )
        found = await self._database.read(
            lambda connection: [_readable_appointment(row) for row in connection.execute(mine)]
        )
        return [one for one in found if one is not None]


def _insert_appointment(connection: Connection, new: Appointment) -> None:
    connection.execute(insert(appointments).values(values(new)))


def appointments_set_aside(connection: Connection, since_us: int) -> list[str]:
    """Which appointments, of any butler, could not be kept because of what stands in their rows."""
    broken = _appointments_c.result.in_((SET_ASIDE, BROKEN))
    asked = select(_appointments_c.id, _appointments_c.butler).where(
        _appointments_c.status == str(AppointmentStatus.FAILED), broken, _appointments_c.due_at >= since_us
    )
    return [f"appointment {row.id} of {row.butler}" for row in connection.execute(asked.order_by(_appointments_c.id))]


def _readable_appointment(row: Row[Any]) -> Appointment | None:
    try:
        check_legible(row)
        return _appointment(row)
    except UNREADABLE:
        return None


def _appointment(row: Row[Any]) -> Appointment:
    return read(Appointment, row, due_at_us=int(row.due_at), created_at_us=int(row.created_at), tries=int(row.tries))


# Sessions, asked for, running and ended: every change names the state it expects.

OPEN = text("status IN ('queued', 'running')")

sessions = Table(
    "sessions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("butler", Text, nullable=False),
    Column("runtime", Text, nullable=False),
    Column("trigger_source", Text, nullable=False),
    Column("caller", Text, nullable=False),
    Column("request_key", Text),
    Column("request_id", Text),
    Column("request_context", Text),
    Column("prompt", Text, nullable=False),
    Column("depth", Integer, nullable=False),
    Column("status", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("crashes", Integer, nullable=False),
    Column("error_class", Text),
    Column("error_message", Text),
    Column("end_code", Text),
    Column("transcript", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("started_at", BigInteger),
    Column("finished_at", BigInteger),
    UniqueConstraint("butler", "request_key"),
    CheckConstraint(one_of("status", SessionStatus), name="status"),
    Index("ix_sessions_butler_id", "butler", "id"),
    Index("ix_sessions_request_id", "request_id"),
    partial_index("ix_sessions_open", "butler", "status", "id", where=OPEN),
    schema=SHARED,
)

_sessions_c = sessions.c


_CLAIMS: Final = Claims(
    sessions,
    and_(_sessions_c.status == str(SessionStatus.QUEUED), OPEN),
    fence=_sessions_c.attempt,
    order=_sessions_c.id,
)


class StoredSessions:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, new: Session, *, most_queued: int) -> Session | None:
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
            "end_code": outcome.end_code and str(outcome.end_code),
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
            "end_code": str(SessionEnd.STOPPED),
            "finished_at": now_us,
        }
        named = (_sessions_c.id == session_id, *_having(butler, SessionStatus.QUEUED))
        dropped = update(sessions).where(*named).values(values)
        return await self._database.write(lambda connection: connection.execute(dropped).rowcount == 1)

    async def recover(self, butler: str, *, now_us: int) -> Sequence[Session]:
        """Everything an earlier process of this butler left running, as it is from now on."""
        return await self._database.write(lambda connection: _recover(connection, butler, now_us))

    async def get(self, butler: str, session_id: str) -> Session | None:
        found = select(sessions).where(_sessions_c.butler == butler, _sessions_c.id == session_id)
        return await self._database.read(lambda connection: _first(connection, found))

    async def newest(
        self, butler: str, *, status: SessionStatus | None, before: str | None, limit: int
    ) -> Sequence[Session]:
        """`before` is the last id of the page above."""
        found = select(sessions).where(_sessions_c.butler == butler).order_by(_sessions_c.id.desc()).limit(limit)
        if status is not None:
            found = found.where(_sessions_c.status == str(status))
        if before is not None:
            found = found.where(_sessions_c.id < before)
        listed = await self._database.read(
            lambda connection: [_readable_session(row) for row in connection.execute(found)]
        )
        return [one for one in listed if one is not None]

    async def counts(self, butler: str) -> Mapping[SessionStatus, int]:
        found = (
            select(_sessions_c.status, func.count()).where(_sessions_c.butler == butler).group_by(_sessions_c.status)
        )
        rows = await self._database.read(lambda connection: [tuple(row) for row in connection.execute(found)])
        return {SessionStatus(status): int(count) for status, count in rows}


def _add(connection: Connection, new: Session, most_queued: int) -> Session | None:
    if earlier := _earlier(connection, new):
        return earlier
    queued = select(func.count()).where(*_having(new.butler, SessionStatus.QUEUED))
    if int(connection.execute(queued).scalar_one()) >= most_queued:
        return _earlier(connection, new)  # it may be this very one that has taken the last place meanwhile
    try:
        with connection.begin_nested():
            connection.execute(insert(sessions), _row(new))
    except IntegrityError:  # somebody else was faster with the same key
        return _earlier(connection, new)
    return _first(connection, select(sessions).where(_sessions_c.id == new.id))


def _earlier(connection: Connection, new: Session) -> Session | None:
    if new.request_key is None:
        return None
    return _first(
        connection, select(sessions).where(_sessions_c.butler == new.butler, _sessions_c.request_key == new.request_key)
    )


def _claim(connection: Connection, butler: str, now_us: int) -> Session | None:
    running = {"status": str(after(SessionStatus.QUEUED, SessionEvent.CLAIM)), "started_at": now_us}
    of_butler = _sessions_c.butler == butler
    while taken := _CLAIMS.take(connection, of_butler, limit=1, now_us=now_us, values=running):
        [row] = taken
        if (session := _readable_session(row)) is not None:
            return session
        _set_aside(connection, row.id, now_us)  # or all others would wait behind it
    return None


def _recover(connection: Connection, butler: str, now_us: int) -> list[Session]:
    running = select(sessions).where(*_having(butler, SessionStatus.RUNNING)).order_by(_sessions_c.id)
    left: list[Session] = []
    for row in connection.execute(running).all():
        if (readable := _readable_session(row)) is not None:
            left.append(readable)
        else:
            _set_aside(connection, row.id, now_us)
    for session in left:
        status = after(SessionStatus.RUNNING, after_crash(session.crashes))
        values: dict[str, Any] = {"status": str(status), "crashes": session.crashes + 1, "started_at": None}
        if status is SessionStatus.LOST:
            values |= {
                "started_at": session.started_at_us,
                "finished_at": now_us,
                "error_class": "internal_error",
                "error_message": "the household went down during this session, more than once",
            }
        _move(connection, session, values)
    ids = [session.id for session in left]
    after_all = select(sessions).where(_sessions_c.id.in_(ids)).order_by(_sessions_c.id)
    return [_session(row) for row in connection.execute(after_all)]


def _set_aside(connection: Connection, session_id: str, now_us: int) -> None:
    _log.error("session.set_aside", session_id=session_id)
    values = {
        "status": str(SessionStatus.FAILED),
        "error_class": str(ErrorClass.INTERNAL),
        "error_message": SET_ASIDE,
        "end_code": str(SessionEnd.SET_ASIDE),
        "finished_at": now_us,
    }
    connection.execute(update(sessions).where(_sessions_c.id == session_id).values(values))


def sessions_set_aside(connection: Connection, since_us: int) -> list[str]:
    """Which sessions, of any butler, could not be run because of what stands in their rows."""
    asked = select(_sessions_c.id, _sessions_c.butler).where(
        _sessions_c.end_code == str(SessionEnd.SET_ASIDE), _sessions_c.finished_at >= since_us
    )
    return [f"session {row.id} of {row.butler}" for row in connection.execute(asked.order_by(_sessions_c.id))]


def _having(butler: str, status: SessionStatus) -> tuple[Any, ...]:
    """With the condition of the index over what has not ended: only then can it be used."""
    return _sessions_c.butler == butler, _sessions_c.status == str(status), OPEN


def _move(connection: Connection, session: Session, values: Columns) -> bool:
    runs = _sessions_c.status == str(SessionStatus.RUNNING)
    return _CLAIMS.write(connection, session.id, session.attempt, values, runs)


def _first(connection: Connection, statement: Any) -> Session | None:
    row = connection.execute(statement).first()
    return _readable_session(row) if row is not None else None


def _readable_session(row: Row[Any]) -> Session | None:
    try:
        check_legible(row)
        return _session(row)
    except UNREADABLE:
        return None


def _row(new: Session) -> dict[str, Any]:
    context = None if new.request_context is None else json.dumps(dict(new.request_context))
    return values(new, without=("transcript",), request_context=context)


def _session(row: Row[Any]) -> Session:
    return read(Session, row, request_context=_object(row.request_context), transcript=_object(row.transcript))


def _object(text: str | None) -> dict[str, Any] | None:
    """Raises ValueError when it is anything else."""
    value = json.loads(text) if text else None
    if value is not None and not isinstance(value, dict):
        raise ValueError("not an object")
    return value
