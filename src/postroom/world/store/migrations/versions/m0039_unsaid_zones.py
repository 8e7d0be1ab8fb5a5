"""Preferences that name no time zone follow the person's own; until now they said UTC."""

from __future__ import annotations

from postroom.world.store.migrations.statements import run

revision = "0039"
down_revision = "0038"


def upgrade() -> None:
    run(["UPDATE {shared}notification_preferences SET quiet_hours_timezone = '' WHERE quiet_hours_timezone = 'UTC'"])
