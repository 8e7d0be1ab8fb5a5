"""Addresses that are written to no more, what keeps a channel from listening, and replies as they came."""

from __future__ import annotations

from postroom.world.store.migrations.statements import run

revision = "0023"
down_revision = "0022"

_STATEMENTS = [
    """
    CREATE TABLE {shared}closed_addresses (
        channel TEXT NOT NULL,
        folded TEXT NOT NULL,
        address TEXT NOT NULL,
        reason TEXT NOT NULL,
        words TEXT NOT NULL,
        delivery_id TEXT NOT NULL,
        closed_at BIGINT NOT NULL,
        CONSTRAINT pk_closed_addresses PRIMARY KEY (channel, folded),
        CONSTRAINT ck_closed_addresses_reason CHECK (reason IN ('bounced', 'unsubscribed'))
    )
    """,
    """
    CREATE TABLE {shared}inbound_troubles (
        source TEXT NOT NULL,
        sentence TEXT NOT NULL,
        since BIGINT NOT NULL,
        CONSTRAINT pk_inbound_troubles PRIMARY KEY (source)
    )
    """,
    """
    CREATE TABLE {messenger}delivery_replies (
        delivery_request_id TEXT NOT NULL,
        event_id TEXT NOT NULL,
        sender TEXT NOT NULL,
        original TEXT NOT NULL,
        at BIGINT NOT NULL,
        CONSTRAINT pk_delivery_replies PRIMARY KEY (delivery_request_id, event_id),
        CONSTRAINT fk_delivery_replies_delivery_request_id FOREIGN KEY (delivery_request_id)
            REFERENCES {messenger}delivery_requests (id) ON DELETE CASCADE
    )
    """,
]


def upgrade() -> None:
    run(_STATEMENTS)
