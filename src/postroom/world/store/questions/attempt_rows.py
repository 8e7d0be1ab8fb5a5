"""Attempts as rows, and rows as attempts."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, Row, insert

from postroom.domain.answer_attempt import Attempt, KeptAttempt, Said, Verdict, VerdictKind
from postroom.domain.assurance import Flag
from postroom.domain.strict_json import strict_json
from postroom.world.store.engine.rows import read, values
from postroom.world.store.questions.rows import files_of
from postroom.world.store.tables.questions import question_attempts


def insert_attempt(connection: Connection, attempt: Attempt, verdict: Verdict, *, secret: bool) -> None:
    connection.execute(insert(question_attempts), attempt_row(attempt, verdict, secret=secret))


def attempt_row(attempt: Attempt, verdict: Verdict, *, secret: bool) -> dict[str, Any]:
    """
    Of a secret the words are not kept: the answer has its own place, and a wrong try may hold it, too.

    The words are written in ASCII: what cannot be an answer may have characters that no store takes.
    """
    return values(
        attempt,
        flags=json.dumps(sorted(attempt.flags)),
        said=None if secret else strict_json(asdict(attempt.said)),
        verdict=str(verdict.kind),
        code=verdict.code,
        reason=verdict.reason,
    )


def read_attempt(row: Row[Any]) -> KeptAttempt:
    attempt = read(Attempt, row, said=_said(row.said), flags=frozenset(Flag(flag) for flag in json.loads(row.flags)))
    return KeptAttempt(attempt=attempt, verdict=read_verdict(row))


def read_verdict(row: Row[Any]) -> Verdict:
    return Verdict(kind=VerdictKind(row.verdict), code=row.code, reason=row.reason)


def _said(text: str | None) -> Said:
    if text is None:
        return Said()
    stored = json.loads(text)
    selected = stored["selected"]
    return Said(**{**stored, "selected": tuple(selected) if selected is not None else None, "files": files_of(stored)})
