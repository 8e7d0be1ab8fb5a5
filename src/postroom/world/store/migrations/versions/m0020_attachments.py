"""The files that go with a message; empty for one without."""

from __future__ import annotations

from postroom.world.store.migrations.statements import run

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    run(["ALTER TABLE {messenger}delivery_requests ADD COLUMN attachments TEXT"])
