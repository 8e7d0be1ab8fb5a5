"""Keys under which callers made their calls, with the first answer to each."""

from __future__ import annotations

from postroom.world.store.migrations.statements import run

revision = "0013"
down_revision = "0011"

_TABLES = [
    """
    CREATE TABLE {shared}idempotency_keys (
        caller TEXT NOT NULL,
        key TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        reserved_id TEXT NOT NULL,
        status INTEGER,
        body TEXT,
        created_at BIGINT NOT NULL,
        CONSTRAINT pk_idempotency_keys PRIMARY KEY (caller, key)
    )
    """,
    "CREATE INDEX ix_idempotency_keys_caller_created_at ON {shared}idempotency_keys (caller, created_at)",
    "CREATE INDEX ix_idempotency_keys_created_at ON {shared}idempotency_keys (created_at)",
]


def upgrade() -> None:
    run(_TABLES)
