"""What people send with their words is kept with them."""

from __future__ import annotations

from postroom.world.store.migrations.statements import run

revision = "0037"
down_revision = "0036"


def upgrade() -> None:
    run(["ALTER TABLE {shared}inbound_messages ADD COLUMN attachments TEXT"])
