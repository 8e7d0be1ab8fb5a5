"""The sessions of every butler's model."""

from __future__ import annotations

from postroom.world.store.migrations.statements import run

revision = "0006"
down_revision = "0005"

_TABLES = [
    """
    CREATE TABLE {shared}sessions (
        id TEXT NOT NULL,
        butler TEXT NOT NULL,
        runtime TEXT NOT NULL,
        trigger_source TEXT NOT NULL,
        caller TEXT NOT NULL,
        request_key TEXT,
        request_id TEXT,
        request_context TEXT,
        prompt TEXT NOT NULL,
        depth INTEGER NOT NULL,
        status TEXT NOT NULL,
        attempt INTEGER NOT NULL,
        crashes INTEGER NOT NULL,
        error_class TEXT,
        error_message TEXT,
        transcript TEXT,
        created_at BIGINT NOT NULL,
        started_at BIGINT,
        finished_at BIGINT,
        CONSTRAINT pk_sessions PRIMARY KEY (id),
        CONSTRAINT uq_sessions_butler_request_key UNIQUE (butler, request_key),
        CONSTRAINT ck_sessions_status CHECK (status IN
            ('queued', 'running', 'done', 'failed', 'timed_out', 'lost'))
    )
    """,
    "CREATE INDEX ix_sessions_butler_id ON {shared}sessions (butler, id)",
    "CREATE INDEX ix_sessions_request_id ON {shared}sessions (request_id)",
    """
    CREATE INDEX ix_sessions_open ON {shared}sessions (butler, status, id)
        WHERE status IN ('queued', 'running')
    """,
]


def upgrade() -> None:
    run(_TABLES)
