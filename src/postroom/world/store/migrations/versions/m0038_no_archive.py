"""What is settled and old is removed, not moved."""

from __future__ import annotations

from postroom.world.store.migrations.statements import run

revision = "0038"
down_revision = "0037"


def upgrade() -> None:
    run(["DROP TABLE {messenger}delivery_archive"])
