"""What is settled and old is removed, not moved."""

from __future__ import annotations

from postroom.world.store.migrations.statements import run

revision = "0036"
down_revision = "0035"


def upgrade() -> None:
    run(["DROP TABLE {messenger}delivery_archive"])
