"""Questions to people: whom they ask, where they are shown, every attempt to answer, and the feed of their ends."""

from __future__ import annotations

from postroom.world.store.migrations.statements import on_postgres, run

revision = "0015"
down_revision = "0014"

_TABLES = [
    """
    CREATE TABLE {shared}questions (
        id TEXT NOT NULL,
        asker TEXT NOT NULL,
        key TEXT,
        fingerprint TEXT NOT NULL,
        revision INTEGER NOT NULL,
        revision_hash TEXT NOT NULL,
        kind TEXT NOT NULL,
        secret BOOLEAN NOT NULL,
        wording TEXT,
        channels TEXT,
        urgency TEXT NOT NULL,
        preview TEXT NOT NULL,
        quorum TEXT NOT NULL,
        state TEXT,
        remind_after BIGINT,
        escalate_to TEXT,
        escalate_after BIGINT,
        resume TEXT,
        subject TEXT,
        status TEXT NOT NULL,
        answer TEXT,
        answered_by TEXT,
        reason TEXT,
        superseded_by TEXT,
        created_at BIGINT NOT NULL,
        expires_at BIGINT NOT NULL,
        ended_at BIGINT,
        reminded_at BIGINT,
        escalated_at BIGINT,
        collected_at BIGINT,
        next_at BIGINT,
        erased_at BIGINT,
        CONSTRAINT pk_questions PRIMARY KEY (id),
        CONSTRAINT uq_questions_asker_key UNIQUE (asker, key),
        CONSTRAINT ck_questions_kind CHECK (kind IN ('text', 'choice', 'approve', 'form')),
        CONSTRAINT ck_questions_status
            CHECK (status IN ('open', 'answered', 'declined', 'expired', 'cancelled', 'superseded')),
        CONSTRAINT ck_questions_ended CHECK ((status = 'open') = (ended_at IS NULL))
    )
    """,
    "CREATE INDEX ix_questions_asker_id ON {shared}questions (asker, id)",
    "CREATE INDEX ix_questions_asker_revision_hash ON {shared}questions (asker, revision_hash)",
    "CREATE INDEX ix_questions_ended_at ON {shared}questions (ended_at)"
    " WHERE ended_at IS NOT NULL AND erased_at IS NULL",
    "CREATE INDEX ix_questions_next_at ON {shared}questions (next_at) WHERE next_at IS NOT NULL",
    "CREATE INDEX ix_questions_status_id ON {shared}questions (status, id)",
    "CREATE INDEX ix_questions_subject ON {shared}questions (subject) WHERE subject IS NOT NULL",
    """
    CREATE TABLE {shared}question_people (
        question_id TEXT NOT NULL,
        person_id TEXT NOT NULL,
        name TEXT NOT NULL,
        added TEXT NOT NULL,
        place INTEGER NOT NULL,
        planned_at BIGINT,
        CONSTRAINT pk_question_people PRIMARY KEY (question_id, person_id),
        CONSTRAINT ck_question_people_added CHECK (added IN ('asked', 'escalated')),
        CONSTRAINT fk_question_people_question_id FOREIGN KEY (question_id)
            REFERENCES {shared}questions (id) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX ix_question_people_person_id ON {shared}question_people (person_id, question_id)",
    "CREATE INDEX ix_question_people_unplanned ON {shared}question_people (question_id) WHERE planned_at IS NULL",
    """
    CREATE TABLE {shared}presentations (
        id TEXT NOT NULL,
        question_id TEXT NOT NULL,
        person_id TEXT NOT NULL,
        channel TEXT NOT NULL,
        address TEXT NOT NULL,
        status TEXT NOT NULL,
        revision INTEGER NOT NULL,
        delivery_id TEXT,
        reason TEXT,
        toggles TEXT NOT NULL,
        due_at BIGINT,
        fence INTEGER NOT NULL,
        created_at BIGINT NOT NULL,
        updated_at BIGINT NOT NULL,
        CONSTRAINT pk_presentations PRIMARY KEY (id),
        CONSTRAINT uq_presentations_question_id_person_id_channel UNIQUE (question_id, person_id, channel),
        CONSTRAINT ck_presentations_status
            CHECK (status IN ('planned', 'shown', 'uncertain', 'failed', 'closing', 'closed', 'left')),
        CONSTRAINT fk_presentations_question_id FOREIGN KEY (question_id)
            REFERENCES {shared}questions (id) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX ix_presentations_delivery_id ON {shared}presentations (delivery_id)",
    "CREATE INDEX ix_presentations_due_at ON {shared}presentations (due_at) WHERE due_at IS NOT NULL",
    """
    CREATE TABLE {shared}presentation_parts (
        channel TEXT NOT NULL,
        address TEXT NOT NULL,
        provider_id TEXT NOT NULL,
        presentation_id TEXT NOT NULL,
        part INTEGER NOT NULL,
        CONSTRAINT pk_presentation_parts PRIMARY KEY (channel, address, provider_id),
        CONSTRAINT fk_presentation_parts_presentation_id FOREIGN KEY (presentation_id)
            REFERENCES {shared}presentations (id) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX ix_presentation_parts_presentation_id ON {shared}presentation_parts (presentation_id, part)",
    """
    CREATE TABLE {shared}presentation_tokens (
        token_hash TEXT NOT NULL,
        presentation_id TEXT NOT NULL,
        action TEXT NOT NULL,
        option TEXT,
        revision INTEGER NOT NULL,
        CONSTRAINT pk_presentation_tokens PRIMARY KEY (token_hash),
        CONSTRAINT ck_presentation_tokens_action
            CHECK (action IN ('option', 'toggle', 'send', 'other', 'decline', 'open')),
        CONSTRAINT fk_presentation_tokens_presentation_id FOREIGN KEY (presentation_id)
            REFERENCES {shared}presentations (id) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX ix_presentation_tokens_presentation_id ON {shared}presentation_tokens (presentation_id)",
    """
    CREATE TABLE {shared}question_attempts (
        id TEXT NOT NULL,
        question_id TEXT NOT NULL,
        channel TEXT NOT NULL,
        provider_event_id TEXT NOT NULL,
        presentation_id TEXT,
        person_id TEXT,
        person_name TEXT NOT NULL,
        assurance TEXT NOT NULL,
        actor TEXT,
        operator BOOLEAN NOT NULL,
        flags TEXT NOT NULL,
        revision INTEGER,
        said TEXT,
        said_at BIGINT,
        heard_at BIGINT NOT NULL,
        verdict TEXT NOT NULL,
        code TEXT NOT NULL,
        reason TEXT NOT NULL,
        CONSTRAINT pk_question_attempts PRIMARY KEY (id),
        CONSTRAINT uq_question_attempts_channel_provider_event_id UNIQUE (channel, provider_event_id),
        CONSTRAINT ck_question_attempts_verdict
            CHECK (verdict IN ('accepted', 'not_yet', 'late', 'lost_race', 'invalid', 'unauthorised')),
        CONSTRAINT fk_question_attempts_question_id FOREIGN KEY (question_id)
            REFERENCES {shared}questions (id) ON DELETE CASCADE
    )
    """,
    "CREATE UNIQUE INDEX ix_question_attempts_accepted ON {shared}question_attempts (question_id)"
    " WHERE verdict = 'accepted'",
    "CREATE INDEX ix_question_attempts_question_id ON {shared}question_attempts (question_id, id)",
    """
    CREATE TABLE {shared}question_events (
        position BIGINT NOT NULL,
        question_id TEXT NOT NULL,
        asker TEXT NOT NULL,
        event_type TEXT NOT NULL,
        at BIGINT NOT NULL,
        note TEXT NOT NULL,
        CONSTRAINT pk_question_events PRIMARY KEY (position),
        CONSTRAINT fk_question_events_question_id FOREIGN KEY (question_id)
            REFERENCES {shared}questions (id) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX ix_question_events_asker_position ON {shared}question_events (asker, position)",
    "CREATE INDEX ix_question_events_question_id ON {shared}question_events (question_id, position)",
]

# The edges of the state tables: any other change of status is refused by the database itself.
QUESTION_EDGES = [
    ("open", "answered"),
    ("open", "declined"),
    ("open", "expired"),
    ("open", "cancelled"),
    ("open", "superseded"),
]
PRESENTATION_EDGES = [
    ("planned", "shown"),
    ("planned", "uncertain"),
    ("planned", "failed"),
    ("planned", "left"),
    ("uncertain", "shown"),
    ("uncertain", "failed"),
    ("uncertain", "closing"),
    ("shown", "failed"),
    ("shown", "closing"),
    ("closing", "closed"),
    ("closing", "left"),
]


def _illegal(edges: list[tuple[str, str]]) -> str:
    allowed = " OR ".join(f"(OLD.status = '{before}' AND NEW.status = '{after}')" for before, after in edges)
    return f"OLD.status <> NEW.status AND NOT ({allowed})"


# What ended stays as it ended; only erasing and the handing out of a secret take the words away.
_REWRITTEN = " OR ".join(
    f"(NEW.{column} IS NOT NULL AND COALESCE(OLD.{column}, '') <> NEW.{column})"
    for column in ("answer", "answered_by", "wording", "reason")
)
_GUARDS = [
    ("questions_moves", "questions", "status", _illegal(QUESTION_EDGES), "a question cannot make this move"),
    (
        "questions_ends",
        "questions",
        "answer, answered_by, wording, reason, revision, ended_at",
        f"OLD.status <> 'open' AND (OLD.ended_at <> NEW.ended_at OR OLD.revision <> NEW.revision OR {_REWRITTEN})",
        "a question that ended is not changed",
    ),
    (
        "presentations_moves",
        "presentations",
        "status",
        _illegal(PRESENTATION_EDGES),
        "a presentation cannot make this move",
    ),
]


def _postgres_guard(name: str, table: str, columns: str, illegal: str, sentence: str) -> str:
    return f"""
        CREATE TRIGGER {name} BEFORE UPDATE OF {columns} ON shared.{table}
            FOR EACH ROW WHEN ({illegal}) EXECUTE FUNCTION shared.refuse_question_change('{sentence}')
        """


def _sqlite_guard(name: str, table: str, columns: str, illegal: str, sentence: str) -> str:
    return f"""
        CREATE TRIGGER {name} BEFORE UPDATE OF {columns} ON {table}
            FOR EACH ROW WHEN {illegal} BEGIN SELECT RAISE(ABORT, '{sentence}'); END
        """


_REFUSE = """
    CREATE FUNCTION shared.refuse_question_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION '%', TG_ARGV[0];
    END $$
    """


def upgrade() -> None:
    run(_TABLES)
    if on_postgres():
        run([_REFUSE, *(_postgres_guard(*guard) for guard in _GUARDS)])
    else:
        run([_sqlite_guard(*guard) for guard in _GUARDS])
