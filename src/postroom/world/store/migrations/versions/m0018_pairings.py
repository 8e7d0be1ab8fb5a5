"""Codes by which people prove an address, and links that prove one on any channel."""

from __future__ import annotations

from postroom.world.store.migrations.statements import run

revision = "0018"
down_revision = "0017"

_STATEMENTS = [
    """
    CREATE TABLE {shared}pairing_codes (
        id TEXT NOT NULL,
        person_id TEXT NOT NULL,
        channel TEXT NOT NULL,
        digest TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        expires_at BIGINT NOT NULL,
        used_at BIGINT,
        used_by TEXT,
        CONSTRAINT pk_pairing_codes PRIMARY KEY (id),
        CONSTRAINT uq_pairing_codes_digest UNIQUE (digest),
        CONSTRAINT fk_pairing_codes_person_id FOREIGN KEY (person_id) REFERENCES {shared}people (id) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX ix_pairing_codes_person_id ON {shared}pairing_codes (person_id)",
    """
    CREATE TABLE {shared}pairing_wrong_codes (
        channel TEXT NOT NULL,
        sender TEXT NOT NULL,
        count INTEGER NOT NULL,
        last_at BIGINT NOT NULL,
        CONSTRAINT pk_pairing_wrong_codes PRIMARY KEY (channel, sender)
    )
    """,
    "ALTER TABLE {shared}email_confirmations ADD COLUMN purpose TEXT NOT NULL DEFAULT 'inbox'",
    "ALTER TABLE {shared}email_confirmations ADD COLUMN channel TEXT NOT NULL DEFAULT 'email'",
]


def upgrade() -> None:
    run(_STATEMENTS)
