"""Signing in for several people: invitations, links that are asked for, passkeys; and who did what."""

from __future__ import annotations

from postroom.world.store.migrations.statements import run

revision = "0030"
down_revision = "0029"

_CHANGES = [
    "ALTER TABLE {shared}console_links ADD COLUMN person_id TEXT",
    "ALTER TABLE {shared}console_links ADD COLUMN way TEXT",
    "ALTER TABLE {shared}console_links ADD COLUMN browser TEXT",
    "ALTER TABLE {shared}console_links ADD COLUMN channel TEXT",
    "ALTER TABLE {shared}console_links ADD COLUMN address TEXT",
    "ALTER TABLE {shared}console_links ADD COLUMN sent_at BIGINT",
    "CREATE INDEX ix_console_links_person_id ON {shared}console_links (person_id, created_at)",
    """
    CREATE INDEX ix_console_links_unsent ON {shared}console_links (created_at)
        WHERE channel IS NOT NULL AND sent_at IS NULL
    """,
    "ALTER TABLE {shared}console_sessions ADD COLUMN person_id TEXT",
    "ALTER TABLE {shared}console_sessions ADD COLUMN person_role TEXT",
    "ALTER TABLE {shared}console_sessions ADD COLUMN way TEXT",
    "ALTER TABLE {shared}console_sessions ADD COLUMN device TEXT",
    "ALTER TABLE {shared}console_sessions ADD COLUMN credential TEXT",
    "CREATE INDEX ix_console_sessions_person_id ON {shared}console_sessions (person_id)",
    "UPDATE {shared}console_links SET person_id = CASE WHEN role = 'operator' THEN 'owner' ELSE name END",
    "UPDATE {shared}console_sessions SET person_id = CASE WHEN role = 'operator' THEN 'owner' ELSE name END",
    """
    CREATE TABLE {shared}sign_in_grants (
        person_id TEXT NOT NULL,
        invited_by TEXT NOT NULL,
        invited_at BIGINT NOT NULL,
        CONSTRAINT pk_sign_in_grants PRIMARY KEY (person_id),
        CONSTRAINT fk_sign_in_grants_person_id FOREIGN KEY (person_id) REFERENCES {shared}people (id) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE {shared}sign_in_attempts (
        id TEXT NOT NULL,
        sender TEXT NOT NULL,
        at BIGINT NOT NULL,
        CONSTRAINT pk_sign_in_attempts PRIMARY KEY (id)
    )
    """,
    "CREATE INDEX ix_sign_in_attempts_sender_at ON {shared}sign_in_attempts (sender, at)",
    """
    CREATE TABLE {shared}passkeys (
        id TEXT NOT NULL,
        person_id TEXT NOT NULL,
        public_key TEXT NOT NULL,
        counter BIGINT NOT NULL,
        transports TEXT NOT NULL,
        label TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        last_used_at BIGINT,
        CONSTRAINT pk_passkeys PRIMARY KEY (id),
        CONSTRAINT fk_passkeys_person_id FOREIGN KEY (person_id) REFERENCES {shared}people (id) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX ix_passkeys_person_id ON {shared}passkeys (person_id)",
    """
    CREATE TABLE {shared}passkey_challenges (
        digest TEXT NOT NULL,
        ceremony TEXT NOT NULL,
        browser TEXT NOT NULL,
        person_id TEXT,
        expires_at BIGINT NOT NULL,
        CONSTRAINT pk_passkey_challenges PRIMARY KEY (digest)
    )
    """,
    "CREATE INDEX ix_passkey_challenges_expires_at ON {shared}passkey_challenges (expires_at)",
    """
    CREATE TABLE {shared}audit_entries (
        id TEXT NOT NULL,
        at BIGINT NOT NULL,
        actor TEXT NOT NULL,
        kind TEXT NOT NULL,
        act TEXT NOT NULL,
        subject TEXT NOT NULL,
        detail TEXT NOT NULL,
        door TEXT NOT NULL,
        CONSTRAINT pk_audit_entries PRIMARY KEY (id),
        CONSTRAINT ck_audit_entries_kind CHECK (
            kind IN ('sign-in', 'decision', 'people', 'rules', 'attention', 'access', 'messages', 'settings')
        )
    )
    """,
    "CREATE INDEX ix_audit_entries_at_id ON {shared}audit_entries (at, id)",
]


def upgrade() -> None:
    run(_CHANGES)
