"""What stands under a message, and which delivery another one revises; both empty for a plain message."""

from __future__ import annotations

from postroom.world.store.migrations.statements import run

revision = "0016"
down_revision = "0015"

_COLUMNS = [
    "ALTER TABLE {messenger}delivery_requests ADD COLUMN markup TEXT",
    "ALTER TABLE {messenger}delivery_requests ADD COLUMN revises TEXT",
]


def upgrade() -> None:
    run(_COLUMNS)
