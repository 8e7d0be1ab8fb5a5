"""Indexes for what is left of a long past: who answered, what is undecided, and an inbox shelf by shelf."""

from __future__ import annotations

from postroom.world.store.migrations.statements import on_postgres, run

revision = "0032"
down_revision = "0031"

_INDEXES = [
    """
    CREATE INDEX ix_questions_answered_person ON {shared}questions (answered_person, ended_at, id)
        WHERE answered_by IS NOT NULL
    """,
    "CREATE INDEX ix_audit_entries_kind ON {shared}audit_entries (kind, at, id)",
    "CREATE INDEX ix_approval_events_actor ON {messenger}approval_events (actor, occurred_at, id)",
    "CREATE INDEX ix_delivery_corrections_actor ON {messenger}delivery_corrections (actor, at, id)",
    """
    CREATE INDEX ix_delivery_dead_letter_undecided ON {messenger}delivery_dead_letter (id)
        WHERE discarded_at IS NULL
    """,
    """
    CREATE INDEX ix_notifications_archived ON {shared}notifications (user_id, created_at, id)
        WHERE archived_at IS NOT NULL
    """,
    """
    CREATE INDEX ix_notifications_dismissed ON {shared}notifications (user_id, created_at, id)
        WHERE dismissed_at IS NOT NULL
    """,
]
_PERSON_ON_POSTGRES = """
    UPDATE {shared}questions SET answered_person = answered_by::json ->> 'person_id' WHERE answered_by IS NOT NULL
"""
_PERSON_ON_SQLITE = """
    UPDATE {shared}questions SET answered_person = json_extract(answered_by, '$.person_id')
        WHERE answered_by IS NOT NULL
"""


def upgrade() -> None:
    run(["ALTER TABLE {shared}questions ADD COLUMN answered_person TEXT"])
    run([_PERSON_ON_POSTGRES if on_postgres() else _PERSON_ON_SQLITE])
    run(_INDEXES)
