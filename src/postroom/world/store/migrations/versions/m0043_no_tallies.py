"""Notices are counted when somebody asks."""

from __future__ import annotations

from postroom.world.store.migrations.statements import run

revision = "0043"
down_revision = "0042"


def upgrade() -> None:
    run(["DROP TABLE {shared}notice_tallies"])
