"""The shape of the answer to `GET /v1/figures`, for its documentation."""

from __future__ import annotations

from pydantic import BaseModel, Field


class DeliverySums(BaseModel):
    """`accepted` is the sum of the states; a rate is over what has ended."""

    accepted: int
    awaiting_approval: int
    pending: int
    in_progress: int
    delivered: int
    failed: int
    dead_lettered: int
    withdrawn: int = Field(description="Taken back before it was sent, or not let go by a person; no failure.")
    success_rate: float | None
    p50_milliseconds: float | None = Field(description="From accepted to the provider, of the newest of each stretch.")
    p95_milliseconds: float | None


class NoticeSums(BaseModel):
    accepted: int
    cells: dict[str, int] = Field(description="As a person's attention figures name them; each notice is in one.")
    states: dict[str, int]


class QuestionSums(BaseModel):
    asked: int
    open: int
    answered: int
    declined: int
    expired: int
    cancelled: int
    superseded: int
    p50_milliseconds: float | None = Field(description="From asked to answered.")
    p95_milliseconds: float | None


class StretchBounds(BaseModel):
    since: str
    until: str


class DeliveryStretch(StretchBounds, DeliverySums):
    pass


class NoticeStretch(StretchBounds, NoticeSums):
    pass


class QuestionStretch(StretchBounds, QuestionSums):
    pass


class SlowStretch(BaseModel):
    channel: str
    since: str
    p95_milliseconds: float


class Told(BaseModel):
    sentence: str
    complete: bool = Field(description="False when `by_agent` comes from the newest only, because there are too many.")


class DeliveriesFigures(Told):
    total: DeliverySums
    stretches: list[DeliveryStretch]
    by_channel: dict[str, DeliverySums]
    by_agent: dict[str, DeliverySums]
    slow: list[SlowStretch]


class NoticesFigures(Told):
    total: NoticeSums
    stretches: list[NoticeStretch]
    by_agent: dict[str, NoticeSums]


class QuestionsFigures(Told):
    total: QuestionSums
    stretches: list[QuestionStretch]
    by_agent: dict[str, QuestionSums]


class HouseholdFiguresAnswer(BaseModel):
    """`person_id` is whose figures these are; null: everybody's, which only the owner sees."""

    ok: bool
    span: str
    zone: str = Field(description="The household's: where its days begin.")
    since: str
    until: str
    channel: str | None
    agent: str | None
    person_id: str | None
    deliveries: DeliveriesFigures | None
    notices: NoticesFigures
    questions: QuestionsFigures
