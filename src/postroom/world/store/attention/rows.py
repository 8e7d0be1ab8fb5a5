"""Rows of attention, read and written; columns are named here alone."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row

from postroom.domain.notice_rows import DigestRow, LogRow, NoticeRow, PersonRow, SendRow


def person_of(row: Row[Any]) -> PersonRow:
    return PersonRow(person=row.person, policy=row.policy, rest=row.rest, seq=row.seq, next_us=row.next_at)


def person_values(one: PersonRow) -> dict[str, Any]:
    return {"person": one.person, "policy": one.policy, "rest": one.rest, "seq": one.seq, "next_at": one.next_us}


def notice_of(row: Row[Any]) -> NoticeRow:
    return NoticeRow(
        id=row.id,
        person=row.person,
        agent=row.agent,
        key=row.key,
        state=row.state,
        open=bool(row.open),
        created_us=row.created_at,
        standing=row.standing,
        fingerprint=row.fingerprint,
        request_id=row.request_id,
        outgoing=row.outgoing,
    )


def notice_values(one: NoticeRow) -> dict[str, Any]:
    return {
        "id": one.id,
        "person": one.person,
        "agent": one.agent,
        "key": one.key,
        "state": one.state,
        "open": one.open,
        "created_at": one.created_us,
        "standing": one.standing,
        "fingerprint": one.fingerprint,
        "request_id": one.request_id,
        "outgoing": one.outgoing,
    }


def send_of(row: Row[Any]) -> SendRow:
    return SendRow(
        key=row.key,
        person=row.person,
        at_us=row.at,
        pending=bool(row.pending),
        send=row.send,
        outgoing=row.outgoing,
        request_id=row.request_id,
        delivery_id=row.delivery_id,
        lease_us=row.lease_until,
        fence=row.fence,
    )


def send_values(one: SendRow) -> dict[str, Any]:
    return {
        "key": one.key,
        "person": one.person,
        "at": one.at_us,
        "pending": one.pending,
        "send": one.send,
        "outgoing": one.outgoing,
        "request_id": one.request_id,
        "delivery_id": one.delivery_id,
        "lease_until": one.lease_us,
        "fence": one.fence,
    }


def digest_of(row: Row[Any]) -> DigestRow:
    return DigestRow(id=row.id, person=row.person, digest=row.digest)


def log_of(row: Row[Any]) -> LogRow:
    return LogRow(person=row.person, seq=row.seq, at_us=row.at, kind=row.kind, notice=row.notice, body=row.body)


def log_values(one: LogRow) -> dict[str, Any]:
    return {
        "person": one.person,
        "seq": one.seq,
        "at": one.at_us,
        "kind": one.kind,
        "notice": one.notice,
        "body": one.body,
    }
