"""A card knows since when the next message there is its answer."""

from __future__ import annotations

from postroom.world.store.migrations.statements import run

revision = "0035"
down_revision = "0034"

_INDEX = """
    CREATE INDEX ix_presentations_words_awaited_at ON {shared}presentations (channel, address)
    WHERE words_awaited_at IS NOT NULL
"""


def upgrade() -> None:
    run(["ALTER TABLE {shared}presentations ADD COLUMN words_awaited_at BIGINT", _INDEX])
