"""People's notices on disk: one writer at a time for each person, and a log of all that happened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, and_, exists, func, not_, or_, select, union_all, update

from postroom.domain.attention import OWN_AGENTS, PRIORITY_URGENCY, AcceptedNotice, derived_id
from postroom.domain.delivery import TERMINAL, Intent, QuarantineReason, Status
from postroom.domain.notice_rows import (
    Loaded,
    LogRow,
    NoticeChanges,
    NoticeCounts,
    NoticeRow,
    SendRow,
    SettledSend,
    Wanted,
)
from postroom.world.store.attention.rows import log_of, notice_of, send_of
from postroom.world.store.attention.steps import load, lock_person, write
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.repeated import Repeated
from postroom.world.store.engine.rows import read
from postroom.world.store.tables.approvals import pending_actions
from postroom.world.store.tables.attention import (
    IS_ACCEPTED,
    PENDING,
    attention_log,
    attention_people,
    notice_sends,
    notices,
)
from postroom.world.store.tables.corrections import delivery_corrections
from postroom.world.store.tables.deliveries import delivery_dead_letter, delivery_requests
from postroom.world.store.tables.delivery_columns import PRIORITIES
from postroom.world.store.tables.people import people

_ENDED: Final = sorted(map(str, TERMINAL))
_REPLACED: Final = '"replaced":true'  # as the codec writes it
_NOT_APPROVED: Final = ("rejected", "expired")
_MOST_REPLAYED: Final = 5_000
_LINE: Final = 200
Edit = Callable[[Loaded], NoticeChanges | None]


class StoredNotices:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._repeated = Repeated(database)

    async def change(self, person: str, wanted: Wanted, edit: Edit) -> None:
        """Read, edit and write as one transaction under the person's lock; the edit may run again."""

        def work(connection: Connection) -> None:
            lock_person(connection, person)
            before = load(connection, person, wanted)
            changes = edit(before)
            if changes is not None:
                write(connection, before, changes)

        await self._database.write(work)

    async def read(self, person: str, wanted: Wanted) -> Loaded:
        return await self._database.read(lambda connection: load(connection, person, wanted))

    async def policies(self) -> Mapping[str, str | None]:
        """Everybody who has a row, with their own policy."""
        asked = select(attention_people.c.person, attention_people.c.policy)
        return await self._repeated.read(
            "policies", lambda connection: {row.person: row.policy for row in connection.execute(asked)}
        )

    async def zones(self) -> Mapping[str, str]:
        asked = select(people.c.id, people.c.zone).where(people.c.zone.is_not(None))
        return await self._repeated.read(
            "zones", lambda connection: {row.id: row.zone for row in connection.execute(asked)}
        )

    async def due(self, now_us: int, limit: int) -> Sequence[str]:
        people = attention_people.c
        asked = select(people.person).where(people.next_at <= now_us).order_by(people.next_at).limit(limit)
        return await self._database.read(lambda connection: list(connection.execute(asked).scalars()))

    async def next_due(self) -> int | None:
        asked = select(func.min(attention_people.c.next_at))
        return await self._database.read(lambda connection: connection.execute(asked).scalar())

    async def take_sends(self, now_us: int, *, lease_until_us: int, limit: int) -> Sequence[SendRow]:
        """Those that were not handed over, and that no one is at; each with a higher fence than before."""
        table = notice_sends.c
        free = or_(table.lease_until.is_(None), table.lease_until <= now_us)
        due = select(table.key).where(PENDING, table.delivery_id.is_(None), free).order_by(table.at).limit(limit)

        def work(connection: Connection) -> list[SendRow]:
            keys = connection.execute(due.with_for_update(skip_locked=True)).scalars().all()
            change = update(notice_sends).where(table.key.in_(keys))
            connection.execute(change.values(lease_until=lease_until_us, fence=table.fence + 1))
            mine = select(notice_sends).where(table.key.in_(keys)).order_by(table.at, table.key)
            return [send_of(row) for row in connection.execute(mine)]

        if not await self._database.read(lambda connection: connection.execute(due.limit(1)).first()):
            return []
        return await self._database.write(work)

    async def handed_over(self, key: str, fence: int, delivery_id: str) -> bool:
        """False when the fence has moved on; the delivery is the same one then."""
        table = notice_sends.c
        mine = and_(table.key == key, table.fence == fence, table.delivery_id.is_(None))
        change = update(notice_sends).where(mine).values(delivery_id=delivery_id, lease_until=None)
        return await self._database.write(lambda connection: connection.execute(change).rowcount == 1)

    async def replaced(self, limit: int) -> Sequence[SendRow]:
        """Those another way was chosen for, whose deliveries have not ended."""
        send, made = notice_sends.c, delivery_requests.c
        asked = (
            select(notice_sends)
            .join(delivery_requests, made.id == send.delivery_id)
            .where(PENDING, send.send.contains(_REPLACED), made.status.not_in(_ENDED))
            .limit(limit)
        )
        return await self._database.read(lambda connection: [send_of(row) for row in connection.execute(asked)])

    async def send_anew(self, key: str, delivery_id: str, outgoing: str) -> None:
        """Its delivery ended without having arrived: it is handed over again, as this."""
        table = notice_sends.c
        mine = and_(table.key == key, table.pending, table.delivery_id == delivery_id)
        values = {"delivery_id": None, "outgoing": outgoing, "fence": table.fence + 1}
        await self._database.write(
            lambda connection: connection.execute(update(notice_sends).where(mine).values(values))
        )

    async def settled(self, limit: int) -> Sequence[SettledSend]:
        """Sends without a receipt whose deliveries have ended."""
        send, made, letter, action = notice_sends.c, delivery_requests.c, delivery_dead_letter.c, pending_actions.c
        taken = delivery_corrections.c
        ended = made.status.in_(_ENDED)
        asked = (
            select(
                send.key,
                send.person,
                send.outgoing,
                made.id,
                made.status,
                letter.quarantine_reason,
                action.status.label("approval"),
                exists()
                .where(taken.delivery_id == made.id, taken.act == "recall", taken.how == "in_place")
                .label("withdrawn"),
            )
            .join(delivery_requests, made.id == send.delivery_id)
            .outerjoin(delivery_dead_letter, letter.delivery_request_id == made.id)
            .outerjoin(pending_actions, action.id == made.id)
            .where(PENDING, ended)
            .limit(limit)
        )
        return await self._database.read(lambda connection: [_settled(row) for row in connection.execute(asked)])

    async def page(
        self, person: str, states: Collection[str] | None, limit: int, before: str | None
    ) -> Sequence[NoticeRow]:
        """Newest first."""

        def work(connection: Connection) -> list[NoticeRow]:
            last = _by_id(connection, before) if before is not None else None
            return [notice_of(row) for row in connection.execute(_page(person, states, limit, last))]

        return await self._database.read(work)

    async def notice(self, notice_id: str) -> NoticeRow | None:
        return await self._database.read(lambda connection: _by_id(connection, notice_id))

    async def of_key(self, agent: str, key: str) -> Sequence[NoticeRow]:
        asked = select(notices).where(notices.c.agent == agent, notices.c.key == key)
        return await self._database.read(lambda connection: [notice_of(row) for row in connection.execute(asked)])

    async def sends(self, keys: Collection[str]) -> Sequence[SendRow]:
        asked = select(notice_sends).where(notice_sends.c.key.in_(sorted(keys))).order_by(notice_sends.c.at)
        return await self._database.read(lambda connection: [send_of(row) for row in connection.execute(asked)])

    async def send_of_delivery(self, delivery_id: str) -> SendRow | None:
        asked = select(notice_sends).where(notice_sends.c.delivery_id == delivery_id)

        def work(connection: Connection) -> SendRow | None:
            row = connection.execute(asked).first()
            return send_of(row) if row else None

        return await self._database.read(work)

    async def log(
        self, person: str | None = None, *, notice: str | None = None, since_us: int | None = None
    ) -> Sequence[LogRow]:
        """In the order it was written."""
        asked = select(attention_log).order_by(attention_log.c.person, attention_log.c.seq)
        asked = asked.where(attention_log.c.person == person) if person is not None else asked
        asked = asked.where(attention_log.c.notice == notice) if notice is not None else asked
        asked = asked.where(attention_log.c.at >= since_us) if since_us is not None else asked
        return await self._database.read(lambda connection: [log_of(row) for row in connection.execute(asked)])

    async def sent_unjudged(self, places: Collection[tuple[str, str]], since_us: int) -> Sequence[AcceptedNotice]:
        made = delivery_requests.c
        judged = select(notice_sends.c.key).where(notice_sends.c.delivery_id == made.id).exists()
        asked = (
            select(made.id, made.origin_butler, made.created_at, made.channel)
            .add_columns(made.subject, made.message_content, made.priority)
            .where(made.created_at >= since_us, made.intent == str(Intent.SEND), made.origin_butler.not_in(OWN_AGENTS))
            .where(or_(*(and_(made.channel == channel, made.address == address) for channel, address in places)))
            .where(not_(judged))
            .order_by(made.created_at, made.id)
            .limit(_MOST_REPLAYED)
        )
        if not places:
            return []
        return await self._database.read(lambda connection: [_unjudged(row) for row in connection.execute(asked)])

    async def in_states(self, person: str, states: Collection[str]) -> int:
        table = notices.c
        asked = select(func.count()).where(table.person == person, table.state.in_(sorted(states)))
        return await self._database.read(lambda connection: int(connection.execute(asked).scalar_one()))

    async def counts(self, person: str | None) -> NoticeCounts:
        """Along the index of a person's states, which has all that is asked for."""

        def work(connection: Connection) -> NoticeCounts:
            kept = select(notices.c.agent, notices.c.state, func.count()).group_by(notices.c.agent, notices.c.state)
            logged = select(func.count()).select_from(attention_log).where(IS_ACCEPTED)
            if person is not None:
                kept, logged = kept.where(notices.c.person == person), logged.where(attention_log.c.person == person)
            return _counted(connection.execute(kept), int(connection.execute(logged).scalar_one()))

        return await self._database.read(work)


def _counted(rows: Iterable[Any], logged: int) -> NoticeCounts:
    states, agents = Counter[str](), Counter[str]()
    for agent, state, many in rows:
        states[state] += int(many)
        agents[agent] += int(many)
    return NoticeCounts(states=dict(sorted(states.items())), agents=dict(sorted(agents.items())), logged=logged)


def _page(person: str, states: Collection[str] | None, limit: int, last: NoticeRow | None) -> Select[Any]:
    """State by state along the index of states: rows of other states, of which there may be many, are not read."""
    if states is None:
        return _newest_first(select(notices).where(notices.c.person == person), limit, last)
    each = [select(notices).where(notices.c.person == person, notices.c.state == one) for one in sorted(states)]
    if len(each) == 1:
        return _newest_first(each[0], limit, last)
    found = [select(_newest_first(one, limit, last).subquery()) for one in each]
    together = union_all(*found).subquery("together")
    return select(together).order_by(together.c.created_at.desc(), together.c.id.desc()).limit(limit)


def _newest_first(asked: Select[Any], limit: int, last: NoticeRow | None) -> Select[Any]:
    asked = asked if last is None else asked.where(_older(last))
    return asked.order_by(notices.c.created_at.desc(), notices.c.id.desc()).limit(limit)


def _by_id(connection: Connection, notice_id: str) -> NoticeRow | None:
    row = connection.execute(select(notices).where(notices.c.id == notice_id)).first()
    return notice_of(row) if row else None


def _older(last: NoticeRow) -> ColumnElement[bool]:
    table = notices.c
    return or_(table.created_at < last.created_us, and_(table.created_at == last.created_us, table.id < last.id))


def _unjudged(row: Any) -> AcceptedNotice:
    words = " ".join(row.message_content.split())
    return AcceptedNotice(
        id=row.id,
        person="",
        agent=row.origin_butler,
        created_us=row.created_at,
        channel=row.channel,
        text=words[:_LINE],
        urgency=PRIORITY_URGENCY[str(PRIORITIES[row.priority])],
        fingerprint=derived_id(" ".join((row.subject or "").split()), words),
    )


def _settled(row: Any) -> SettledSend:
    failed = row.status == Status.FAILED
    return read(
        SettledSend,
        row,
        delivery_id=row.id,
        refused=row.approval in _NOT_APPROVED and failed,
        uncertain=row.quarantine_reason == QuarantineReason.OUTCOME_UNCERTAIN,
        withdrawn=bool(row.withdrawn) and failed,
    )
