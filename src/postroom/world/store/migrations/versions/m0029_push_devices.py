"""Browsers that show what the household sends, each an address of a person."""

from __future__ import annotations

from postroom.world.store.migrations.statements import run

revision = "0029"
down_revision = "0028"

_TABLES = [
    """
    CREATE TABLE {shared}push_devices (
        id TEXT NOT NULL,
        channel TEXT NOT NULL,
        person_id TEXT NOT NULL,
        name TEXT NOT NULL,
        mark TEXT NOT NULL,
        sealed TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        last_used_at BIGINT,
        ended_at BIGINT,
        CONSTRAINT pk_push_devices PRIMARY KEY (id),
        CONSTRAINT uq_push_devices_channel_mark UNIQUE (channel, mark),
        CONSTRAINT fk_push_devices_person_id
            FOREIGN KEY (person_id) REFERENCES {shared}people (id) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX ix_push_devices_person_id ON {shared}push_devices (person_id)",
]


def upgrade() -> None:
    run(_TABLES)
