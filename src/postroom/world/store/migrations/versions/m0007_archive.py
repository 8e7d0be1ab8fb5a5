"""The archive of settled deliveries, and indexes that cost a normal delivery nothing."""

from __future__ import annotations

from postroom.world.store.migrations.statements import on_postgres, run

revision = "0007"
down_revision = "0006"

_ARCHIVE = """
    CREATE TABLE {{messenger}}delivery_archive (
        id TEXT NOT NULL,
        settled_at BIGINT NOT NULL,
        archived_at BIGINT NOT NULL,
        idempotency_key TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        request_id TEXT NOT NULL,
        origin_butler TEXT NOT NULL,
        channel TEXT NOT NULL,
        intent TEXT NOT NULL,
        status TEXT NOT NULL,
        attempts INTEGER NOT NULL,
        possible_duplicate BOOLEAN NOT NULL,
        not_before BIGINT NOT NULL,
        waiting_reason TEXT,
        provider_delivery_id TEXT,
        terminal_error_class TEXT,
        terminal_error_message TEXT,
        replay_of TEXT,
        replay_number INTEGER,
        record TEXT NOT NULL,
        CONSTRAINT pk_delivery_archive PRIMARY KEY (id, settled_at)
    ) {partitioned}
    """

_INDEXES = [
    "CREATE INDEX ix_delivery_archive_idempotency_key ON {messenger}delivery_archive (idempotency_key)",
    "CREATE INDEX ix_delivery_archive_request_id ON {messenger}delivery_archive (request_id)",
    "CREATE INDEX ix_delivery_archive_replay_of ON {messenger}delivery_archive (replay_of)",
    "CREATE INDEX ix_delivery_archive_settled_at ON {messenger}delivery_archive (settled_at)",
    """
    CREATE INDEX ix_delivery_requests_rare ON {messenger}delivery_requests (status, id)
        WHERE status IN ('awaiting_approval', 'failed', 'dead_lettered')
    """,
    """
    CREATE INDEX ix_delivery_requests_intents ON {messenger}delivery_requests (address, id)
        WHERE origin_butler = 'intents'
    """,
]


def upgrade() -> None:
    run([_ARCHIVE.format(partitioned="PARTITION BY RANGE (settled_at)" if on_postgres() else "")])
    run(_INDEXES)
