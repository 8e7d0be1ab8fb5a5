"""The tokens behind a sign-in link and its session, so that revoking one of them ends both."""

from __future__ import annotations

from postroom.world.store.migrations.statements import run

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Links and sessions from before stand for no token, so their people sign in again."""
    run(
        [
            "ALTER TABLE {shared}console_links ADD COLUMN token_ids TEXT",
            "ALTER TABLE {shared}console_sessions ADD COLUMN token_ids TEXT",
        ]
    )
