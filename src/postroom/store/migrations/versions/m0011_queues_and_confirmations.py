"""A queue of news for every subscriber."""

from __future__ import annotations

from postroom.store.migrations.statements import run

revision = "0011"
down_revision = "0009"

_STATEMENTS = [
    """
    CREATE INDEX ix_webhook_deliveries_queue ON {shared}webhook_deliveries (subscription_id, next_at, id)
        WHERE status = 'pending'
    """,
]


def upgrade() -> None:
    run(_STATEMENTS)
