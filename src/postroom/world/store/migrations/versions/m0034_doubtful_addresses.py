"""No one ends our mails by a letter any more, and an address that its owner has proved is doubted, never closed."""

from __future__ import annotations

from postroom.world.store.migrations.statements import on_postgres, run

revision = "0034"
down_revision = "0033"

_GONE = [
    "DELETE FROM {shared}closed_addresses WHERE reason = 'unsubscribed'",
    "DELETE FROM {messenger}delivery_news WHERE kind = 'unsubscribed'",
]
_ON_POSTGRES = [
    "ALTER TABLE {shared}closed_addresses DROP CONSTRAINT ck_closed_addresses_reason",
    """
    ALTER TABLE {shared}closed_addresses ADD CONSTRAINT ck_closed_addresses_reason
        CHECK (reason IN ('bounced', 'doubtful'))
    """,
]
_ON_SQLITE = [
    "ALTER TABLE closed_addresses RENAME TO closed_addresses_before",
    """
    CREATE TABLE closed_addresses (
        channel TEXT NOT NULL,
        folded TEXT NOT NULL,
        address TEXT NOT NULL,
        reason TEXT NOT NULL,
        words TEXT NOT NULL,
        delivery_id TEXT NOT NULL,
        closed_at BIGINT NOT NULL,
        CONSTRAINT pk_closed_addresses PRIMARY KEY (channel, folded),
        CONSTRAINT ck_closed_addresses_reason CHECK (reason IN ('bounced', 'doubtful'))
    )
    """,
    "INSERT INTO closed_addresses SELECT * FROM closed_addresses_before",
    "DROP TABLE closed_addresses_before",
]

# What was closed although its owner had proved it.
_DOUBTED = """
    UPDATE {shared}closed_addresses SET reason = 'doubtful' WHERE EXISTS (
        SELECT 1 FROM {shared}person_addresses AS place WHERE place.verified_at IS NOT NULL
            AND place.channel = closed_addresses.channel AND place.folded = closed_addresses.folded)
"""

# A letter to a stranger carried the link that ended them.
_KEY = """'"unsubscribe":'"""
_WITHOUT_POSTGRES = f"NULLIF((markup::jsonb - 'unsubscribe')::text, '{{{{}}}}') WHERE strpos(markup, {_KEY}) > 0"
_WITHOUT_SQLITE = f"NULLIF(json_remove(markup, '$.unsubscribe'), '{{{{}}}}') WHERE instr(markup, {_KEY}) > 0"


def upgrade() -> None:
    run(_GONE)
    run(_ON_POSTGRES if on_postgres() else _ON_SQLITE)
    run([_DOUBTED])
    without = _WITHOUT_POSTGRES if on_postgres() else _WITHOUT_SQLITE
    run([f"UPDATE {{messenger}}delivery_requests SET markup = {without}"])  # noqa: S608 - our own names
