"""Notices and their sends, what people want of them, and the log it all follows from."""

from __future__ import annotations

from postroom.world.store.migrations.statements import on_postgres, run

revision = "0025"
down_revision = "0023"

_STATES = (
    "accepted",
    "held",
    "digesting",
    "released",
    "sent",
    "digested",
    "waiting",
    "acknowledged",
    "unanswered",
    "muted",
    "merged",
    "withdrawn",
    "recalled",
    "expired",
    "undeliverable",
    "refused_by_approval",
)
_LISTED = ", ".join(repr(state) for state in _STATES)

_TABLES = [
    """
    CREATE TABLE {shared}attention_people (
        person TEXT NOT NULL,
        policy TEXT,
        rest TEXT NOT NULL,
        seq BIGINT NOT NULL,
        next_at BIGINT,
        CONSTRAINT pk_attention_people PRIMARY KEY (person)
    )
    """,
    "CREATE INDEX ix_attention_people_next_at ON {shared}attention_people (next_at) WHERE next_at IS NOT NULL",
    """
    CREATE TABLE {shared}notices (
        id TEXT NOT NULL,
        person TEXT NOT NULL,
        agent TEXT NOT NULL,
        key TEXT,
        state TEXT NOT NULL,
        open BOOLEAN NOT NULL,
        created_at BIGINT NOT NULL,
        fingerprint TEXT NOT NULL,
        request_id TEXT NOT NULL,
        standing TEXT NOT NULL,
        outgoing TEXT NOT NULL,
        CONSTRAINT pk_notices PRIMARY KEY (id),
        CONSTRAINT ck_notices_state CHECK (state IN ("""
    + _LISTED
    + """))
    )
    """,
    "CREATE INDEX ix_notices_person_created_at ON {shared}notices (person, created_at, id)",
    "CREATE INDEX ix_notices_person_state ON {shared}notices (person, state, agent)",
    "CREATE INDEX ix_notices_open ON {shared}notices (person) WHERE open",
    "CREATE INDEX ix_notices_key ON {shared}notices (person, agent, key) WHERE key IS NOT NULL",
    """
    CREATE TABLE {shared}notice_sends (
        key TEXT NOT NULL,
        person TEXT NOT NULL,
        at BIGINT NOT NULL,
        pending BOOLEAN NOT NULL,
        delivery_id TEXT,
        request_id TEXT NOT NULL,
        send TEXT NOT NULL,
        outgoing TEXT NOT NULL,
        lease_until BIGINT,
        fence INTEGER NOT NULL,
        CONSTRAINT pk_notice_sends PRIMARY KEY (key)
    )
    """,
    "CREATE INDEX ix_notice_sends_person_at ON {shared}notice_sends (person, at)",
    "CREATE INDEX ix_notice_sends_delivery_id ON {shared}notice_sends (delivery_id)",
    "CREATE INDEX ix_notice_sends_pending ON {shared}notice_sends (person) WHERE pending",
    """
    CREATE TABLE {shared}digests (
        id TEXT NOT NULL,
        person TEXT NOT NULL,
        digest TEXT NOT NULL,
        CONSTRAINT pk_digests PRIMARY KEY (id)
    )
    """,
    """
    CREATE TABLE {shared}attention_log (
        person TEXT NOT NULL,
        seq BIGINT NOT NULL,
        at BIGINT NOT NULL,
        kind TEXT NOT NULL,
        notice TEXT,
        body TEXT NOT NULL,
        CONSTRAINT pk_attention_log PRIMARY KEY (person, seq)
    )
    """,
    "CREATE INDEX ix_attention_log_notice ON {shared}attention_log (notice, seq)",
    "CREATE INDEX ix_attention_log_person_at ON {shared}attention_log (person, at)",
]

# The edges of the state table: any other change of state is refused by the database itself.
EDGES = [
    ("accepted", "acknowledged"),
    ("accepted", "digesting"),
    ("accepted", "expired"),
    ("accepted", "held"),
    ("accepted", "merged"),
    ("accepted", "muted"),
    ("accepted", "refused_by_approval"),
    ("accepted", "released"),
    ("accepted", "withdrawn"),
    ("digested", "held"),
    ("digested", "recalled"),
    ("digesting", "acknowledged"),
    ("digesting", "digested"),
    ("digesting", "held"),
    ("digesting", "undeliverable"),
    ("held", "acknowledged"),
    ("held", "digesting"),
    ("held", "expired"),
    ("held", "merged"),
    ("held", "muted"),
    ("held", "refused_by_approval"),
    ("held", "released"),
    ("held", "withdrawn"),
    ("released", "acknowledged"),
    ("released", "held"),
    ("released", "sent"),
    ("released", "undeliverable"),
    ("released", "waiting"),
    ("sent", "held"),
    ("sent", "recalled"),
    ("waiting", "acknowledged"),
    ("waiting", "held"),
    ("waiting", "merged"),
    ("waiting", "recalled"),
    ("waiting", "unanswered"),
]
_ALLOWED = " OR ".join(f"(OLD.state = '{before}' AND NEW.state = '{after}')" for before, after in EDGES)
_ILLEGAL = f"OLD.state <> NEW.state AND NOT ({_ALLOWED})"

_POSTGRES_GUARDS = [
    """
    CREATE FUNCTION shared.refuse_notice_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION '%', TG_ARGV[0];
    END $$
    """,
    f"""
    CREATE TRIGGER notices_moves BEFORE UPDATE OF state ON shared.notices
        FOR EACH ROW WHEN ({_ILLEGAL}) EXECUTE FUNCTION shared.refuse_notice_change('a notice cannot make this move')
    """,
    """
    CREATE TRIGGER attention_log_stays BEFORE UPDATE ON shared.attention_log
        FOR EACH ROW EXECUTE FUNCTION shared.refuse_notice_change('what was decided is not changed')
    """,
]
_SQLITE_GUARDS = [
    f"""
    CREATE TRIGGER notices_moves BEFORE UPDATE OF state ON notices
        FOR EACH ROW WHEN {_ILLEGAL}
        BEGIN SELECT RAISE(ABORT, 'a notice cannot make this move'); END
    """,
    """
    CREATE TRIGGER attention_log_stays BEFORE UPDATE ON attention_log
        BEGIN SELECT RAISE(ABORT, 'what was decided is not changed'); END
    """,
]


def upgrade() -> None:
    run([*_TABLES, *(_POSTGRES_GUARDS if on_postgres() else _SQLITE_GUARDS)])
