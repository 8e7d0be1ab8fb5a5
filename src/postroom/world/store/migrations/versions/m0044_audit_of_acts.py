"""Answers, decisions and corrections are in the audit themselves; so are those that were made before."""

from __future__ import annotations

from postroom.world.store.migrations.statements import on_postgres, run

revision = "0044"
down_revision = "0043"

_DECISIONS = """
    INSERT INTO {shared}audit_entries (id, at, actor, kind, act, subject, detail, door)
    SELECT id, occurred_at, actor, CASE WHEN event_type LIKE 'rule%' THEN 'rules' ELSE 'decision' END,
        CASE event_type WHEN 'action_approved' THEN 'approved a message'
            WHEN 'action_rejected' THEN 'rejected a message' WHEN 'rule_created' THEN 'made a standing rule'
            ELSE 'revoked a standing rule' END,
        CASE WHEN action_id IS NOT NULL THEN 'approval:' || action_id ELSE 'rule:' || rule_id END, '', ''
    FROM {messenger}approval_events
    WHERE event_type IN ('action_approved', 'action_rejected', 'rule_created', 'rule_revoked')
"""
_CORRECTIONS = """
    INSERT INTO {shared}audit_entries (id, at, actor, kind, act, subject, detail, door)
    SELECT id, at, actor, 'messages',
        CASE act WHEN 'revise' THEN 'changed the text of a message' ELSE 'took a message back' END,
        'delivery:' || delivery_id, how, ''
    FROM {messenger}delivery_corrections
"""
_ANSWERS = """
    INSERT INTO {shared}audit_entries (id, at, actor, kind, act, subject, detail, door)
    SELECT id, ended_at,
        CASE answered_person WHEN 'owner' THEN 'operator' ELSE 'person:' || coalesce(answered_person, '') END,
        'decision', CASE status WHEN 'declined' THEN 'declined a question' ELSE 'answered a question' END,
        'question:' || id, '',
        coalesce(CHANNEL, '')
    FROM {shared}questions
    WHERE status IN ('answered', 'declined') AND answered_by IS NOT NULL
      AND (subject IS NULL OR subject NOT LIKE 'approval:%')
"""
_GONE = [
    "DROP INDEX {messenger}ix_approval_events_occurred_at",
    "DROP INDEX {messenger}ix_approval_events_actor",
    "DROP INDEX {messenger}ix_delivery_corrections_at",
    "DROP INDEX {messenger}ix_delivery_corrections_actor",
    "DROP INDEX {shared}ix_questions_answered",
    "DROP INDEX {shared}ix_questions_answered_person",
    "ALTER TABLE {shared}questions DROP COLUMN answered_person",
]


def upgrade() -> None:
    channel = "answered_by::json ->> 'channel'" if on_postgres() else "json_extract(answered_by, '$.channel')"
    run([_DECISIONS, _CORRECTIONS, _ANSWERS.replace("CHANNEL", channel), *_GONE])
