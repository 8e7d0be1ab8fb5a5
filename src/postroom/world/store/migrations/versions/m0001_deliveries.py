"""The ledger of deliveries and the switchboard's log."""

from __future__ import annotations

from postroom.world.store.migrations.statements import on_postgres, run

revision = "0001"
down_revision = None

_SCHEMAS = [
    "CREATE SCHEMA IF NOT EXISTS messenger",
    "CREATE SCHEMA IF NOT EXISTS switchboard",
    "CREATE SCHEMA IF NOT EXISTS shared",
]

_TABLES = [
    """
    CREATE TABLE {messenger}delivery_requests (
        id TEXT NOT NULL,
        idempotency_key TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        request_id TEXT NOT NULL,
        origin_butler TEXT NOT NULL,
        channel TEXT NOT NULL,
        intent TEXT NOT NULL,
        target_identity TEXT NOT NULL,
        address TEXT NOT NULL,
        thread TEXT,
        order_key TEXT NOT NULL,
        message_content TEXT NOT NULL,
        subject TEXT,
        emoji TEXT,
        request_envelope TEXT NOT NULL,
        priority SMALLINT NOT NULL,
        on_uncertain TEXT NOT NULL,
        status TEXT NOT NULL,
        attempts INTEGER NOT NULL,
        calls INTEGER NOT NULL,
        parts_done INTEGER NOT NULL,
        fence INTEGER NOT NULL,
        sending BOOLEAN NOT NULL,
        possible_duplicate BOOLEAN NOT NULL,
        not_before BIGINT NOT NULL,
        lease_until BIGINT,
        waiting_reason TEXT,
        terminal_error_class TEXT,
        terminal_error_message TEXT,
        provider_delivery_id TEXT,
        trace_id TEXT,
        replay_of TEXT,
        replay_number INTEGER,
        created_at BIGINT NOT NULL,
        updated_at BIGINT NOT NULL,
        terminal_at BIGINT,
        CONSTRAINT pk_delivery_requests PRIMARY KEY (id),
        CONSTRAINT uq_delivery_requests_idempotency_key UNIQUE (idempotency_key),
        CONSTRAINT ck_delivery_requests_status CHECK (status IN
            ('awaiting_approval', 'pending', 'in_progress', 'delivered', 'failed', 'dead_lettered')),
        CONSTRAINT ck_delivery_requests_intent CHECK (intent IN ('send', 'reply', 'react')),
        CONSTRAINT ck_delivery_requests_on_uncertain CHECK (on_uncertain IN ('resend', 'hold'))
    )
    """,
    "CREATE INDEX ix_delivery_requests_request_id ON {messenger}delivery_requests (request_id)",
    "CREATE INDEX ix_delivery_requests_origin_butler_id ON {messenger}delivery_requests (origin_butler, id)",
    "CREATE INDEX ix_delivery_requests_channel_status_id ON {messenger}delivery_requests (channel, status, id)",
    "CREATE INDEX ix_delivery_requests_created_at ON {messenger}delivery_requests (created_at)",
    """
    CREATE INDEX ix_delivery_requests_replay_of ON {messenger}delivery_requests (replay_of)
        WHERE replay_of IS NOT NULL
    """,
    """
    CREATE INDEX ix_delivery_requests_due
        ON {messenger}delivery_requests (channel, origin_butler, priority, not_before) WHERE status = 'pending'
    """,
    """
    CREATE INDEX ix_delivery_requests_wake ON {messenger}delivery_requests (not_before) WHERE status = 'pending'
    """,
    """
    CREATE INDEX ix_delivery_requests_order
        ON {messenger}delivery_requests (order_key, id) WHERE status IN ('pending', 'in_progress')
    """,
    """
    CREATE INDEX ix_delivery_requests_lease
        ON {messenger}delivery_requests (lease_until) WHERE status = 'in_progress'
    """,
    """
    CREATE TABLE {messenger}delivery_attempts (
        delivery_request_id TEXT NOT NULL,
        attempt_number INTEGER NOT NULL,
        started_at BIGINT NOT NULL,
        completed_at BIGINT NOT NULL,
        latency_ms FLOAT NOT NULL,
        outcome TEXT NOT NULL,
        error_class TEXT,
        error_message TEXT,
        provider_response TEXT,
        CONSTRAINT pk_delivery_attempts PRIMARY KEY (delivery_request_id, attempt_number),
        CONSTRAINT fk_delivery_attempts_delivery_request_id FOREIGN KEY (delivery_request_id)
            REFERENCES {messenger}delivery_requests (id) ON DELETE CASCADE,
        CONSTRAINT ck_delivery_attempts_outcome CHECK (outcome IN
            ('success', 'retryable_error', 'non_retryable_error', 'uncertain'))
    )
    """,
    """
    CREATE TABLE {messenger}delivery_receipts (
        delivery_request_id TEXT NOT NULL,
        part INTEGER NOT NULL,
        provider_delivery_id TEXT NOT NULL,
        receipt_type TEXT NOT NULL,
        received_at BIGINT NOT NULL,
        CONSTRAINT pk_delivery_receipts PRIMARY KEY (delivery_request_id, part),
        CONSTRAINT fk_delivery_receipts_delivery_request_id FOREIGN KEY (delivery_request_id)
            REFERENCES {messenger}delivery_requests (id) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE {messenger}delivery_dead_letter (
        id TEXT NOT NULL,
        delivery_request_id TEXT NOT NULL,
        quarantine_reason TEXT NOT NULL,
        error_class TEXT,
        error_summary TEXT,
        total_attempts INTEGER NOT NULL,
        replay_count INTEGER NOT NULL,
        discarded_at BIGINT,
        discard_reason TEXT,
        created_at BIGINT NOT NULL,
        CONSTRAINT pk_delivery_dead_letter PRIMARY KEY (id),
        CONSTRAINT uq_delivery_dead_letter_delivery_request_id UNIQUE (delivery_request_id),
        CONSTRAINT fk_delivery_dead_letter_delivery_request_id FOREIGN KEY (delivery_request_id)
            REFERENCES {messenger}delivery_requests (id) ON DELETE CASCADE,
        CONSTRAINT ck_delivery_dead_letter_quarantine_reason CHECK (quarantine_reason IN
            ('retries_exhausted', 'outcome_uncertain'))
    )
    """,
    "CREATE INDEX ix_delivery_dead_letter_created_at ON {messenger}delivery_dead_letter (created_at)",
    """
    CREATE TABLE {messenger}delivery_refusals (
        id TEXT NOT NULL,
        idempotency_key TEXT NOT NULL,
        request_id TEXT NOT NULL,
        origin_butler TEXT NOT NULL,
        channel TEXT NOT NULL,
        intent TEXT NOT NULL,
        target_identity TEXT NOT NULL,
        error_class TEXT NOT NULL,
        error_message TEXT NOT NULL,
        limit_type TEXT,
        retry_after_seconds FLOAT,
        trace_id TEXT,
        created_at BIGINT NOT NULL,
        CONSTRAINT pk_delivery_refusals PRIMARY KEY (id)
    )
    """,
    "CREATE INDEX ix_delivery_refusals_request_id ON {messenger}delivery_refusals (request_id)",
    "CREATE INDEX ix_delivery_refusals_created_at ON {messenger}delivery_refusals (created_at)",
    """
    CREATE TABLE {messenger}circuit_states (
        channel TEXT NOT NULL,
        state TEXT NOT NULL,
        failures INTEGER NOT NULL,
        opened_at BIGINT NOT NULL,
        generation INTEGER NOT NULL,
        reason TEXT,
        error_class TEXT,
        updated_at BIGINT NOT NULL,
        CONSTRAINT pk_circuit_states PRIMARY KEY (channel)
    )
    """,
    """
    CREATE TABLE {switchboard}notifications_log (
        id TEXT NOT NULL,
        request_id TEXT NOT NULL,
        source_butler TEXT NOT NULL,
        caller TEXT NOT NULL,
        channel TEXT,
        intent TEXT,
        status TEXT NOT NULL,
        delivery_id TEXT,
        error_class TEXT,
        error_message TEXT,
        trace_id TEXT,
        duration_ms FLOAT NOT NULL,
        created_at BIGINT NOT NULL,
        CONSTRAINT pk_notifications_log PRIMARY KEY (id)
    )
    """,
    "CREATE INDEX ix_notifications_log_request_id ON {switchboard}notifications_log (request_id)",
    """
    CREATE INDEX ix_notifications_log_source_butler_created_at
        ON {switchboard}notifications_log (source_butler, created_at)
    """,
    "CREATE INDEX ix_notifications_log_created_at ON {switchboard}notifications_log (created_at)",
]

# The edges of the state table: any other change of status is refused by the database itself.
EDGES = [
    ("awaiting_approval", "pending"),
    ("awaiting_approval", "failed"),
    ("pending", "in_progress"),
    ("in_progress", "pending"),
    ("in_progress", "delivered"),
    ("in_progress", "failed"),
    ("in_progress", "dead_lettered"),
]
_ALLOWED = " OR ".join(f"(OLD.status = '{before}' AND NEW.status = '{after}')" for before, after in EDGES)
_ILLEGAL = f"OLD.status <> NEW.status AND NOT ({_ALLOWED})"

_POSTGRES_GUARD = [
    """
    CREATE FUNCTION messenger.refuse_illegal_move() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'a delivery cannot go from % to %', OLD.status, NEW.status;
    END $$
    """,
    f"""
    CREATE TRIGGER delivery_requests_moves BEFORE UPDATE OF status ON messenger.delivery_requests
        FOR EACH ROW WHEN ({_ILLEGAL}) EXECUTE FUNCTION messenger.refuse_illegal_move()
    """,
]

_SQLITE_GUARD = [
    f"""
    CREATE TRIGGER delivery_requests_moves BEFORE UPDATE OF status ON delivery_requests
        FOR EACH ROW WHEN {_ILLEGAL}
        BEGIN SELECT RAISE(ABORT, 'a delivery cannot make this move'); END
    """,
]


def upgrade() -> None:
    if on_postgres():
        run(_SCHEMAS)
    run(_TABLES)
    run(_POSTGRES_GUARD if on_postgres() else _SQLITE_GUARD)
