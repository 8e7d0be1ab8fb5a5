"""What an agent asks for a note is kept with it; quiet hours of inboxes become those of the people's policies."""

from __future__ import annotations

import json
from typing import Any

from alembic import op
from sqlalchemy import RowMapping, text

from postroom.world.store.migrations.statements import on_postgres, run

revision = "0026"
down_revision = "0025"

_COLUMNS = {
    "agent": "TEXT NOT NULL DEFAULT 'inbox'",
    "urgency": "TEXT",
    "category": "TEXT",
    "thread": "TEXT",
    "supersedes": "TEXT",
    "needs_ack": "BOOLEAN NOT NULL DEFAULT false",
    "expires_in_seconds": "BIGINT",
}
_INDEX = "CREATE INDEX ix_notifications_supersedes ON {shared}notifications (user_id, supersedes)"
_PEOPLE = "SELECT policy, rest, seq FROM {shared}attention_people WHERE person = :person"
_NEW = """
    INSERT INTO {shared}attention_people (person, policy, rest, seq, next_at)
    VALUES (:person, :policy, :rest, :seq, :next_at)
"""
_CHANGED = """
    UPDATE {shared}attention_people SET policy = :policy, rest = :rest, seq = :seq, next_at = :next_at
    WHERE person = :person
"""
_LOGGED = """
    INSERT INTO {shared}attention_log (person, seq, at, kind, body)
    VALUES (:person, :seq, :at, 'PolicyChanged', :body)
"""
_EMPTIED = """
    UPDATE {shared}notification_preferences SET quiet_hours_start = NULL, quiet_hours_end = NULL
    WHERE quiet_hours_start IS NOT NULL
"""


def upgrade() -> None:
    run(f"ALTER TABLE {{shared}}notifications ADD COLUMN {name} {kind}" for name, kind in _COLUMNS.items())
    run([f"{_INDEX} WHERE supersedes IS NOT NULL"])
    asked = "SELECT * FROM {shared}notification_preferences WHERE quiet_hours_start IS NOT NULL ORDER BY user_id"
    for wishes in list(op.get_bind().execute(_sql(asked)).mappings()):
        _put_into_policy(wishes)
    run([_EMPTIED])


def _put_into_policy(wishes: RowMapping) -> None:
    """As if the person had set it when the wishes were last changed; windows that the policy has stay as they are."""
    person = _PERSONS.get(wishes["user_id"], wishes["user_id"])
    known = op.get_bind().execute(_sql(_PEOPLE), {"person": person}).mappings().first()
    policy = json.loads(known["policy"]) if known is not None and known["policy"] is not None else {}
    if "quiet_hours" in policy:
        return
    rest = json.loads(known["rest"]) if known is not None else {}
    at, seq = max(wishes["updated_at"], rest.get("clock_us", 0)), (known["seq"] if known is not None else 0) + 1
    policy = _with_quiet_hours(policy, wishes)
    row = {
        "person": person,
        "policy": _json(policy),
        "rest": _json({**rest, "clock_us": at}),
        "seq": seq,
        "next_at": at if known is not None else None,  # what is held is judged anew at once
    }
    op.get_bind().execute(_sql(_CHANGED if known is not None else _NEW), row)
    body = _json({"at_us": at, "policy": policy})
    op.get_bind().execute(_sql(_LOGGED), {"person": person, "seq": seq, "at": at, "body": body})


def _with_quiet_hours(policy: dict[str, Any], wishes: RowMapping) -> dict[str, Any]:
    window = {"start": wishes["quiet_hours_start"], "end": wishes["quiet_hours_end"]}
    added: dict[str, Any] = {"zone": wishes["quiet_hours_timezone"]}
    if wishes["high_priority_passes"]:
        added["let_pass"] = ["time_sensitive"]
    return {**added, **policy, "quiet_hours": [window]}


_PERSONS = {"operator": "owner", "owner": "user:owner"}  # by whose inbox it is; all others are called alike


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _sql(statement: str) -> Any:
    return text(statement.format(shared="shared." if on_postgres() else ""))
