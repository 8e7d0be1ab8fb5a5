"""${message}."""

from __future__ import annotations

from postroom.kernel.database.schema import run

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}


def upgrade() -> None:
    ${upgrades if upgrades else "run([])"}
