"""Indexes for what was read whole: who did what in its order, notices by state, and what is old enough to go."""

from __future__ import annotations

from postroom.world.store.migrations.statements import run

revision = "0031"
down_revision = "0030"

_INDEXES = [
    """
    CREATE INDEX ix_questions_answered ON {shared}questions (ended_at, id) WHERE answered_by IS NOT NULL
    """,
    "CREATE INDEX ix_approval_events_occurred_at ON {messenger}approval_events (occurred_at, id)",
    "CREATE INDEX ix_delivery_corrections_at ON {messenger}delivery_corrections (at, id)",
    "CREATE INDEX ix_audit_entries_actor ON {shared}audit_entries (actor, at, id)",
    "CREATE INDEX ix_notices_person_state_created_at ON {shared}notices (person, state, created_at, id)",
    "CREATE INDEX ix_notices_closed ON {shared}notices (created_at) WHERE NOT open",
    "CREATE INDEX ix_notice_sends_handed_over ON {shared}notice_sends (at) WHERE NOT pending",
    "CREATE INDEX ix_attention_log_facts ON {shared}attention_log (notice, at) WHERE notice IS NULL",
    "CREATE INDEX ix_attention_log_accepted ON {shared}attention_log (person) WHERE kind = 'NoticeAccepted'",
    "CREATE INDEX ix_questions_erased ON {shared}questions (ended_at) WHERE erased_at IS NOT NULL",
    """
    CREATE INDEX ix_notifications_snoozed ON {shared}notifications (user_id, snoozed_until)
        WHERE snoozed_until IS NOT NULL
    """,
    "CREATE INDEX ix_notifications_updated_at ON {shared}notifications (updated_at)",
]


def upgrade() -> None:
    run(_INDEXES)
