"""How many notices have ended how is kept beside them, and what a person wrote to one butler has its index."""

from __future__ import annotations

from postroom.world.store.migrations.statements import run

revision = "0033"
down_revision = "0032"

_TALLIES = """
    CREATE TABLE {shared}notice_tallies (
        person TEXT NOT NULL,
        agent TEXT NOT NULL,
        state TEXT NOT NULL,
        many BIGINT NOT NULL,
        CONSTRAINT pk_notice_tallies PRIMARY KEY (person, agent, state)
    )
"""
ENDED = """
    INSERT INTO {shared}notice_tallies (person, agent, state, many)
    SELECT person, agent, state, count(*) FROM {shared}notices WHERE NOT open GROUP BY person, agent, state
"""
LOGGED = """
    INSERT INTO {shared}notice_tallies (person, agent, state, many)
    SELECT person, '', 'logged', count(*) FROM {shared}attention_log WHERE kind = 'NoticeAccepted' GROUP BY person
"""
_WRITTEN_TO = """
    CREATE INDEX ix_inbound_messages_target ON {shared}inbound_messages (person, channel, place, target, id)
"""


def upgrade() -> None:
    run([_TALLIES, ENDED, LOGGED, _WRITTEN_TO])
