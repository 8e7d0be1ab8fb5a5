"""What the acts on one page of the audit were about, read from the records they belong to."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, select

from postroom.domain.audit import AuditSubject
from postroom.domain.delivery import Format
from postroom.domain.plain_words import plain_words
from postroom.world.store.engine.database import Database
from postroom.world.store.tables.approvals import approval_rules
from postroom.world.store.tables.deliveries import delivery_dead_letter, delivery_requests
from postroom.world.store.tables.questions import questions

Found = Mapping[str, AuditSubject]


class StoredAuditSubjects:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, subjects: Collection[str]) -> Found:
        """By the subject as the audit writes it; what no record knows is not in it."""
        wanted = {kind: ids for kind in _READERS if (ids := _ids(subjects, kind))}

        def work(connection: Connection) -> Found:
            return {
                f"{kind}:{identifier}": subject
                for kind, ids in wanted.items()
                for identifier, subject in _READERS[kind](connection, ids).items()
            }

        return await self._database.read(work) if wanted else {}


def _ids(subjects: Collection[str], kind: str) -> Sequence[str]:
    return sorted({one.removeprefix(f"{kind}:") for one in subjects if one.startswith(f"{kind}:")})


def _questions(connection: Connection, ids: Sequence[str]) -> Found:
    """A secret is not repeated here, and what was erased is gone."""
    at = questions.c
    asked = select(at.id, at.wording).where(at.id.in_(ids), at.secret.is_(False), at.wording.is_not(None))
    return {row.id: AuditSubject(words=_words(json.loads(row.wording))) for row in connection.execute(asked)}


def _words(wording: Mapping[str, Any]) -> str:
    return plain_words(wording["question"], Format(wording.get("format", Format.PLAIN)))


def _rules(connection: Connection, ids: Sequence[str]) -> Found:
    asked = select(approval_rules.c.id, approval_rules.c.description).where(approval_rules.c.id.in_(ids))
    return {row.id: AuditSubject(words=row.description) for row in connection.execute(asked)}


def _deliveries(connection: Connection, ids: Sequence[str]) -> Found:
    at = delivery_requests.c
    asked = select(at.id, at.channel, at.target_identity).where(at.id.in_(ids))
    return {row.id: _to(row) for row in connection.execute(asked)}


def _dead_letters(connection: Connection, ids: Sequence[str]) -> Found:
    at, letter = delivery_requests.c, delivery_dead_letter.c
    asked = select(letter.id, at.channel, at.target_identity).where(letter.id.in_(ids))
    asked = asked.join(delivery_requests, at.id == letter.delivery_request_id)
    return {row.id: _to(row) for row in connection.execute(asked)}


def _to(row: Any) -> AuditSubject:
    return AuditSubject(channel=row.channel, address=row.target_identity)


_READERS: Final[Mapping[str, Callable[[Connection, Sequence[str]], Found]]] = {
    "question": _questions,
    "approval": _deliveries,  # a parked message has the id of its delivery
    "delivery": _deliveries,
    "dead_letter": _dead_letters,
    "rule": _rules,
}
