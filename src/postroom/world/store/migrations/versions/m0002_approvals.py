"""Pending actions, standing rules, an audit trail nobody can rewrite, and content that stays as approved."""

from __future__ import annotations

from postroom.world.store.migrations.statements import on_postgres, run

revision = "0002"
down_revision = "0001"

_TABLES = [
    """
    CREATE TABLE {messenger}pending_actions (
        id TEXT NOT NULL,
        origin_butler TEXT NOT NULL,
        content_hash TEXT NOT NULL,
        risk TEXT NOT NULL,
        status TEXT NOT NULL,
        requested_at BIGINT NOT NULL,
        expires_at BIGINT NOT NULL,
        asked_at BIGINT,
        decided_by TEXT,
        decided_at BIGINT,
        decision_reason TEXT,
        approval_rule_id TEXT,
        edited BOOLEAN NOT NULL,
        CONSTRAINT pk_pending_actions PRIMARY KEY (id),
        CONSTRAINT fk_pending_actions_id FOREIGN KEY (id)
            REFERENCES {messenger}delivery_requests (id) ON DELETE CASCADE,
        CONSTRAINT ck_pending_actions_status CHECK (status IN ('pending', 'approved', 'rejected', 'expired')),
        CONSTRAINT ck_pending_actions_risk CHECK (risk IN ('low', 'medium', 'high', 'critical'))
    )
    """,
    "CREATE INDEX ix_pending_actions_status_id ON {messenger}pending_actions (status, id)",
    "CREATE INDEX ix_pending_actions_due ON {messenger}pending_actions (expires_at) WHERE status = 'pending'",
    "CREATE INDEX ix_pending_actions_origin ON {messenger}pending_actions (origin_butler) WHERE status = 'pending'",
    """
    CREATE TABLE {messenger}approval_rules (
        id TEXT NOT NULL,
        constraints TEXT NOT NULL,
        description TEXT NOT NULL,
        created_by TEXT NOT NULL,
        created_from TEXT,
        created_at BIGINT NOT NULL,
        expires_at BIGINT,
        max_uses INTEGER,
        use_count INTEGER NOT NULL,
        revoked_by TEXT,
        revoked_at BIGINT,
        CONSTRAINT pk_approval_rules PRIMARY KEY (id),
        CONSTRAINT ck_approval_rules_uses CHECK (max_uses IS NULL OR use_count <= max_uses)
    )
    """,
    """
    CREATE TABLE {messenger}approval_events (
        id TEXT NOT NULL,
        action_id TEXT,
        rule_id TEXT,
        event_type TEXT NOT NULL,
        actor TEXT NOT NULL,
        reason TEXT,
        event_metadata TEXT NOT NULL,
        occurred_at BIGINT NOT NULL,
        CONSTRAINT pk_approval_events PRIMARY KEY (id),
        CONSTRAINT ck_approval_events_subject CHECK (action_id IS NOT NULL OR rule_id IS NOT NULL)
    )
    """,
    "CREATE INDEX ix_approval_events_action_id ON {messenger}approval_events (action_id)",
    "CREATE INDEX ix_approval_events_rule_id ON {messenger}approval_events (rule_id)",
    """
    CREATE TABLE {messenger}heard_threads (
        channel TEXT NOT NULL,
        address TEXT NOT NULL,
        thread TEXT NOT NULL,
        heard_at BIGINT NOT NULL,
        CONSTRAINT pk_heard_threads PRIMARY KEY (channel, address, thread)
    )
    """,
]

_CONTENT = "channel, intent, address, thread, message_content, subject, emoji"
# What a person has seen is what leaves: once it may be sent, or sent again, it cannot be rewritten.
_FROZEN = "OLD.status IN ('pending', 'in_progress', 'dead_lettered')"

_POSTGRES_GUARD = [
    """
    CREATE FUNCTION messenger.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION '%', TG_ARGV[0];
    END $$
    """,
    """
    CREATE TRIGGER approval_events_append_only BEFORE UPDATE OR DELETE ON messenger.approval_events
        FOR EACH ROW EXECUTE FUNCTION messenger.refuse_change('approval events are never changed')
    """,
    """
    CREATE TRIGGER approval_events_not_emptied BEFORE TRUNCATE ON messenger.approval_events
        FOR EACH STATEMENT EXECUTE FUNCTION messenger.refuse_change('approval events are never changed')
    """,
    """
    CREATE TRIGGER pending_actions_once BEFORE UPDATE OF status ON messenger.pending_actions
        FOR EACH ROW WHEN (OLD.status <> 'pending')
        EXECUTE FUNCTION messenger.refuse_change('a decision is taken once')
    """,
    f"""
    CREATE TRIGGER delivery_requests_content BEFORE UPDATE OF {_CONTENT} ON messenger.delivery_requests
        FOR EACH ROW WHEN ({_FROZEN})
        EXECUTE FUNCTION messenger.refuse_change('the content of a delivery is fixed once it may be sent')
    """,
]

_SQLITE_GUARD = [
    """
    CREATE TRIGGER approval_events_not_updated BEFORE UPDATE ON approval_events
        BEGIN SELECT RAISE(ABORT, 'approval events are never changed'); END
    """,
    """
    CREATE TRIGGER approval_events_not_deleted BEFORE DELETE ON approval_events
        BEGIN SELECT RAISE(ABORT, 'approval events are never changed'); END
    """,
    """
    CREATE TRIGGER pending_actions_once BEFORE UPDATE OF status ON pending_actions
        FOR EACH ROW WHEN OLD.status <> 'pending'
        BEGIN SELECT RAISE(ABORT, 'a decision is taken once'); END
    """,
    f"""
    CREATE TRIGGER delivery_requests_content BEFORE UPDATE OF {_CONTENT} ON delivery_requests
        FOR EACH ROW WHEN {_FROZEN}
        BEGIN SELECT RAISE(ABORT, 'the content of a delivery is fixed once it may be sent'); END
    """,
]


def upgrade() -> None:
    run(_TABLES)
    run(_POSTGRES_GUARD if on_postgres() else _SQLITE_GUARD)
