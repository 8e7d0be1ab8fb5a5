"""A queue of news for every subscriber, and addresses for e-mail copies that wait to be confirmed."""

from __future__ import annotations

from postroom.world.store.migrations.statements import run

revision = "0011"
down_revision = "0010"

_STATEMENTS = [
    """
    CREATE INDEX ix_webhook_deliveries_queue ON {shared}webhook_deliveries (subscription_id, next_at, id)
        WHERE status = 'pending'
    """,
    "ALTER TABLE {shared}notification_preferences ADD COLUMN email_pending TEXT",
    """
    CREATE TABLE {shared}email_confirmations (
        id TEXT NOT NULL,
        user_id TEXT NOT NULL,
        address TEXT NOT NULL,
        digest TEXT,
        attempts INTEGER NOT NULL,
        due_at BIGINT NOT NULL,
        created_at BIGINT NOT NULL,
        expires_at BIGINT,
        handed_over_at BIGINT,
        confirmed_at BIGINT,
        CONSTRAINT pk_email_confirmations PRIMARY KEY (id),
        CONSTRAINT uq_email_confirmations_digest UNIQUE (digest)
    )
    """,
    "CREATE INDEX ix_email_confirmations_user_id_created_at ON {shared}email_confirmations (user_id, created_at)",
]


def upgrade() -> None:
    run(_STATEMENTS)
