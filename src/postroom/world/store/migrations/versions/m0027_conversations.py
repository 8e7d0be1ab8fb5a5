"""What people wrote to us, and the butler that a person's words go to."""

from __future__ import annotations

from postroom.world.store.migrations.statements import on_postgres, run

revision = "0027"
down_revision = "0026"

_TABLES = [
    "ALTER TABLE {shared}people ADD COLUMN default_butler TEXT",
    """
    CREATE TABLE {shared}inbound_messages (
        id TEXT NOT NULL,
        channel TEXT NOT NULL,
        event_id TEXT NOT NULL,
        number BIGINT NOT NULL,
        message_id TEXT NOT NULL,
        place TEXT NOT NULL,
        places TEXT NOT NULL,
        thread TEXT NOT NULL,
        sender TEXT,
        assurance TEXT NOT NULL,
        flags TEXT NOT NULL,
        alone BOOLEAN NOT NULL,
        addressed BOOLEAN NOT NULL,
        replies_to TEXT,
        answers TEXT,
        text TEXT,
        said_at BIGINT,
        received_at BIGINT NOT NULL,
        status TEXT NOT NULL,
        person TEXT,
        kind TEXT,
        target TEXT,
        reason TEXT NOT NULL,
        session_id TEXT,
        tokens BIGINT NOT NULL DEFAULT 0,
        changed_at BIGINT NOT NULL,
        CONSTRAINT pk_inbound_messages PRIMARY KEY (id),
        CONSTRAINT uq_inbound_messages_channel_event_id UNIQUE (channel, event_id),
        CONSTRAINT ck_inbound_messages_status CHECK (status IN
            ('received', 'routed', 'waiting', 'running', 'answered', 'failed', 'stopped', 'handled', 'refused'))
    )
    """,
    "CREATE INDEX ix_inbound_messages_conversation ON {shared}inbound_messages (person, channel, place, id)",
    "CREATE INDEX ix_inbound_messages_received_at ON {shared}inbound_messages (received_at)",
    """
    CREATE INDEX ix_inbound_messages_open ON {shared}inbound_messages (id)
        WHERE status IN ('received', 'routed', 'waiting', 'running')
    """,
]

# The edges of the state table: any other change of status is refused by the database itself.
EDGES = [
    ("received", "handled"),
    ("received", "refused"),
    ("received", "routed"),
    ("routed", "failed"),
    ("routed", "stopped"),
    ("routed", "waiting"),
    ("running", "answered"),
    ("running", "failed"),
    ("running", "stopped"),
    ("running", "waiting"),
    ("waiting", "answered"),
    ("waiting", "failed"),
    ("waiting", "running"),
    ("waiting", "stopped"),
]
_ALLOWED = " OR ".join(f"(OLD.status = '{before}' AND NEW.status = '{after}')" for before, after in EDGES)
_ILLEGAL = f"OLD.status <> NEW.status AND NOT ({_ALLOWED})"

_POSTGRES_GUARDS = [
    """
    CREATE FUNCTION shared.refuse_inbound_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'an inbound message cannot make this move';
    END $$
    """,
    f"""
    CREATE TRIGGER inbound_messages_moves BEFORE UPDATE OF status ON shared.inbound_messages
        FOR EACH ROW WHEN ({_ILLEGAL}) EXECUTE FUNCTION shared.refuse_inbound_change()
    """,
]
_SQLITE_GUARDS = [
    f"""
    CREATE TRIGGER inbound_messages_moves BEFORE UPDATE OF status ON inbound_messages
        FOR EACH ROW WHEN {_ILLEGAL}
        BEGIN SELECT RAISE(ABORT, 'an inbound message cannot make this move'); END
    """,
]


def upgrade() -> None:
    run([*_TABLES, *(_POSTGRES_GUARDS if on_postgres() else _SQLITE_GUARDS)])
