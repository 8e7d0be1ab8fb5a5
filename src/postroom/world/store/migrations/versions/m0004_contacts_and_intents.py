"""Contact books and intents."""

from __future__ import annotations

from postroom.world.store.migrations.statements import on_postgres, run

revision = "0004"
down_revision = "0003"

_TABLES = [
    """
    CREATE TABLE {shared}contact_books (
        owner_agent TEXT NOT NULL,
        version INTEGER NOT NULL,
        CONSTRAINT pk_contact_books PRIMARY KEY (owner_agent)
    )
    """,
    """
    CREATE TABLE {shared}contacts (
        id TEXT NOT NULL,
        owner_agent TEXT NOT NULL,
        name TEXT NOT NULL,
        agent_address TEXT NOT NULL,
        telegram_chat_id TEXT,
        email TEXT,
        trusted BOOLEAN NOT NULL,
        source TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        updated_at BIGINT NOT NULL,
        CONSTRAINT pk_contacts PRIMARY KEY (id),
        CONSTRAINT uq_contacts_owner_agent_agent_address UNIQUE (owner_agent, agent_address)
    )
    """,
    "CREATE INDEX ix_contacts_owner_agent_email ON {shared}contacts (owner_agent, email)",
    "CREATE INDEX ix_contacts_owner_agent_id ON {shared}contacts (owner_agent, id)",
    "CREATE INDEX ix_contacts_owner_agent_telegram_chat_id ON {shared}contacts (owner_agent, telegram_chat_id)",
    """
    CREATE TABLE {shared}contact_aliases (
        id TEXT NOT NULL,
        contact_id TEXT NOT NULL,
        owner_agent TEXT NOT NULL,
        alias TEXT NOT NULL,
        is_name BOOLEAN NOT NULL,
        normal TEXT NOT NULL,
        folded TEXT NOT NULL,
        latin TEXT NOT NULL,
        skeletons TEXT NOT NULL,
        script TEXT NOT NULL,
        CONSTRAINT pk_contact_aliases PRIMARY KEY (id),
        CONSTRAINT uq_contact_aliases_contact_id_normal UNIQUE (contact_id, normal),
        CONSTRAINT fk_contact_aliases_contact_id FOREIGN KEY (contact_id)
            REFERENCES {shared}contacts (id) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX ix_contact_aliases_owner_agent_normal ON {shared}contact_aliases (owner_agent, normal)",
    """
    CREATE TABLE {shared}contact_memory (
        id TEXT NOT NULL,
        owner_agent TEXT NOT NULL,
        query TEXT NOT NULL,
        contact_id TEXT NOT NULL,
        agent_address TEXT NOT NULL,
        alias TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        rival FLOAT NOT NULL,
        book_version INTEGER NOT NULL,
        source TEXT NOT NULL,
        confirm_count INTEGER NOT NULL,
        created_at BIGINT NOT NULL,
        confirmed_at BIGINT NOT NULL,
        CONSTRAINT pk_contact_memory PRIMARY KEY (id),
        CONSTRAINT uq_contact_memory_owner_agent_query UNIQUE (owner_agent, query),
        CONSTRAINT fk_contact_memory_contact_id FOREIGN KEY (contact_id)
            REFERENCES {shared}contacts (id) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX ix_contact_memory_contact_id ON {shared}contact_memory (contact_id)",
    """
    CREATE TABLE {shared}contact_offers (
        token_hash TEXT NOT NULL,
        owner_agent TEXT NOT NULL,
        query TEXT NOT NULL,
        candidates TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        expires_at BIGINT NOT NULL,
        CONSTRAINT pk_contact_offers PRIMARY KEY (token_hash)
    )
    """,
    "CREATE INDEX ix_contact_offers_expires_at ON {shared}contact_offers (expires_at)",
    """
    CREATE TABLE {shared}intents (
        id TEXT NOT NULL,
        intent_type TEXT NOT NULL,
        correlation_id TEXT NOT NULL,
        from_agent TEXT NOT NULL,
        to_agent TEXT NOT NULL,
        handler TEXT NOT NULL,
        payload TEXT NOT NULL,
        metadata TEXT NOT NULL,
        idempotency_key TEXT,
        fingerprint TEXT NOT NULL,
        submitted_by TEXT NOT NULL,
        reply_to TEXT,
        deadline_at BIGINT,
        macro_id TEXT,
        status TEXT NOT NULL,
        waiting_reason TEXT,
        seq INTEGER NOT NULL,
        plan TEXT NOT NULL,
        position INTEGER NOT NULL,
        next_at BIGINT,
        carried BOOLEAN NOT NULL,
        result TEXT,
        created_at BIGINT NOT NULL,
        updated_at BIGINT NOT NULL,
        CONSTRAINT pk_intents PRIMARY KEY (id),
        CONSTRAINT uq_intents_from_agent_idempotency_key UNIQUE (from_agent, idempotency_key),
        CONSTRAINT ck_intents_status CHECK (status IN
            ('CREATED', 'SUBMITTED', 'DELIVERED', 'ACKNOWLEDGED', 'IN_PROGRESS', 'WAITING',
             'COMPLETED', 'FAILED', 'CANCELED', 'TIMED_OUT'))
    )
    """,
    "CREATE INDEX ix_intents_carried ON {shared}intents (updated_at) WHERE carried",
    "CREATE INDEX ix_intents_correlation_id ON {shared}intents (correlation_id)",
    "CREATE INDEX ix_intents_from_agent_id ON {shared}intents (from_agent, id)",
    "CREATE INDEX ix_intents_next_at ON {shared}intents (next_at) WHERE next_at IS NOT NULL",
    "CREATE INDEX ix_intents_to_agent_id ON {shared}intents (to_agent, id)",
    """
    CREATE TABLE {shared}intent_members (
        agent TEXT NOT NULL,
        intent_id TEXT NOT NULL,
        CONSTRAINT pk_intent_members PRIMARY KEY (agent, intent_id),
        CONSTRAINT fk_intent_members_intent_id FOREIGN KEY (intent_id)
            REFERENCES {shared}intents (id) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE {shared}intent_events (
        intent_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        id TEXT NOT NULL,
        event_type TEXT NOT NULL,
        status TEXT NOT NULL,
        at BIGINT NOT NULL,
        actor TEXT,
        waiting_reason TEXT,
        payload TEXT NOT NULL,
        CONSTRAINT pk_intent_events PRIMARY KEY (intent_id, seq),
        CONSTRAINT uq_intent_events_id UNIQUE (id),
        CONSTRAINT ck_intent_events_status CHECK (status IN
            ('CREATED', 'SUBMITTED', 'DELIVERED', 'ACKNOWLEDGED', 'IN_PROGRESS', 'WAITING',
             'COMPLETED', 'FAILED', 'CANCELED', 'TIMED_OUT')),
        CONSTRAINT fk_intent_events_intent_id FOREIGN KEY (intent_id)
            REFERENCES {shared}intents (id) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE {shared}intent_messages (
        id TEXT NOT NULL,
        intent_id TEXT NOT NULL,
        author TEXT NOT NULL,
        message TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        CONSTRAINT pk_intent_messages PRIMARY KEY (id),
        CONSTRAINT fk_intent_messages_intent_id FOREIGN KEY (intent_id)
            REFERENCES {shared}intents (id) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX ix_intent_messages_intent_id_id ON {shared}intent_messages (intent_id, id)",
    """
    CREATE TABLE {shared}webhook_subscriptions (
        id TEXT NOT NULL,
        owner_agent TEXT NOT NULL,
        callback_url TEXT NOT NULL,
        event_types TEXT NOT NULL,
        secret TEXT NOT NULL,
        active BOOLEAN NOT NULL,
        description TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        updated_at BIGINT NOT NULL,
        CONSTRAINT pk_webhook_subscriptions PRIMARY KEY (id),
        CONSTRAINT uq_webhook_subscriptions_owner_agent_callback_url UNIQUE (owner_agent, callback_url)
    )
    """,
    """
    CREATE TABLE {shared}webhook_deliveries (
        id TEXT NOT NULL,
        subscription_id TEXT NOT NULL,
        event_type TEXT NOT NULL,
        body TEXT NOT NULL,
        status TEXT NOT NULL,
        attempts INTEGER NOT NULL,
        next_at BIGINT NOT NULL,
        last_error TEXT,
        created_at BIGINT NOT NULL,
        CONSTRAINT pk_webhook_deliveries PRIMARY KEY (id),
        CONSTRAINT ck_webhook_deliveries_status CHECK (status IN
            ('pending', 'delivered', 'dead_lettered')),
        CONSTRAINT fk_webhook_deliveries_subscription_id FOREIGN KEY (subscription_id)
            REFERENCES {shared}webhook_subscriptions (id) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX ix_webhook_deliveries_next_at ON {shared}webhook_deliveries (next_at) WHERE status = 'pending'",
    "CREATE INDEX ix_webhook_deliveries_subscription_id ON {shared}webhook_deliveries (subscription_id)",
    """
    CREATE TABLE {shared}inbound_offsets (
        source TEXT NOT NULL,
        position BIGINT NOT NULL,
        CONSTRAINT pk_inbound_offsets PRIMARY KEY (source)
    )
    """,
]


# An intent that has ended stays as it ended, whoever asks.
_ENDED = "OLD.status IN ('COMPLETED', 'FAILED', 'CANCELED', 'TIMED_OUT') AND OLD.status <> NEW.status"

_POSTGRES_GUARD = [
    """
    CREATE FUNCTION shared.refuse_reopened_intent() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'an intent that is % cannot become %', OLD.status, NEW.status;
    END $$
    """,
    f"""
    CREATE TRIGGER intents_ends BEFORE UPDATE OF status ON shared.intents
        FOR EACH ROW WHEN ({_ENDED}) EXECUTE FUNCTION shared.refuse_reopened_intent()
    """,
]

_SQLITE_GUARD = [
    f"""
    CREATE TRIGGER intents_ends BEFORE UPDATE OF status ON intents
        FOR EACH ROW WHEN {_ENDED}
        BEGIN SELECT RAISE(ABORT, 'an intent that has ended cannot change'); END
    """,
]


def upgrade() -> None:
    run(_TABLES)
    run(_POSTGRES_GUARD if on_postgres() else _SQLITE_GUARD)
