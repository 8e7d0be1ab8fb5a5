"""Files that callers have handed in."""

from __future__ import annotations

from postroom.world.store.migrations.statements import run

revision = "0021"
down_revision = "0020"

_STATEMENTS = [
    """
    CREATE TABLE {shared}uploads (
        id TEXT NOT NULL,
        owner TEXT NOT NULL,
        sha256 TEXT NOT NULL,
        name TEXT NOT NULL,
        media_type TEXT NOT NULL,
        size BIGINT NOT NULL,
        created_at BIGINT NOT NULL,
        expires_at BIGINT NOT NULL,
        key TEXT,
        used_by TEXT,
        used_at BIGINT,
        CONSTRAINT pk_uploads PRIMARY KEY (id),
        CONSTRAINT uq_uploads_owner_key UNIQUE (owner, key)
    )
    """,
    "CREATE INDEX ix_uploads_owner_created_at ON {shared}uploads (owner, created_at)",
    "CREATE INDEX ix_uploads_sha256 ON {shared}uploads (sha256)",
    "CREATE INDEX ix_uploads_expires_at ON {shared}uploads (expires_at)",
]


def upgrade() -> None:
    run(_STATEMENTS)
