"""What the routes about attention answer."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


class NoticeBody(BaseModel):
    notice_id: str
    person: str
    agent: str
    channel: str
    message: str
    state: str
    cell: str
    urgency: str
    asked_urgency: str
    category: str | None
    thread: str | None
    supersedes: str | None
    needs_ack: bool
    created_at: str
    expires_at: str | None
    until: str | None
    reasons: list[str]


class SendBody(BaseModel):
    kind: str
    at: str
    person: str
    channel: str
    outcome: str | None
    delivery_id: str | None


class WholeNoticeBody(NoticeBody):
    sends: list[SendBody]
    decisions: list[dict[str, Any]]


class NoticeAnswer(BaseModel):
    ok: bool
    notice: NoticeBody


class WholeNoticeAnswer(BaseModel):
    ok: bool
    notice: WholeNoticeBody


class NoticesAnswer(BaseModel):
    ok: bool
    notices: list[NoticeBody]


class NoticePage(BaseModel):
    ok: bool
    notices: list[NoticeBody]
    next_cursor: str | None


class PlanItemBody(BaseModel):
    at: str
    what: str
    where: str | None
    why: list[str]
    unless: str | None


class PlanAnswer(BaseModel):
    plan: list[PlanItemBody]


class PersonPlanItemBody(PlanItemBody):
    notice_id: str


class PersonPlanAnswer(BaseModel):
    plan: list[PersonPlanItemBody]


class PolicyAnswer(BaseModel):
    ok: bool
    person_id: str
    policy: dict[str, Any] | None
    hash: str
    rules: dict[str, Any]
    away: list[dict[str, Any]]


class PreviewAnswer(BaseModel):
    ok: bool
    difference: list[str]
    before: dict[str, int]
    after: dict[str, int]


class FiguresAnswer(BaseModel):
    ok: bool
    person_id: str
    accepted: int
    cells: dict[str, int]
    states: dict[str, int]
    by_agent: dict[str, int]
    unaccounted: list[str]


class MutedAnswer(BaseModel):
    ok: bool
    person_id: str
    muted: dict[str, str | None]
    until: str | None


class UnmutedAnswer(BaseModel):
    ok: bool
    person_id: str
    unmuted: dict[str, str | None]


class AwayAnswer(BaseModel):
    ok: bool
    person_id: str
    away: dict[str, Any] | None
