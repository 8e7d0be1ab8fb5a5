"""Which questions are approvals."""

from __future__ import annotations

from postroom.domain.question import Question, SubjectKind


def is_approval(question: Question) -> bool:
    return question.subject is not None and question.subject.kind is SubjectKind.APPROVAL
