"""Questions, whom they ask, where they are shown, what people did about them, and the feed of their ends."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from postroom.kernel.database.schema import SHARED, metadata, one_of, partial_index
from postroom.questions.model import (
    Added,
    Hold,
    PresentationStatus,
    QuestionKind,
    QuestionStatus,
    SubjectKind,
    TokenAction,
    VerdictKind,
)

_KEPT = text("ended_at IS NOT NULL AND erased_at IS NULL")
_ERASED = text("erased_at IS NOT NULL")
_ABOUT = text("subject_id IS NOT NULL")
_UNPLANNED = text("planned_at IS NULL")
_DUE = text("due_at IS NOT NULL")
_AWAITING = text("words_awaited_at IS NOT NULL")

questions = Table(
    "questions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("asker", Text, nullable=False),
    Column("key", Text),
    Column("fingerprint", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("revision_hash", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("secret", Boolean, nullable=False),
    Column("wording", Text),
    Column("channels", Text),
    Column("urgency", Text, nullable=False),
    Column("preview", Text, nullable=False),
    Column("state", Text),
    Column("remind_after_seconds", BigInteger),
    Column("escalate_to", Text),
    Column("escalate_after_seconds", BigInteger),
    Column("resume", Text),
    Column("subject_kind", Text),
    Column("subject_id", Text),
    Column("status", Text, nullable=False),
    Column("answer", Text),
    Column("answered_by", Text),
    Column("reason", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
    Column("reminded_at", BigInteger),
    Column("escalated_at", BigInteger),
    Column("collected_at", BigInteger),
    Column("reckoned_by", BigInteger),
    Column("erased_at", BigInteger),
    UniqueConstraint("asker", "key"),
    CheckConstraint(one_of("kind", QuestionKind), name="kind"),
    CheckConstraint(one_of("status", QuestionStatus), name="status"),
    CheckConstraint(one_of("subject_kind", SubjectKind), name="subject_kind"),
    CheckConstraint("(status = 'open') = (ended_at IS NULL)", name="ended"),
    Index("ix_questions_asker_revision_hash", "asker", "revision_hash"),
    Index("ix_questions_asker_id", "asker", "id"),
    Index("ix_questions_status_id", "status", "id"),
    partial_index("ix_questions_subject", "subject_id", "subject_kind", where=_ABOUT),
    partial_index("ix_questions_ended_at", "ended_at", where=_KEPT),
    partial_index("ix_questions_erased", "ended_at", where=_ERASED),
    schema=SHARED,
)

question_people = Table(
    "question_people",
    metadata,
    Column("question_id", Text, ForeignKey(questions.c.id, ondelete="CASCADE"), primary_key=True),
    Column("person_id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("added", Text, nullable=False),
    Column("place", Integer, nullable=False),
    Column("planned_at", BigInteger),
    CheckConstraint(one_of("added", Added), name="added"),
    Index("ix_question_people_person_id", "person_id", "question_id"),
    partial_index("ix_question_people_unplanned", "question_id", where=_UNPLANNED),
    schema=SHARED,
)

presentations = Table(
    "presentations",
    metadata,
    Column("id", Text, primary_key=True),
    Column("question_id", Text, ForeignKey(questions.c.id, ondelete="CASCADE"), nullable=False),
    Column("person_id", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("delivery_id", Text),
    Column("hold", Text),
    Column("failure", Text),
    Column("toggles", Text, nullable=False),
    Column("due_at", BigInteger),
    Column("fence", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("words_awaited_at", BigInteger),
    UniqueConstraint("question_id", "person_id", "channel"),
    CheckConstraint(one_of("status", PresentationStatus), name="status"),
    CheckConstraint(one_of("hold", Hold), name="hold"),
    partial_index("ix_presentations_due_at", "due_at", where=_DUE),
    partial_index("ix_presentations_words_awaited_at", "channel", "address", where=_AWAITING),
    Index("ix_presentations_delivery_id", "delivery_id"),
    schema=SHARED,
)

presentation_parts = Table(
    "presentation_parts",
    metadata,
    Column("channel", Text, primary_key=True),
    Column("address", Text, primary_key=True),
    Column("provider_id", Text, primary_key=True),
    Column("presentation_id", Text, ForeignKey(presentations.c.id, ondelete="CASCADE"), nullable=False),
    Column("part", Integer, nullable=False),
    Index("ix_presentation_parts_presentation_id", "presentation_id", "part"),
    schema=SHARED,
)

presentation_tokens = Table(
    "presentation_tokens",
    metadata,
    Column("token_hash", Text, primary_key=True),
    Column("presentation_id", Text, ForeignKey(presentations.c.id, ondelete="CASCADE"), nullable=False),
    Column("action", Text, nullable=False),
    Column("option", Text),
    Column("revision", Integer, nullable=False),
    CheckConstraint(one_of("action", TokenAction), name="action"),
    Index("ix_presentation_tokens_presentation_id", "presentation_id"),
    schema=SHARED,
)

question_attempts = Table(
    "question_attempts",
    metadata,
    Column("id", Text, primary_key=True),
    Column("question_id", Text, ForeignKey(questions.c.id, ondelete="CASCADE"), nullable=False),
    Column("channel", Text, nullable=False),
    Column("provider_event_id", Text, nullable=False),
    Column("presentation_id", Text),
    Column("person_id", Text),
    Column("person_name", Text, nullable=False),
    Column("assurance", Text, nullable=False),
    Column("actor", Text),
    Column("operator", Boolean, nullable=False),
    Column("flags", Text, nullable=False),
    Column("revision", Integer),
    Column("said", Text),
    Column("said_at", BigInteger),
    Column("heard_at", BigInteger, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("code", Text, nullable=False),
    Column("reason", Text, nullable=False),
    UniqueConstraint("channel", "provider_event_id"),
    CheckConstraint(one_of("verdict", VerdictKind), name="verdict"),
    Index("ix_question_attempts_question_id", "question_id", "id"),
    partial_index("ix_question_attempts_accepted", "question_id", unique=True, where=text("verdict = 'accepted'")),
    schema=SHARED,
)

question_events = Table(
    "question_events",
    metadata,
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("question_id", Text, ForeignKey(questions.c.id, ondelete="CASCADE"), nullable=False),
    Column("asker", Text, nullable=False),
    Column("event_type", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Index("ix_question_events_asker_position", "asker", "position"),
    Index("ix_question_events_question_id", "question_id", "position"),
    schema=SHARED,
)
