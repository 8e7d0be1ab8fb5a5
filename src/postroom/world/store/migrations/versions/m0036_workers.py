"""Which processes send for this household, as each of them says every few seconds."""

from __future__ import annotations

from postroom.world.store.migrations.statements import run

revision = "0036"
down_revision = "0035"


def upgrade() -> None:
    run(
        [
            """
            CREATE TABLE {shared}workers (
                name TEXT NOT NULL,
                alone BOOLEAN NOT NULL,
                since BIGINT NOT NULL,
                seen_at BIGINT NOT NULL,
                CONSTRAINT pk_workers PRIMARY KEY (name)
            )
            """
        ]
    )
