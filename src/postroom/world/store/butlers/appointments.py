"""Appointments on disk: a reminder outlives every restart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import structlog
from sqlalchemy import Connection, Row, delete, insert, or_, select, update

from postroom.domain.appointment import SET_ASIDE, Appointment, AppointmentKind, AppointmentStatus
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.rows import UNREADABLE, check_legible, read, values
from postroom.world.store.tables.butlers import appointments

_c = appointments.c
_log = structlog.get_logger("postroom.store")


class StoredAppointments:
    def __init__(self, database: Database, butler: str) -> None:
        self._database = database
        self._butler = butler

    async def add(self, new: Appointment) -> None:
        await self._database.write(lambda connection: _insert(connection, new))

    async def keep_schedules(self, current: Sequence[Appointment]) -> None:
        """
        The schedules of the file, and no others.

        One that is already waiting keeps its moment unless the file changed it, so
        that a run missed while we were down is still made, once.
        """

        def work(connection: Connection) -> None:
            mine = (_c.butler == self._butler, _c.kind == str(AppointmentKind.SCHEDULE), _c.status == "waiting")
            waiting = {row.name: row for row in connection.execute(select(appointments).where(*mine))}
            for new in current:
                known = waiting.pop(new.name, None)
                if known is not None and known.work == new.work:
                    continue
                if known is not None:
                    connection.execute(delete(appointments).where(_c.id == known.id))
                _insert(connection, new)
            for gone in waiting.values():
                connection.execute(delete(appointments).where(_c.id == gone.id))

        await self._database.write(work)

    async def due(self, now_us: int) -> Sequence[Appointment | None]:
        """None stands for one that cannot be read: it is set aside, so that the others do not wait behind it."""
        mine = select(appointments).where(_c.butler == self._butler, _c.status == "waiting", _c.due_at <= now_us)

        def work(connection: Connection) -> list[tuple[str, Appointment | None]]:
            return [(row.id, _readable(row)) for row in connection.execute(mine.order_by(_c.due_at))]

        found = await self._database.read(work)
        if aside := [row_id for row_id, one in found if one is None]:
            _log.error("appointment.set_aside", butler=self._butler, appointments=aside)
            values = {"status": str(AppointmentStatus.FAILED), "result": SET_ASIDE}
            named = update(appointments).where(_c.id.in_(aside), _c.status == "waiting").values(**values)
            await self._database.write(lambda connection: connection.execute(named).rowcount)
        return [one for _, one in found]

    async def next_due_us(self) -> int | None:
        mine = select(_c.due_at).where(_c.butler == self._butler, _c.status == "waiting").order_by(_c.due_at).limit(1)
        found = await self._database.read(lambda connection: connection.execute(mine).scalar())
        return found if isinstance(found, int) else None

    async def finish(
        self, done: Appointment, status: AppointmentStatus, result: str, following: Appointment | None
    ) -> None:
        """The end of one run and the appointment for the next, together."""

        def work(connection: Connection) -> None:
            ended = (_c.id == done.id, _c.status == "waiting")
            values = {"status": str(status), "result": result, "tries": done.tries + 1}
            if connection.execute(update(appointments).where(*ended).values(**values)).rowcount and following:
                _insert(connection, following)

        await self._database.write(work)

    async def postpone(self, one: Appointment, due_at_us: int, result: str) -> None:
        values = {"due_at": due_at_us, "tries": one.tries + 1, "result": result}
        later = update(appointments).where(_c.id == one.id, _c.status == "waiting").values(**values)
        await self._database.write(lambda connection: connection.execute(later).rowcount)

    async def recent(self, limit: int) -> Sequence[Appointment]:
        mine = select(appointments).where(_c.butler == self._butler).order_by(_c.due_at.desc()).limit(limit)
        found = await self._database.read(lambda connection: [_readable(row) for row in connection.execute(mine)])
        return [one for one in found if one is not None]


def _insert(connection: Connection, new: Appointment) -> None:
    connection.execute(insert(appointments).values(values(new)))


def appointments_set_aside(connection: Connection, since_us: int) -> list[str]:
    """Which appointments, of any butler, could not be kept because of what stands in their rows."""
    broken = or_(_c.result == SET_ASIDE, _c.result.like("error: it cannot be carried out%"))
    asked = select(_c.id, _c.butler).where(_c.status == str(AppointmentStatus.FAILED), broken, _c.due_at >= since_us)
    return [f"appointment {row.id} of {row.butler}" for row in connection.execute(asked.order_by(_c.id))]


def _readable(row: Row[Any]) -> Appointment | None:
    try:
        check_legible(row)
        return _of(row)
    except UNREADABLE:
        return None


def _of(row: Row[Any]) -> Appointment:
    return read(Appointment, row, due_at_us=int(row.due_at), created_at_us=int(row.created_at), tries=int(row.tries))
