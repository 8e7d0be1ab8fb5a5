"""Questions over HTTP, as their document describes them."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import BaseModel, Field

from postroom.doors.asks import tool_words as words
from postroom.doors.guard.json_door import Failure

Status = Literal["open", "answered", "declined", "expired", "cancelled", "superseded"]


class AnswerFileBody(BaseModel):
    upload_id: str = Field(description="Of `GET /v1/uploads/{upload_id}`; a message of the asker's may carry it on.")
    name: str
    media_type: str
    size: int


class AnswerBody(BaseModel):
    value: str | None = Field(description="Of the option that was chosen; approve or deny.")
    text: str | None = Field(description="In the person's own words.")
    selected: list[str] = Field(description="Of several options.")
    fields: dict[str, Any] = Field(description="Of a form.")
    files: list[AnswerFileBody] = Field(default=[], description="What came with it; left out when nothing did.")


class AnsweredByBody(BaseModel):
    person_id: str
    name: str
    channel: str
    assurance: str


class PresentationBody(BaseModel):
    channel: str
    person: str
    status: str
    reason: str | None = None


class OptionBody(BaseModel):
    value: str
    label: str
    description: str | None


class AskedPersonBody(BaseModel):
    person_id: str
    name: str


class AskedBody(BaseModel):
    """What the person reads, and who asks."""

    question: str
    kind: Literal["text", "choice", "approve", "form"]
    context: str | None
    format: Literal["plain", "markdown"] = Field(description="Of the question and its context.")
    options: list[OptionBody]
    multiple: bool
    form: dict[str, Any] | None
    allow_text: bool
    secret: bool
    urgency: str
    asked_by: str
    asked_at: str
    to: list[AskedPersonBody]
    revision: int
    reason: str | None = Field(description="Why it ended, when no person ended it.")


class AskBody(BaseModel):
    status: Status
    ask_id: str
    idempotency_key: str | None
    joined: bool = Field(description="The call made nothing new: the question was there before.")
    answer: AnswerBody | None
    answered_by: AnsweredByBody | None
    answered_at: str | None
    expires_at: str
    presentations: list[PresentationBody]
    state: Any = Field(description="What the asker gave, as it came.")
    next: str = Field(description="What to do now, in a sentence.")
    asked: AskedBody


class AskPage(BaseModel):
    asks: list[AskBody]
    next_cursor: str | None


class AnswersBody(BaseModel):
    answers: list[AskBody]
    cursor: str = Field(description="Where the next page begins.")


class ReusedKey(Failure):
    code: Literal["key_reused"]
    ask_id: str = Field(description="The question the key stands for.")


class EndedFirst(Failure):
    ask: AskBody | None = Field(
        default=None, description="The question as it ended; left out when the key was used for another call."
    )


def _property(annotated: Any) -> dict[str, Any]:
    """The schema that the tool's argument of the same name shows to a model."""
    found: dict[str, Any] = next(one.json_schema for one in annotated.__metadata__ if hasattr(one, "json_schema"))
    return found


_WORDING: Final[dict[str, dict[str, Any]]] = {
    "question": _property(words.QuestionText),
    "context": _property(words.ContextText),
    "format": _property(words.FormatName),
    "options": _property(words.Options),
    "multiple": _property(words.Multiple),
    "form": _property(words.FormSchema),
    "allow_text": _property(words.AllowText),
    "default": _property(words.Default),
    "deadline_seconds": _property(words.Deadline),
}
_ASK: Final = {
    **_WORDING,
    "kind": _property(words.Kind),
    "to": _property(words.To),
    "channels": _property(words.Channels),
    "urgency": _property(words.UrgencyName),
    "preview": _property(words.PreviewName),
    "secret": _property(words.Secret),
    "remind_after_seconds": _property(words.Remind),
    "escalate_to": _property(words.EscalateTo),
    "escalate_after_seconds": _property(words.EscalateAfter),
    "state": _property(words.Opaque),
    "idempotency_key": _property(words.Key),
    "wait_seconds": {"type": "number", "minimum": 0, "maximum": 60, "default": 0},
    "resume": _property(words.Resume),
}
_ANSWER: Final[dict[str, dict[str, Any]]] = {
    "value": {"type": "string"},
    "text": {"type": "string"},
    "selected": {"type": "array", "items": {"type": "string"}},
    "fields": {"type": "object"},
    "declined": {"const": True},
}


def _body(schema: dict[str, Any], *, required: bool = True) -> dict[str, Any]:
    shape = {"type": "object", "additionalProperties": False, **schema}
    return {"requestBody": {"required": required, "content": {"application/json": {"schema": shape}}}}


ASK_REQUEST: Final = _body({"required": ["question"], "properties": _ASK})
REVISE_REQUEST: Final = _body({"minProperties": 1, "properties": _WORDING})
CANCEL_REQUEST: Final = _body({"properties": {"reason": {"type": "string", "maxLength": 500}}}, required=False)
ANSWER_REQUEST: Final = _body({"minProperties": 1, "maxProperties": 1, "properties": _ANSWER})
