"""Who called which part is told by the deliveries, notices and refusals themselves."""

from __future__ import annotations

from postroom.world.store.migrations.statements import run

revision = "0042"
down_revision = "0041"


def upgrade() -> None:
    run(
        [
            "DROP TABLE {switchboard}notifications_log",
            "ALTER TABLE {messenger}delivery_requests ADD COLUMN handed_by TEXT",
            "ALTER TABLE {messenger}delivery_refusals ADD COLUMN handed_by TEXT",
            "CREATE INDEX ix_notices_request_id ON {shared}notices (request_id)",
        ]
    )
