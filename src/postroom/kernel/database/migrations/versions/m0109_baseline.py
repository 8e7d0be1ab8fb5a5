"""Every table as the first release has it, and what the databases themselves guard whatever the program does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from postroom.kernel.database.schema import on_postgres, run

revision = "0109"
down_revision = None


class Moves(NamedTuple):
    """A state table as it was when this was written: any other change of `column` is refused."""

    table: str
    column: str
    sentence: str
    moves: dict[str, str]

    def edges(self) -> Iterator[tuple[str, str]]:
        return ((before, after) for before, those in self.moves.items() for after in those.split())

    def guard(self) -> RowGuard:
        old, new = f"OLD.{self.column}", f"NEW.{self.column}"
        allowed = " OR ".join(f"({old} = '{before}' AND {new} = '{after}')" for before, after in self.edges())
        name = self.table.partition("}")[2] + "_moves"
        illegal = f"{old} <> {new} AND NOT ({allowed})"
        return RowGuard(name=name, table=self.table, of=self.column, when=illegal, sentence=self.sentence)


class RowGuard(NamedTuple):
    name: str
    table: str
    sentence: str
    act: str = "UPDATE"
    of: str = ""
    when: str = ""

    def statement(self) -> str:
        of = f" OF {self.of}" if self.of else ""
        head = f"CREATE TRIGGER {self.name} BEFORE {self.act}{of} ON {self.table}"
        if on_postgres():
            each = "STATEMENT" if self.act == "TRUNCATE" else "ROW"
            when = f" WHEN ({self.when})" if self.when else ""
            return f"{head} FOR EACH {each}{when} EXECUTE FUNCTION {{shared}}refuse('{self.sentence}')"
        when = f" WHEN {self.when}" if self.when else ""
        return f"{head} FOR EACH ROW{when} BEGIN SELECT RAISE(ABORT, '{self.sentence}'); END"


MOVES: Final = (
    Moves(
        table="{messenger}delivery_requests",
        column="status",
        sentence="a delivery cannot make this move",
        moves={
            "awaiting_approval": "pending failed",
            "pending": "in_progress awaiting_approval failed",
            "in_progress": "pending delivered failed dead_lettered",
        },
    ),
    Moves(
        table="{shared}questions",
        column="status",
        sentence="a question cannot make this move",
        moves={
            "open": "answered declined expired cancelled superseded",
        },
    ),
    Moves(
        table="{shared}presentations",
        column="status",
        sentence="a presentation cannot make this move",
        moves={
            "planned": "shown uncertain failed left",
            "uncertain": "shown failed closing",
            "shown": "failed closing",
            "closing": "closed left",
        },
    ),
    Moves(
        table="{shared}notices",
        column="state",
        sentence="a notice cannot make this move",
        moves={
            "accepted": "acknowledged digesting expired held merged muted refused_by_approval released withdrawn",
            "digested": "held recalled",
            "digesting": "acknowledged digested held undeliverable",
            "held": "acknowledged digesting expired merged muted refused_by_approval released withdrawn",
            "released": "acknowledged held sent undeliverable waiting",
            "sent": "held recalled",
            "waiting": "acknowledged held merged recalled unanswered",
        },
    ),
    Moves(
        table="{shared}inbound_messages",
        column="status",
        sentence="an inbound message cannot make this move",
        moves={
            "received": "handled refused routed",
            "routed": "failed stopped waiting",
            "running": "answered failed stopped waiting",
            "waiting": "answered failed running stopped",
        },
    ),
)

# What ended stays as it ended; only erasing and the handing out of a secret take the words away.
_REWRITTEN: Final = " OR ".join(
    f"(NEW.{column} IS NOT NULL AND COALESCE(OLD.{column}, '') <> NEW.{column})"
    for column in ("answer", "answered_by", "wording", "reason")
)
_EVENTS: Final = "approval events are never changed"
_GUARDS: Final = (
    RowGuard(name="approval_events_not_updated", table="{messenger}approval_events", sentence=_EVENTS),
    RowGuard(name="approval_events_not_deleted", table="{messenger}approval_events", act="DELETE", sentence=_EVENTS),
    RowGuard(
        name="delivery_requests_content",
        table="{messenger}delivery_requests",
        of="channel, intent, address, thread, message_content, subject, emoji",
        when="OLD.status IN ('pending', 'in_progress', 'dead_lettered')",
        sentence="the content of a delivery is fixed once it may be sent",
    ),
    RowGuard(
        name="intents_ends",
        table="{shared}intents",
        of="status",
        when="OLD.status IN ('COMPLETED', 'FAILED', 'CANCELED', 'TIMED_OUT') AND OLD.status <> NEW.status",
        sentence="an intent that has ended cannot change",
    ),
    RowGuard(
        name="questions_ends",
        table="{shared}questions",
        of="answer, answered_by, wording, reason, revision, ended_at",
        when=f"OLD.status <> 'open' AND (OLD.ended_at <> NEW.ended_at OR OLD.revision <> NEW.revision OR {_REWRITTEN})",
        sentence="a question that ended is not changed",
    ),
    RowGuard(name="attention_log_stays", table="{shared}attention_log", sentence="what was decided is not changed"),
)
_POSTGRES_GUARD: Final = RowGuard(
    name="approval_events_not_emptied", table="{messenger}approval_events", act="TRUNCATE", sentence=_EVENTS
)
_POSTGRES: Final = (
    "CREATE SCHEMA IF NOT EXISTS messenger",
    "CREATE SCHEMA IF NOT EXISTS switchboard",
    "CREATE SCHEMA IF NOT EXISTS shared",
    """
    CREATE FUNCTION shared.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION '%', TG_ARGV[0];
    END $$
    """,
)


def upgrade() -> None:
    if on_postgres():
        run(_POSTGRES)
    _, _, tables = Path(__file__).with_name("baseline.sql").read_text().partition("\n\n")
    run(statement for statement in tables.split(";\n") if statement.strip())
    run(one.guard().statement() for one in MOVES)
    run(one.statement() for one in _GUARDS)
    if on_postgres():
        run([_POSTGRES_GUARD.statement()])
