"""Corrections of messages; what has not been sent may be worded anew or withdrawn: two more moves for the guard."""

from __future__ import annotations

from postroom.world.store.migrations.statements import on_postgres, run
from postroom.world.store.migrations.versions.m0001_deliveries import EDGES as FIRST_EDGES

revision = "0022"
down_revision = "0021"

_TABLES = [
    """
    CREATE TABLE {messenger}delivery_corrections (
        id TEXT NOT NULL,
        delivery_id TEXT NOT NULL,
        act TEXT NOT NULL,
        how TEXT NOT NULL,
        version INTEGER NOT NULL,
        actor TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        key TEXT,
        reason TEXT,
        carried_key TEXT,
        at BIGINT NOT NULL,
        CONSTRAINT pk_delivery_corrections PRIMARY KEY (id),
        CONSTRAINT uq_delivery_corrections_key UNIQUE (key),
        CONSTRAINT uq_delivery_corrections_carried_key UNIQUE (carried_key),
        CONSTRAINT fk_delivery_corrections_delivery_id FOREIGN KEY (delivery_id)
            REFERENCES {messenger}delivery_requests (id) ON DELETE CASCADE,
        CONSTRAINT ck_delivery_corrections_act CHECK (act IN ('revise', 'recall')),
        CONSTRAINT ck_delivery_corrections_how CHECK (how IN ('in_place', 'edit', 'delete', 'correction'))
    )
    """,
    "CREATE INDEX ix_delivery_corrections_delivery_id ON {messenger}delivery_corrections (delivery_id)",
]

EDGES = [*FIRST_EDGES, ("pending", "awaiting_approval"), ("pending", "failed")]
_ALLOWED = " OR ".join(f"(OLD.status = '{before}' AND NEW.status = '{after}')" for before, after in EDGES)
_ILLEGAL = f"OLD.status <> NEW.status AND NOT ({_ALLOWED})"

_POSTGRES_GUARD = [
    "DROP TRIGGER delivery_requests_moves ON messenger.delivery_requests",
    f"""
    CREATE TRIGGER delivery_requests_moves BEFORE UPDATE OF status ON messenger.delivery_requests
        FOR EACH ROW WHEN ({_ILLEGAL}) EXECUTE FUNCTION messenger.refuse_illegal_move()
    """,
]

_SQLITE_GUARD = [
    "DROP TRIGGER delivery_requests_moves",
    f"""
    CREATE TRIGGER delivery_requests_moves BEFORE UPDATE OF status ON delivery_requests
        FOR EACH ROW WHEN {_ILLEGAL}
        BEGIN SELECT RAISE(ABORT, 'a delivery cannot make this move'); END
    """,
]


def upgrade() -> None:
    run(_TABLES)
    run(_POSTGRES_GUARD if on_postgres() else _SQLITE_GUARD)
