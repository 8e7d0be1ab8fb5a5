"""What a provider sent us by itself, until it is handled; and the subject of what people wrote by mail."""

from __future__ import annotations

from postroom.world.store.migrations.statements import run

revision = "0028"
down_revision = "0027"

_TABLES = [
    """
    CREATE TABLE {shared}pushed_updates (
        channel TEXT NOT NULL,
        number BIGINT NOT NULL,
        content TEXT NOT NULL,
        received_at BIGINT NOT NULL,
        handled_at BIGINT,
        CONSTRAINT pk_pushed_updates PRIMARY KEY (channel, number)
    )
    """,
    "CREATE INDEX ix_pushed_updates_waiting ON {shared}pushed_updates (channel, number) WHERE handled_at IS NULL",
    "CREATE INDEX ix_pushed_updates_received_at ON {shared}pushed_updates (channel, received_at)",
    "ALTER TABLE {shared}inbound_messages ADD COLUMN subject TEXT",
]


def upgrade() -> None:
    run(_TABLES)
