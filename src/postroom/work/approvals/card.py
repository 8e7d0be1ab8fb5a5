"""A parked delivery as a question to the people who may decide it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Final

from postroom.domain.answer_attempt import Attempt, Verdict
from postroom.domain.approval import Action, Content, Ruling
from postroom.domain.approval_question import Bound, bound_of, subject_of
from postroom.domain.errors import FieldError
from postroom.domain.inbox_agent import ASKER
from postroom.domain.is_approval import is_approval
from postroom.domain.principal import OPERATOR, OWNER, Principal, Role
from postroom.domain.question import AskedPerson, Option, Preview, Question, QuestionKind, Wording
from postroom.domain.question_states import APPROVE, DENY
from postroom.domain.readable_text import readable
from postroom.domain.risk_and_urgency import Risk
from postroom.domain.time import SECOND_US
from postroom.work.approvals import ruling
from postroom.work.approvals.links import links_of, rendered
from postroom.work.approvals.shapes import file_line
from postroom.work.approvals.visible import reveal
from postroom.work.questions.opening import opened
from postroom.work.questions.plan import next_at
from postroom.work.questions.request import QuestionRequest
from postroom.work.questions.wording_request import MAX_CONTEXT_CHARACTERS

SEND: Final = Option(value=APPROVE, label="Send")
DO_NOT_SEND: Final = Option(value=DENY, label="Don't send")
_TOO_LONG: Final = "The message is too long to be shown here; open it in the console."


def approval_question(
    action: Action,
    *,
    id: str,
    people: Sequence[AskedPerson],
    channels: Sequence[str] | None,
    now_us: int,
    phone: Risk | None,
) -> Question:
    """Open for as long as the action waits. Where it may be decided on a card, the card shows what is decided."""
    left_seconds = math.ceil((action.expires_at_us - now_us) / SECOND_US)
    request = QuestionRequest(
        wording=_wording(action),
        channels=tuple(channels) if channels else None,
        preview=Preview.FULL if may_decide_outside(action.risk, phone) else Preview.TITLE,
        deadline_seconds=left_seconds,
        state=Bound(content_hash=action.content_hash, risk=action.risk).state(),
        key=_key(action),
    )
    question = opened(request, id=id, asker=ASKER, people=people, subject=subject_of(action.id), now_us=now_us)
    question = replace(question, expires_at_us=action.expires_at_us)
    return replace(question, next_at_us=next_at(question))


def _key(action: Action) -> str:
    """One question for each text that is to be agreed to."""
    return f"approval:{action.id}" + (f":{action.requested_at_us}" if action.revised else "")


def _wording(action: Action) -> Wording:
    """Who wants what from whom, and the message with its hidden characters made visible."""
    content = action.content
    return Wording(
        kind=QuestionKind.APPROVE,
        question=f"Approval needed: {action.origin_butler} wants to {_act(content)} on {content.channel} "
        f"to {reveal(content.address)} ({action.risk} risk).\nAction {action.id}",
        context=_shown(action),
        options=(SEND, DO_NOT_SEND),
        allow_text=False,
    )


def _shown(action: Action) -> str:
    content = action.content
    said = _text(content) or content.emoji or ""
    parts = [content.subject or "", said, _buttons(content), *_misleading(content), _files(content)]
    text = reveal("\n\n".join(part for part in parts if part))
    return text if len(text) <= MAX_CONTEXT_CHARACTERS else _TOO_LONG


def _act(content: Content) -> str:
    return str(content.intent) if content.revises is None else "replace the text of a message it sent"


def _text(content: Content) -> str:
    """Of Markdown, as it reads, with every target beside its words: the console shows how it was written."""
    rich = rendered(content)
    return readable(rich) if rich else content.message


def _buttons(content: Content) -> str:
    return f"Buttons: {content.buttons}" if content.buttons else ""


def _files(content: Content) -> str:
    return "\n".join(f"File: {file_line(one)}" for one in content.attachments)


def _misleading(content: Content) -> list[str]:
    return [f"Careful: “{link.label}” leads to {link.host}." for link in links_of(content) if link.misleading]


def outside_console(phone: Risk | None) -> Callable[[Question], bool]:
    """`phone` is the highest risk that may be decided elsewhere; None allows none."""

    def allowed(question: Question) -> bool:
        if not is_approval(question):
            return True
        bound = bound_of(question)
        return bound is not None and may_decide_outside(bound.risk, phone)

    return allowed


def may_decide_outside(risk: Risk, phone: Risk | None) -> bool:
    return phone is not None and risk.rank <= phone.rank


def ruling_by(approvers: Collection[str]) -> Callable[[Action, Question, Attempt, Verdict], Ruling]:
    """What an answer to the question comes to: the very ruling that the console makes of it."""

    def ruled(action: Action, question: Question, attempt: Attempt, verdict: Verdict) -> Ruling:
        if attempt.person_id != OWNER and attempt.person_id not in approvers:
            return _refused("you may not decide what is sent", "not_an_approver")
        bound = bound_of(question)
        if bound is None or verdict.answer is None:
            return _refused("press Send or Don't send", "not_an_answer")
        actor, now_us, via = actor_of(attempt), attempt.heard_at_us, attempt.channel
        if verdict.answer.value == APPROVE:
            return ruling.approval(
                action,
                actor=actor,
                now_us=now_us,
                seen_hash=bound.content_hash,
                content=action.content,
                via=via,
            )
        reason = f"“{DO_NOT_SEND.label}” on {via}"
        return ruling.rejection(action, actor=actor, now_us=now_us, reason=reason, via=via)

    return ruled


def actor_of(attempt: Attempt) -> str:
    """The principal under which the person is known everywhere else."""
    if attempt.operator:
        return str(OPERATOR)
    return attempt.actor or str(Principal(Role.PERSON, attempt.person_id or ""))


def _refused(error: str, code: str) -> Ruling:
    return Ruling(refusal=FieldError("action_id", error, code))
