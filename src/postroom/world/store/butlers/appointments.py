"""Appointments on disk: a reminder outlives every restart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from postroom.domain.appointment import Appointment, AppointmentKind, AppointmentStatus
from postroom.world.store.engine.database import Database
from postroom.world.store.tables.butlers import appointments

_c = appointments.c


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

    async def due(self, now_us: int) -> Sequence[Appointment]:
        mine = select(appointments).where(_c.butler == self._butler, _c.status == "waiting", _c.due_at <= now_us)
        return await self._database.read(
            lambda connection: [_of(row) for row in connection.execute(mine.order_by(_c.due_at))]
        )

    async def next_due_us(self) -> int | None:
        mine = select(_c.due_at).where(_c.butler == self._butler, _c.status == "waiting").order_by(_c.due_at).limit(1)
        return await self._database.read(lambda connection: connection.execute(mine).scalar())

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
        return await self._database.read(lambda connection: [_of(row) for row in connection.execute(mine)])


def _insert(connection: Connection, new: Appointment) -> None:
    connection.execute(
        insert(appointments).values(
            id=new.id,
            butler=new.butler,
            kind=str(new.kind),
            name=new.name,
            due_at=new.due_at_us,
            work=new.work,
            status=str(new.status),
            tries=new.tries,
            result=new.result,
            created_at=new.created_at_us,
        )
    )


def _of(row: Row[Any]) -> Appointment:
    return Appointment(
        id=row.id,
        butler=row.butler,
        kind=AppointmentKind(row.kind),
        name=row.name,
        due_at_us=row.due_at,
        work=row.work,
        created_at_us=row.created_at,
        status=AppointmentStatus(row.status),
        tries=row.tries,
        result=row.result,
    )
