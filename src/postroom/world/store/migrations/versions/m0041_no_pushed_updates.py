"""Telegram is asked for what people write; nothing of it is brought to us and kept."""

from __future__ import annotations

from postroom.world.store.migrations.statements import run

revision = "0041"
down_revision = "0039"


def upgrade() -> None:
    run(["DROP TABLE {shared}pushed_updates"])
