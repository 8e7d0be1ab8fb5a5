"""A question as the protocol shows a message: the envelope, how it stands, and the response when it has ended."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any, Final

from postroom.domain.question import Question
from postroom.domain.question_answer import BY_DEFAULT, QuestionAnswer
from postroom.domain.question_states import QuestionStatus
from postroom.domain.time import SECOND_US, parse_text, to_text
from postroom.doors.ma2h.envelope import VERSION, Envelope, Verb, stored_envelope
from postroom.doors.ma2h.question import DISMISSED

PREFIX: Final = "msg_"
_STATE: Final = "ma2h"
_BY_EXPIRY: Final = "system:default_on_expire"
_WITHDRAWN: Final = (QuestionStatus.CANCELLED, QuestionStatus.SUPERSEDED)


def kept_state(envelope: Envelope) -> dict[str, Any]:
    """The whole envelope rides as the asker's own state; people never see it."""
    return {_STATE: dict(envelope.document)}


def envelope_of(question: Question) -> Envelope | None:
    """None for a question that came in another way, or is shown to another than its asker."""
    state = question.state
    found = stored_envelope(state.get(_STATE)) if isinstance(state, Mapping) else None
    return found if found is not None and found.verb is not Verb.NOTIFY else None


def message_id(question: Question) -> str:
    return f"{PREFIX}{question.id}"


def resolution_id(key: bytes, question: Question) -> str:
    """The same on every look, and nothing that could be guessed from the message's own id."""
    return f"res_{hmac.new(key, question.id.encode(), hashlib.sha256).hexdigest()[:32]}"


def status_of(question: Question, verb: Verb) -> str:
    match question.status:
        case QuestionStatus.OPEN:
            return "open"
        case QuestionStatus.EXPIRED:
            return "expired"
        case QuestionStatus.ANSWERED | QuestionStatus.DECLINED if verb is Verb.TASK:
            return "completed" if _is_done(question) else "dismissed"
        case QuestionStatus.ANSWERED:
            return "answered"
        case QuestionStatus.DECLINED:
            return "declined"
        case QuestionStatus.CANCELLED | QuestionStatus.SUPERSEDED:
            return "dismissed" if verb is Verb.TASK else "cancelled"


def message_body(question: Question, envelope: Envelope, key: bytes) -> dict[str, Any]:
    shown = {
        **envelope.document,
        "expires_at": _expiry(question, envelope),
        "id": message_id(question),
        "status": status_of(question, envelope.verb),
    }
    return shown if question.is_open else {**shown, "response": _response(question, envelope, key)}


def _expiry(question: Question, envelope: Envelope) -> str:
    """As it was asked for, unless it is another: none was given, or it would have passed while a person slept."""
    asked = envelope.document.get("expires_at")
    near = isinstance(asked, str) and abs(parse_text(asked) - question.expires_at_us) < SECOND_US
    return str(asked) if near else to_text(question.expires_at_us)


def _response(question: Question, envelope: Envelope, key: bytes) -> dict[str, Any]:
    agent = envelope.document["agent"]
    told = {
        "ma2h_version": VERSION,
        "in_reply_to": message_id(question),
        "resolution_id": resolution_id(key, question),
        "agent": {"id": agent["id"], "run_id": agent["run_id"]},
        "resolution": status_of(question, envelope.verb),
        "defaulted": question.answered_by == BY_DEFAULT,
        "response": _detail(question, envelope),
    }
    state = envelope.document.get("state")
    return told if state is None else {**told, "state": state}


def _detail(question: Question, envelope: Envelope) -> dict[str, Any]:
    detail = {
        "edited": False,
        "actor": _actor(question, envelope),
        "resolved_at": to_text(question.ended_at_us or question.expires_at_us),
    }
    answer = question.answer
    if answer is None:
        return {**detail, **_comment(question.reason if question.status in _WITHDRAWN else None)}
    if envelope.verb is Verb.TASK:
        return {**detail, **_comment(answer.text), **answer.fields}
    value = _value(envelope, answer)
    return {**detail, **({} if value is None else {"value": value}), **_comment(answer.text)}


def _value(envelope: Envelope, answer: QuestionAnswer) -> Any:
    if envelope.block["mode"] == "input":
        return dict(answer.fields) or None
    return answer.value


def _comment(text: str | None) -> dict[str, str]:
    return {"comment": text} if text else {}


def _actor(question: Question, envelope: Envelope) -> str:
    """Attested by the household: who acted, never what a payload says."""
    if question.answered_by is not None and question.answered_by != BY_DEFAULT:
        return f"human:{question.answered_by.person_id}"
    return f"agent:{envelope.agent_id}" if question.status in _WITHDRAWN else _BY_EXPIRY


def _is_done(question: Question) -> bool:
    return question.status is QuestionStatus.ANSWERED and (question.answer or QuestionAnswer()).value != DISMISSED
