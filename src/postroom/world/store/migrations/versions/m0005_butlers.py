"""What butlers and the switchboard keep."""

from __future__ import annotations

from postroom.world.store.migrations.statements import run

revision = "0005"
down_revision = "0004"

_TABLES = [
    """
    CREATE TABLE {shared}butler_state (
        butler TEXT NOT NULL,
        key TEXT NOT NULL,
        value TEXT NOT NULL,
        version INTEGER NOT NULL,
        updated_at BIGINT NOT NULL,
        CONSTRAINT pk_butler_state PRIMARY KEY (butler, key)
    )
    """,
    """
    CREATE TABLE {shared}appointments (
        id TEXT NOT NULL,
        butler TEXT NOT NULL,
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        due_at BIGINT NOT NULL,
        work TEXT NOT NULL,
        status TEXT NOT NULL,
        tries INTEGER NOT NULL,
        result TEXT,
        created_at BIGINT NOT NULL,
        CONSTRAINT pk_appointments PRIMARY KEY (id)
    )
    """,
    "CREATE INDEX ix_appointments_due ON {shared}appointments (butler, due_at) WHERE status = 'waiting'",
    """
    CREATE TABLE {switchboard}butler_registry (
        name TEXT NOT NULL,
        endpoint_url TEXT NOT NULL,
        description TEXT NOT NULL,
        modules TEXT NOT NULL,
        liveness_ttl_seconds FLOAT NOT NULL,
        registered_at BIGINT NOT NULL,
        last_seen_at BIGINT NOT NULL,
        quarantine_reason TEXT,
        CONSTRAINT pk_butler_registry PRIMARY KEY (name)
    )
    """,
    """
    CREATE TABLE {switchboard}routing_log (
        id TEXT NOT NULL,
        request_id TEXT NOT NULL,
        source TEXT NOT NULL,
        target_butler TEXT NOT NULL,
        tool_name TEXT NOT NULL,
        success BOOLEAN NOT NULL,
        error TEXT,
        duration_ms FLOAT NOT NULL,
        created_at BIGINT NOT NULL,
        CONSTRAINT pk_routing_log PRIMARY KEY (id)
    )
    """,
    "CREATE INDEX ix_routing_log_request_id ON {switchboard}routing_log (request_id)",
    "CREATE INDEX ix_routing_log_created_at ON {switchboard}routing_log (created_at)",
]


def upgrade() -> None:
    run(_TABLES)
