"""How outcomes become certain: since when one is in doubt, what was asked, where a message stands, late news."""

from __future__ import annotations

from postroom.world.store.migrations.statements import run

revision = "0017"
down_revision = "0016"

_COLUMNS = [
    "ALTER TABLE {messenger}delivery_requests ADD COLUMN doubtful_since BIGINT",
    "ALTER TABLE {messenger}delivery_attempts ADD COLUMN asked TEXT",
    "ALTER TABLE {messenger}delivery_receipts ADD COLUMN conversation TEXT",
]
_NEWS = [
    """
    CREATE TABLE {messenger}delivery_news (
        delivery_request_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        event_id TEXT NOT NULL,
        words TEXT NOT NULL,
        at BIGINT NOT NULL,
        CONSTRAINT pk_delivery_news PRIMARY KEY (delivery_request_id, kind, event_id),
        CONSTRAINT fk_delivery_news_delivery_request_id FOREIGN KEY (delivery_request_id)
            REFERENCES {messenger}delivery_requests (id) ON DELETE CASCADE
    )
    """,
]
_IN_DOUBT = [
    """
    UPDATE {messenger}delivery_requests SET doubtful_since = (
        SELECT min(made.started_at) FROM {messenger}delivery_attempts AS made
        WHERE made.delivery_request_id = {messenger}delivery_requests.id AND made.outcome = 'uncertain')
    WHERE status <> 'delivered' AND id IN (
        SELECT delivery_request_id FROM {messenger}delivery_attempts WHERE outcome = 'uncertain')
    """,
]


def upgrade() -> None:
    run([*_COLUMNS, *_NEWS, *_IN_DOUBT])
