"""The console's sign-in links and sessions, and an index for the dead letters nobody has dealt with."""

from __future__ import annotations

from postroom.world.store.migrations.statements import run

revision = "0008"
down_revision = "0007"

_TABLES = [
    """
    CREATE TABLE {shared}console_links (
        digest TEXT NOT NULL,
        role TEXT NOT NULL,
        name TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        expires_at BIGINT NOT NULL,
        used_at BIGINT,
        CONSTRAINT pk_console_links PRIMARY KEY (digest)
    )
    """,
    """
    CREATE TABLE {shared}console_sessions (
        digest TEXT NOT NULL,
        role TEXT NOT NULL,
        name TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        expires_at BIGINT NOT NULL,
        ended_at BIGINT,
        CONSTRAINT pk_console_sessions PRIMARY KEY (digest)
    )
    """,
    "CREATE INDEX ix_console_sessions_role_name ON {shared}console_sessions (role, name)",
    """
    CREATE INDEX ix_delivery_dead_letter_open ON {messenger}delivery_dead_letter (quarantine_reason)
        WHERE discarded_at IS NULL AND replay_count = 0
    """,
]


def upgrade() -> None:
    run(_TABLES)
