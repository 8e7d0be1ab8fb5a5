"""People's notices on disk: one writer at a time for each person, and a log of all that happened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, get_args

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ColumnElement,
    Connection,
    Index,
    Integer,
    Row,
    Select,
    Table,
    Text,
    and_,
    exists,
    func,
    insert,
    not_,
    or_,
    select,
    text,
    union_all,
    update,
)

from postroom.approvals.store.tables import was_refused
from postroom.attention.model import CELLS, UNSENT, Decision, DecisionKind, NoticeState, Policy
from postroom.attention.rules.digest import Digest
from postroom.attention.state import (
    Fact,
    Loaded,
    LogRow,
    NoticeChanges,
    NoticeCounts,
    NoticeRow,
    PersonRow,
    Rest,
    SendRow,
    SettledSend,
    Standing,
    Wanted,
)
from postroom.delivery.store.tables import PRIORITIES, delivery_corrections, delivery_dead_letter, delivery_requests
from postroom.kernel.database.claims import Claims
from postroom.kernel.database.engine import ATTENTION_CHANNEL, THIS_PROCESS, Database, Repeated, insert_for
from postroom.kernel.database.moments import moments_of, put_moments
from postroom.kernel.database.rows import Columns, of_json, read, to_json, values
from postroom.kernel.database.schema import SHARED, metadata, one_of, partial_index
from postroom.message.delivery import TERMINAL, Intent, QuarantineReason, Status
from postroom.message.outgoing import Outgoing
from postroom.message.wishes import OWN_AGENTS, PRIORITY_URGENCY, AcceptedNotice, derived_id
from postroom.people.store.tables import people

MOMENTS: Final = "notices"  # the kind of what is due of a person's notices
_ENDED: Final = sorted(map(str, TERMINAL))
_MOST_REPLAYED: Final = 5_000
_LINE: Final = 200
_SEED: Final = 0x617474656E74  # keeps these locks apart from any others
_WAIT: Final = text("SELECT pg_advisory_xact_lock(hashtextextended(:person, :seed))")
_MOST_NAMED: Final = 500
Edit = Callable[[Loaded], NoticeChanges | None]


# -- Tables: notices and their sends, what people want of them, and the log it all follows from --

OPEN = text("open")
PENDING = text("pending")
CLOSED = text("NOT open")
HANDED_OVER = text("NOT pending")
ACCEPTED = "NoticeAccepted"
_IS_ACCEPTED = text(f"kind = '{ACCEPTED}'")
_IS_HELD = text("kind IN ('hold', 'join_digest')")
_FACT = text("notice IS NULL")
_KEYED = text("key IS NOT NULL")
attention_people = Table(
    "attention_people",
    metadata,
    Column("person", Text, primary_key=True),
    Column("policy", Text),
    Column("rest", Text, nullable=False),
    Column("seq", BigInteger, nullable=False),
    schema=SHARED,
)
notices = Table(
    "notices",
    metadata,
    Column("id", Text, primary_key=True),
    Column("person", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("key", Text),
    Column("state", Text, nullable=False),
    Column("open", Boolean, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("request_id", Text, nullable=False),
    Column("standing", Text, nullable=False),
    Column("outgoing", Text, nullable=False),
    CheckConstraint(one_of("state", NoticeState), name="state"),
    Index("ix_notices_person_created_at", "person", "created_at", "id"),
    Index("ix_notices_person_state", "person", "state", "agent"),
    Index("ix_notices_person_state_created_at", "person", "state", "created_at", "id"),
    Index("ix_notices_request_id", "request_id"),
    partial_index("ix_notices_closed", "created_at", where=CLOSED),
    partial_index("ix_notices_open", "person", where=OPEN),
    partial_index("ix_notices_key", "person", "agent", "key", where=_KEYED),
    schema=SHARED,
)
notice_sends = Table(
    "notice_sends",
    metadata,
    Column("key", Text, primary_key=True),
    Column("person", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("pending", Boolean, nullable=False),
    Column("replaced", Boolean, nullable=False),
    Column("delivery_id", Text),
    Column("request_id", Text, nullable=False),
    Column("send", Text, nullable=False),
    Column("outgoing", Text),
    Column("notice", Text),  # whose words it has, where it has none of its own
    Column("lease_until", BigInteger),
    Column("fence", Integer, nullable=False),
    Index("ix_notice_sends_person_at", "person", "at"),
    Index("ix_notice_sends_delivery_id", "delivery_id"),
    partial_index("ix_notice_sends_handed_over", "at", where=HANDED_OVER),
    partial_index("ix_notice_sends_pending", "person", where=PENDING),
    schema=SHARED,
)
_SENDS: Final = Claims(
    notice_sends,
    and_(PENDING, notice_sends.c.delivery_id.is_(None)),
    fence=notice_sends.c.fence,
    lease=notice_sends.c.lease_until,
    due=func.coalesce(notice_sends.c.lease_until, notice_sends.c.at),
    order=notice_sends.c.at,
)
_WORDED: Final = select(
    *(column for column in notice_sends.c if column.name != "outgoing"),
    func.coalesce(notice_sends.c.outgoing, notices.c.outgoing).label("outgoing"),
).outerjoin(notices, notices.c.id == notice_sends.c.notice)
digests = Table(
    "digests",
    metadata,
    Column("id", Text, primary_key=True),
    Column("person", Text, nullable=False),
    Column("digest", Text, nullable=False),
    schema=SHARED,
)
attention_log = Table(
    "attention_log",
    metadata,
    Column("person", Text, primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("notice", Text),
    Column("body", Text, nullable=False),
    Index("ix_attention_log_notice", "notice", "seq"),
    Index("ix_attention_log_person_at", "person", "at"),
    partial_index("ix_attention_log_accepted", "person", where=_IS_ACCEPTED),
    partial_index("ix_attention_log_facts", "notice", "at", where=_FACT),
    partial_index("ix_attention_log_held", "at", "notice", where=_IS_HELD),
    schema=SHARED,
)


# -- Rows, read and written; columns are named here alone --

_EVENTS: Final[Mapping[str, type[Any]]] = {
    **{kind.__name__: kind for kind in get_args(Fact)},
    **dict.fromkeys(map(str, DecisionKind), Decision),
}


def person_of(row: Row[Any]) -> PersonRow:
    return read(PersonRow, row, policy=_policy(row.policy), rest=_rest(row.rest))


@lru_cache(maxsize=1024)
def _policy(written: str | None) -> Policy | None:
    """Everybody's are read twice a second, and seldom change."""
    return None if written is None else of_json(Policy, written)


@lru_cache(maxsize=1024)
def _rest(written: str) -> Rest:
    return of_json(Rest, written)


def _notice_of(row: Row[Any]) -> NoticeRow:
    return read(NoticeRow, row, path=())


def _send_of(row: Row[Any]) -> SendRow:
    return read(SendRow, row)


def _worded(connection: Connection, keys: Sequence[str]) -> list[SendRow]:
    """With what is to be said, which is kept once: a send that shows its notice as it is has the words of that."""
    asked: Select[Any] = _WORDED.where(notice_sends.c.key.in_(keys)).order_by(notice_sends.c.at, notice_sends.c.key)
    return [_send_of(row) for row in connection.execute(asked)]


def _digest_of(row: Row[Any]) -> Digest:
    return of_json(Digest, row.digest)


def _log_of(row: Row[Any]) -> LogRow:
    return read(LogRow, row, event=of_json(_EVENTS[row.kind], row.body))


def _notice_values(row: NoticeRow) -> Columns:
    standing, notice = row.standing, row.standing.notice
    return values(
        row,
        without=("path",),
        id=notice.id,
        person=notice.person,
        agent=notice.agent,
        key=notice.key,
        created_at=notice.created_us,
        state=str(standing.state),
        open=standing.is_open,
    )


def _send_values(row: SendRow) -> Columns:
    send = row.send
    own = row.outgoing if row.notice is None else None
    return values(row, key=send.key, at=send.at_us, pending=send.pending, replaced=send.replaced, outgoing=own)


def _log_values(person: str, row: LogRow) -> Columns:
    event = row.event
    kind = str(event.kind) if isinstance(event, Decision) else type(event).__name__
    about = {"at": event.at_us, "kind": kind, "notice": row.notice}
    return {"person": person, "seq": row.seq, **about, "body": to_json(event)}


# -- What is asked, and the one way to change it --


class StoredNotices:
    """One person's notices are changed by one writer at a time, in whatever process; sends wait as in an outbox."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._repeated = Repeated(database)

    async def change(self, person: str, wanted: Wanted, edit: Edit) -> None:
        """Read, edit and write as one transaction under the lock; the edit may run again, and None writes nothing."""

        def work(connection: Connection) -> None:
            lock_person(connection, person)
            before = load(connection, person, wanted)
            changes = edit(before)
            if changes is not None:
                write(connection, before, changes)

        await self._database.write(work)

    async def read(self, person: str, wanted: Wanted) -> Loaded:
        return await self._database.read(lambda connection: load(connection, person, wanted))

    async def everybody(self) -> Sequence[PersonRow]:
        """Who has a row."""
        asked = select(attention_people).order_by(attention_people.c.person)
        return await self._repeated.read(
            "everybody", lambda connection: [person_of(row) for row in connection.execute(asked)]
        )

    async def zones(self) -> Mapping[str, str]:
        """Of people who have told theirs."""
        asked = select(people.c.id, people.c.zone).where(people.c.zone.is_not(None))
        return await self._repeated.read(
            "zones", lambda connection: {row.id: row.zone for row in connection.execute(asked)}
        )

    async def take_sends(self, now_us: int, *, lease_until_us: int, limit: int) -> Sequence[SendRow]:
        """Those that were not handed over, and that no one is at; each with a higher fence than before."""
        if not await _SENDS.may_be_due(self._repeated, now_us):
            return []

        def work(connection: Connection) -> list[SendRow]:
            taken = _SENDS.take(connection, limit=limit, now_us=now_us, lease_until_us=lease_until_us)
            return _worded(connection, [row.key for row in taken])

        return await self._database.write(work)

    async def handed_over(self, key: str, fence: int, delivery_id: str) -> bool:
        """False when the fence has moved on; the delivery is the same one then."""
        is_there, untold = {"delivery_id": delivery_id, "lease_until": None}, notice_sends.c.delivery_id.is_(None)
        return await self._database.write(lambda connection: _SENDS.write(connection, key, fence, is_there, untold))

    async def replaced(self, limit: int) -> Sequence[SendRow]:
        """Those another way was chosen for, whose deliveries have not ended."""
        send, made = notice_sends.c, delivery_requests.c
        asked = (
            select(notice_sends)
            .join(delivery_requests, made.id == send.delivery_id)
            .where(PENDING, send.replaced, made.status.not_in(_ENDED))
            .limit(limit)
        )
        return await self._database.read(lambda connection: [_send_of(row) for row in connection.execute(asked)])

    async def send_anew(self, key: str, delivery_id: str, outgoing: Outgoing) -> None:
        """Its delivery ended without having arrived: it is handed over again, as this."""
        table = notice_sends.c
        mine = and_(table.key == key, table.pending, table.delivery_id == delivery_id)
        change = {"delivery_id": None, "outgoing": to_json(outgoing), "fence": table.fence + 1}
        await self._database.write(
            lambda connection: connection.execute(update(notice_sends).where(mine).values(change))
        )

    async def settled(self, limit: int) -> Sequence[SettledSend]:
        """Sends without a receipt whose deliveries have ended."""
        send, made, letter = notice_sends.c, delivery_requests.c, delivery_dead_letter.c
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
                was_refused().label("refused"),
                exists()
                .where(taken.delivery_id == made.id, taken.act == "recall", taken.how == "in_place")
                .label("withdrawn"),
            )
            .join(delivery_requests, made.id == send.delivery_id)
            .outerjoin(delivery_dead_letter, letter.delivery_request_id == made.id)
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
            return [_notice_of(row) for row in connection.execute(_page(person, states, limit, last))]

        return await self._database.read(work)

    async def notice(self, notice_id: str) -> NoticeRow | None:
        return await self._database.read(lambda connection: _by_id(connection, notice_id))

    async def of_key(self, agent: str, key: str) -> Sequence[NoticeRow]:
        asked = select(notices).where(notices.c.agent == agent, notices.c.key == key)
        return await self._database.read(lambda connection: [_notice_of(row) for row in connection.execute(asked)])

    async def sends(self, keys: Collection[str]) -> Sequence[SendRow]:
        return await self._database.read(lambda connection: _worded(connection, sorted(keys)))

    async def send_of_delivery(self, delivery_id: str) -> SendRow | None:
        asked = select(notice_sends).where(notice_sends.c.delivery_id == delivery_id)

        def work(connection: Connection) -> SendRow | None:
            row = connection.execute(asked).first()
            return _send_of(row) if row else None

        return await self._database.read(work)

    async def log(
        self, person: str | None = None, *, notice: str | None = None, since_us: int | None = None
    ) -> Sequence[LogRow]:
        """In the order it was written."""
        asked = select(attention_log).order_by(attention_log.c.person, attention_log.c.seq)
        asked = asked.where(attention_log.c.person == person) if person is not None else asked
        asked = asked.where(attention_log.c.notice == notice) if notice is not None else asked
        asked = asked.where(attention_log.c.at >= since_us) if since_us is not None else asked
        return await self._database.read(lambda connection: [_log_of(row) for row in connection.execute(asked)])

    async def sent_unjudged(self, places: Collection[tuple[str, str]], since_us: int) -> Sequence[AcceptedNotice]:
        """Messages of agents to these channels and addresses that left while there was no policy, oldest first."""
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

    async def held(self, person: str) -> int:
        """How many of a person's wait for a better moment, without counting the others."""
        return await self._database.read(lambda connection: held_for(connection, person))

    async def counts(self, person: str | None) -> NoticeCounts:
        """Of one person or of all: along the index of a person's states, which has all that is asked for."""

        def work(connection: Connection) -> NoticeCounts:
            kept = select(notices.c.agent, notices.c.state, func.count()).group_by(notices.c.agent, notices.c.state)
            logged = select(func.count()).select_from(attention_log).where(_IS_ACCEPTED)
            if person is not None:
                kept, logged = kept.where(notices.c.person == person), logged.where(attention_log.c.person == person)
            return _counted(connection.execute(kept), int(connection.execute(logged).scalar_one()))

        return await self._database.read(work)


def held_between(since_us: int, until_us: int) -> Select[int]:
    """How many notices were told to wait in that time, by an index of such decisions alone."""
    log = attention_log.c
    return select(func.count(log.notice.distinct())).where(_IS_HELD, log.at >= since_us, log.at < until_us)


def held_for(connection: Connection, person: str) -> int:
    table = notices.c
    asked = select(func.count()).where(table.person == person, table.state.in_(sorted(CELLS["held"])))
    return int(connection.execute(asked).scalar_one())


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


def _older(last: NoticeRow) -> ColumnElement[bool]:
    table, at_us = notices.c, last.standing.notice.created_us
    return or_(table.created_at < at_us, and_(table.created_at == at_us, table.id < last.id))


def notices_of(connection: Connection, request_id: str) -> list[NoticeRow]:
    """What came of a request."""
    asked = select(notices).where(notices.c.request_id == request_id)
    return [_notice_of(row) for row in connection.execute(asked)]


def _by_id(connection: Connection, notice_id: str) -> NoticeRow | None:
    row = connection.execute(select(notices).where(notices.c.id == notice_id)).first()
    return _notice_of(row) if row else None


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
        refused=bool(row.refused) and failed,
        uncertain=row.quarantine_reason == QuarantineReason.OUTCOME_UNCERTAIN,
        withdrawn=bool(row.withdrawn) and failed,
    )


# -- The single steps that one change is made of --


def lock_person(connection: Connection, person: str) -> None:
    """Until the transaction ends. SQLite lets one transaction write at a time, so there is nothing to do."""
    if connection.dialect.name == "postgresql":
        connection.execute(_WAIT, {"person": person, "seed": _SEED})


def load(connection: Connection, person: str, wanted: Wanted) -> Loaded:
    known = connection.execute(select(attention_people).where(attention_people.c.person == person)).first()
    if known is None:
        return Loaded(person=None)
    found = {one.id: one for one in _notices(connection, person, wanted)}
    sends = {one.key: one for one in _sends(connection, person, wanted, [one.standing for one in found.values()])}
    members = {name for one in sends.values() if one.send.pending for name in one.send.notices}
    missing = select(notices).where(notices.c.person == person)
    found |= {one.id: one for one in _named(connection, missing, notices.c.id, members - found.keys(), _notice_of)}
    named = {one.standing.digest for one in found.values() if one.standing.digest is not None}
    return Loaded(
        person=person_of(known),
        notices=tuple(found.values()),
        sends=tuple(sends.values()),
        digests=tuple(_digests(connection, person, named, wanted)),
        due=moments_of(connection, MOMENTS, person),
    )


def _notices(connection: Connection, person: str, wanted: Wanted) -> list[NoticeRow]:
    table = notices.c
    mine = select(notices).where(table.person == person)
    if wanted.everything:
        return [_notice_of(row) for row in connection.execute(mine)]
    meant = [table.open, table.created_at >= wanted.since_us, table.id.in_(wanted.notices)]
    if wanted.key is not None:
        meant.append((table.agent == wanted.agent) & (table.key == wanted.key))
    return [_notice_of(row) for row in connection.execute(mine.where(or_(*meant)))]


def _sends(connection: Connection, person: str, wanted: Wanted, found: Iterable[Standing]) -> list[SendRow]:
    table = notice_sends.c
    mine = select(notice_sends).where(table.person == person)
    if wanted.everything:
        return [_send_of(row) for row in connection.execute(mine)]
    recent = or_(table.pending, table.at >= wanted.since_us)
    rows = {row.key: _send_of(row) for row in connection.execute(mine.where(recent))}
    latest = {key for one in found for key in (one.send, one.step_send, one.repeat_send) if key is not None}
    return [*rows.values(), *_named(connection, mine, table.key, (latest | {*wanted.sends}) - rows.keys(), _send_of)]


def _digests(connection: Connection, person: str, named: set[str], wanted: Wanted) -> list[Digest]:
    mine = select(digests).where(digests.c.person == person)
    if wanted.everything:
        return [_digest_of(row) for row in connection.execute(mine)]
    return _named(connection, mine, digests.c.id, named, _digest_of)


def _named(connection: Connection, query: Any, column: Any, names: set[str], read: Any) -> list[Any]:
    ordered, rows = sorted(names), []
    for start in range(0, len(ordered), _MOST_NAMED):
        asked = query.where(column.in_(ordered[start : start + _MOST_NAMED]))
        rows += [read(row) for row in connection.execute(asked)]
    return rows


def write(connection: Connection, before: Loaded, changes: NoticeChanges) -> None:
    _tell(connection, before, changes)
    _write_person(connection, before, changes)
    person = changes.person.person
    known = {one.id for one in before.notices}
    for notice in changes.notices:
        if notice.id in known:
            _move(connection, notice)
        else:
            connection.execute(insert(notices), _notice_values(notice))
    sent = {one.key for one in before.sends}
    for send in changes.sends:
        if send.key in sent:
            # who hands it over writes the rest
            written = _send_values(send)
            change = {name: written[name] for name in ("pending", "replaced", "send")}
            connection.execute(update(notice_sends).where(notice_sends.c.key == send.key).values(change))
        else:
            _insert_once(connection, notice_sends, _send_values(send))
    for digest in changes.digests:
        _insert_once(connection, digests, {"id": digest.id, "person": person, "digest": to_json(digest)})
    if changes.log:
        connection.execute(insert(attention_log), [_log_values(person, one) for one in changes.log])


def readdress(connection: Connection, notice: NoticeRow, address: str) -> None:
    """What has not left goes there when it does."""
    moved = replace(notice.message, recipient=address)
    mine = update(notices).where(notices.c.id == notice.id, notices.c.state.in_(sorted(UNSENT)))
    connection.execute(mine.values(outgoing=to_json(moved)))


def _tell(connection: Connection, before: Loaded, changes: NoticeChanges) -> None:
    """Other processes, at the commit: a policy is another, or there is something that any of them may hand over."""
    if connection.dialect.name != "postgresql":
        return
    known = {one.key for one in before.sends}
    waiting = any(one.key not in known and one.lease_until_us is None for one in changes.sends)
    if waiting or before.person is None or before.person.policy != changes.person.policy:
        connection.execute(select(func.pg_notify(ATTENTION_CHANNEL, THIS_PROCESS)))


def _write_person(connection: Connection, before: Loaded, changes: NoticeChanges) -> None:
    row = values(changes.person)
    if before.person is None:
        connection.execute(insert(attention_people), row)
    else:
        mine = attention_people.c.person == changes.person.person
        connection.execute(update(attention_people).where(mine).values(row))
    if dict(before.due) != changes.due:
        put_moments(connection, MOMENTS, changes.person.person, changes.due)


def _move(connection: Connection, notice: NoticeRow) -> None:
    """State by state, so that the database sees every move and no leap."""
    mine = notices.c.id == notice.id
    for state in notice.path[:-1]:
        connection.execute(update(notices).where(mine).values(state=state))
    standing = notice.standing
    change = {"state": str(standing.state), "open": standing.is_open, "standing": to_json(standing)}
    connection.execute(update(notices).where(mine).values(change))


def _insert_once(connection: Connection, table: Table, row: Columns) -> None:
    connection.execute(insert_for(connection, table).values(row).on_conflict_do_nothing())
