"""Places in the order of commits: of every event of an intent, and from where on it concerns an agent."""

from __future__ import annotations

from postroom.world.store.migrations.statements import on_postgres, run

revision = "0009"
down_revision = "0008"

# Nobody has noted the order of commits so far; ids tell the time and come closest to it.
_EVENTS_ON_POSTGRES = [
    "ALTER TABLE shared.intent_events ADD COLUMN position BIGINT",
    """
    UPDATE shared.intent_events AS event SET position = placed.position
        FROM (SELECT id, row_number() OVER (ORDER BY id) AS position FROM shared.intent_events) AS placed
        WHERE placed.id = event.id
    """,
    "ALTER TABLE shared.intent_events ALTER COLUMN position SET NOT NULL",
]

# SQLite adds no column without a default, and a default would hide a place that was forgotten.
_EVENTS_ON_SQLITE = [
    "ALTER TABLE intent_events RENAME TO intent_events_before",
    """
    CREATE TABLE intent_events (
        intent_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        id TEXT NOT NULL,
        event_type TEXT NOT NULL,
        status TEXT NOT NULL,
        at BIGINT NOT NULL,
        actor TEXT,
        waiting_reason TEXT,
        payload TEXT NOT NULL,
        position BIGINT NOT NULL,
        CONSTRAINT pk_intent_events PRIMARY KEY (intent_id, seq),
        CONSTRAINT uq_intent_events_id UNIQUE (id),
        CONSTRAINT ck_intent_events_status CHECK (status IN
            ('CREATED', 'SUBMITTED', 'DELIVERED', 'ACKNOWLEDGED', 'IN_PROGRESS', 'WAITING',
             'COMPLETED', 'FAILED', 'CANCELED', 'TIMED_OUT')),
        CONSTRAINT fk_intent_events_intent_id FOREIGN KEY (intent_id)
            REFERENCES intents (id) ON DELETE CASCADE
    )
    """,
    """
    INSERT INTO intent_events
        SELECT intent_id, seq, id, event_type, status, at, actor, waiting_reason, payload,
            row_number() OVER (ORDER BY id)
        FROM intent_events_before
    """,
    "DROP TABLE intent_events_before",
]

_MEMBERS_ON_POSTGRES = [
    "ALTER TABLE shared.intent_members ADD COLUMN position BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE shared.intent_members ALTER COLUMN position DROP DEFAULT",
]

_MEMBERS_ON_SQLITE = [
    "ALTER TABLE intent_members RENAME TO intent_members_before",
    """
    CREATE TABLE intent_members (
        agent TEXT NOT NULL,
        intent_id TEXT NOT NULL,
        position BIGINT NOT NULL,
        CONSTRAINT pk_intent_members PRIMARY KEY (agent, intent_id),
        CONSTRAINT fk_intent_members_intent_id FOREIGN KEY (intent_id)
            REFERENCES intents (id) ON DELETE CASCADE
    )
    """,
    "INSERT INTO intent_members SELECT agent, intent_id, 0 FROM intent_members_before",
    "DROP TABLE intent_members_before",
]

# So far one became a member with the first event after one was asked. From now on whoever is about to be asked is one
# from the start, and nobody looks for them again.
_ASKED_ON_POSTGRES = """
    INSERT INTO shared.intent_members (agent, intent_id, position)
        SELECT DISTINCT step.value ->> 2, intent.id, 0
        FROM shared.intents AS intent CROSS JOIN LATERAL json_array_elements(intent.plan::json) AS step
        WHERE step.value ->> 0 = 'ask' AND intent.status NOT IN ('COMPLETED', 'FAILED', 'CANCELED', 'TIMED_OUT')
        ON CONFLICT DO NOTHING
    """
_ASKED_ON_SQLITE = """
    INSERT OR IGNORE INTO intent_members (agent, intent_id, position)
        SELECT json_extract(step.value, '$[2]'), intent.id, 0
        FROM intents AS intent, json_each(intent.plan) AS step
        WHERE json_extract(step.value, '$[0]') = 'ask'
            AND intent.status NOT IN ('COMPLETED', 'FAILED', 'CANCELED', 'TIMED_OUT')
    """

# Whoever it was handed to later has had it since then, and everybody else from the start. The text is compared as it
# was written, because PostgreSQL refuses to take apart what has a half character anywhere in it.
_JOINED = """
    UPDATE {shared}intent_members AS member SET position = COALESCE(
        (SELECT min(event.position) FROM {shared}intent_events AS event
            WHERE event.intent_id = member.intent_id
            AND (event.event_type = 'intent.transfer'
                    AND substr(event.payload, 1, length(member.agent) + 17) = '{{"delegate_to":"' || member.agent || '"'
                OR event.event_type = 'intent.escalated'
                    AND event.payload = '{{"to_agent":"' || member.agent || '"}}')
            AND NOT EXISTS (SELECT 1 FROM {shared}intents AS intent WHERE intent.id = member.intent_id
                AND member.agent IN (intent.from_agent, intent.to_agent, intent.reply_to))),
        (SELECT max(event.position) FROM {shared}intent_events AS event
            WHERE event.intent_id = member.intent_id AND event.seq <= 2),
        0)
    """

_INDEXES = [
    "CREATE UNIQUE INDEX ix_intent_events_position ON {shared}intent_events (position)",
    "CREATE INDEX ix_intent_members_agent_position ON {shared}intent_members (agent, position)",
]


def upgrade() -> None:
    run(_EVENTS_ON_POSTGRES if on_postgres() else _EVENTS_ON_SQLITE)
    run(_MEMBERS_ON_POSTGRES if on_postgres() else _MEMBERS_ON_SQLITE)
    run([_ASKED_ON_POSTGRES if on_postgres() else _ASKED_ON_SQLITE, _JOINED, *_INDEXES])
