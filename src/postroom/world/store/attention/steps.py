"""The single steps that one change of a person's notices is made of."""

from __future__ import annotations

import json
from typing import Any, Final

from sqlalchemy import Connection, Table, func, insert, or_, select, text, update

from postroom.domain.inbox_owner import inbox_of_person
from postroom.domain.notice_rows import DigestRow, Loaded, NoticeChanges, NoticeRow, SendRow, Wanted
from postroom.world.store.attention.rows import (
    digest_of,
    log_values,
    notice_of,
    notice_values,
    person_of,
    person_values,
    send_of,
    send_values,
)
from postroom.world.store.engine.insert_for import insert_for
from postroom.world.store.inbox.again import judge_again
from postroom.world.store.inbox.lock import lock_inbox
from postroom.world.store.shared.signal_names import ATTENTION_CHANNEL, THIS_PROCESS
from postroom.world.store.tables.attention import attention_log, attention_people, digests, notice_sends, notices
from postroom.world.store.tables.inbox import deferred_emails

_SEED: Final = 0x617474656E74  # keeps these locks apart from any others
_WAIT: Final = text("SELECT pg_advisory_xact_lock(hashtextextended(:person, :seed))")
_MOST_NAMED: Final = 500
_WISHES: Final = frozenset({"AwaySet", "Muted", "PolicyChanged", "Unmuted"})


def lock_person(connection: Connection, person: str) -> None:
    """Until the transaction ends. SQLite lets one transaction write at a time, so there is nothing to do."""
    if connection.dialect.name == "postgresql":
        connection.execute(_WAIT, {"person": person, "seed": _SEED})


def load(connection: Connection, person: str, wanted: Wanted) -> Loaded:
    known = connection.execute(select(attention_people).where(attention_people.c.person == person)).first()
    if known is None:
        return Loaded(person=None)
    found = {one.id: one for one in _notices(connection, person, wanted)}
    sends = {one.key: one for one in _sends(connection, person, wanted, list(found.values()))}
    members = {name for one in sends.values() if one.pending for name in json.loads(one.send)["notices"]}
    missing = select(notices).where(notices.c.person == person)
    found |= {one.id: one for one in _named(connection, missing, notices.c.id, members - found.keys(), notice_of)}
    named = {digest for one in found.values() if (digest := json.loads(one.standing).get("digest"))}
    return Loaded(
        person=person_of(known),
        notices=tuple(found.values()),
        sends=tuple(sends.values()),
        digests=tuple(_digests(connection, person, named, wanted)),
    )


def _notices(connection: Connection, person: str, wanted: Wanted) -> list[NoticeRow]:
    table = notices.c
    mine = select(notices).where(table.person == person)
    if wanted.everything:
        return [notice_of(row) for row in connection.execute(mine)]
    meant = [table.open, table.created_at >= wanted.since_us, table.id.in_(wanted.notices)]
    if wanted.key is not None:
        meant.append((table.agent == wanted.agent) & (table.key == wanted.key))
    return [notice_of(row) for row in connection.execute(mine.where(or_(*meant)))]


def _sends(connection: Connection, person: str, wanted: Wanted, found: list[NoticeRow]) -> list[SendRow]:
    table = notice_sends.c
    mine = select(notice_sends).where(table.person == person)
    if wanted.everything:
        return [send_of(row) for row in connection.execute(mine)]
    recent = or_(table.pending, table.at >= wanted.since_us)
    rows = {row.key: send_of(row) for row in connection.execute(mine.where(recent))}
    named = set(wanted.sends)
    for one in found:
        standing = json.loads(one.standing)
        named |= {key for name in ("send", "step_send", "repeat_send") if (key := standing.get(name))}
    missing = named - rows.keys()
    return [*rows.values(), *_named(connection, mine, table.key, missing, send_of)]


def _digests(connection: Connection, person: str, named: set[str], wanted: Wanted) -> list[DigestRow]:
    mine = select(digests).where(digests.c.person == person)
    if wanted.everything:
        return [digest_of(row) for row in connection.execute(mine)]
    return _named(connection, mine, digests.c.id, named, digest_of)


def _named(connection: Connection, query: Any, column: Any, names: set[str], read: Any) -> list[Any]:
    ordered, rows = sorted(names), []
    for start in range(0, len(ordered), _MOST_NAMED):
        asked = query.where(column.in_(ordered[start : start + _MOST_NAMED]))
        rows += [read(row) for row in connection.execute(asked)]
    return rows


def write(connection: Connection, before: Loaded, changes: NoticeChanges) -> None:
    _tell(connection, before, changes)
    _write_person(connection, before, changes)
    if any(one.kind in _WISHES for one in changes.log):
        _judge_copies_again(connection, changes.person.person, max(one.at_us for one in changes.log))
    known = {one.id for one in before.notices}
    for notice in changes.notices:
        if notice.id in known:
            _move(connection, notice)
        else:
            connection.execute(insert(notices), notice_values(notice))
    sent = {one.key for one in before.sends}
    for send in changes.sends:
        if send.key in sent:
            values = {"pending": send.pending, "send": send.send}  # who hands it over writes the rest
            connection.execute(update(notice_sends).where(notice_sends.c.key == send.key).values(values))
        else:
            _insert_once(connection, notice_sends, send_values(send))
    for digest in changes.digests:
        _insert_once(connection, digests, {"id": digest.id, "person": digest.person, "digest": digest.digest})
    if changes.log:
        connection.execute(insert(attention_log), [log_values(one) for one in changes.log])


def _judge_copies_again(connection: Connection, person: str, now_us: int) -> None:
    """What a person wants of notices counts for the e-mail copies of their inbox that already wait, too."""
    user_id = inbox_of_person(person)
    lock_inbox(connection, user_id)
    judge_again(connection, deferred_emails.c.user_id == user_id, now_us)


def _tell(connection: Connection, before: Loaded, changes: NoticeChanges) -> None:
    """Other processes, at the commit: a policy is another, or there is something that any of them may hand over."""
    if connection.dialect.name != "postgresql":
        return
    known = {one.key for one in before.sends}
    waiting = any(one.key not in known and one.lease_us is None for one in changes.sends)
    if waiting or before.person is None or before.person.policy != changes.person.policy:
        connection.execute(select(func.pg_notify(ATTENTION_CHANNEL, THIS_PROCESS)))


def _write_person(connection: Connection, before: Loaded, changes: NoticeChanges) -> None:
    values = person_values(changes.person)
    if before.person is None:
        connection.execute(insert(attention_people), values)
    else:
        mine = attention_people.c.person == changes.person.person
        connection.execute(update(attention_people).where(mine).values(values))


def _move(connection: Connection, notice: NoticeRow) -> None:
    """State by state, so that the database sees every move and no leap."""
    mine = notices.c.id == notice.id
    for state in notice.path[:-1]:
        connection.execute(update(notices).where(mine).values(state=state))
    values = {"state": notice.state, "open": notice.open, "standing": notice.standing}
    connection.execute(update(notices).where(mine).values(values))


def _insert_once(connection: Connection, table: Table, values: dict[str, Any]) -> None:
    connection.execute(insert_for(connection, table).values(values).on_conflict_do_nothing())
