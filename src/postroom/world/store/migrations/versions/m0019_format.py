"""What a message's text is written in; empty for plain text."""

from __future__ import annotations

from postroom.world.store.migrations.statements import run

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    run(["ALTER TABLE {messenger}delivery_requests ADD COLUMN format TEXT"])
