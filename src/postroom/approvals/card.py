"""A parked delivery as a question to the people who may decide it, and its files as every door shows them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, replace
from typing import Final

from postroom.approvals import rules
from postroom.approvals.model import (
    Action,
    Bound,
    Content,
    DecisionRule,
    Parking,
    Ruling,
    ShownAction,
    bound_of,
    content_of,
)
from postroom.approvals.rules import links_of, rendered
from postroom.delivery.files.kinds import is_dangerous
from postroom.delivery.model import NewDelivery
from postroom.kernel.text.rich import readable
from postroom.kernel.text.visible import reveal
from postroom.kernel.values.errors import FieldError
from postroom.kernel.values.ids import SECOND_US
from postroom.kernel.values.principal import OPERATOR, OWNER, Principal, Role
from postroom.message.attachment import Attachment, size_words
from postroom.message.outgoing import ASKER, known_as
from postroom.message.wishes import APPROVE, DENY, Risk
from postroom.questions.model import (
    Attempt,
    Option,
    Preview,
    Question,
    QuestionKind,
    Subject,
    SubjectKind,
    Verdict,
    Wording,
    is_approval,
)
from postroom.questions.rules.plan import opened
from postroom.questions.rules.request import MAX_CONTEXT_CHARACTERS, QuestionRequest

_SEND: Final = Option(value=APPROVE, label="Send")
_DO_NOT_SEND: Final = Option(value=DENY, label="Don't send")
_TOO_LONG: Final = "The message is too long to be shown here; open it in the console."


# ---- the question ----


def approval_question(new: NewDelivery, parking: Parking, *, id: str, now_us: int, again: bool) -> Question:
    """
    Open for as long as it waits. Where it may be decided on a card, the card shows what is decided.

    `again`: it has been worded anew, and each text is a question of its own.
    """
    content = content_of(new)
    request = QuestionRequest(
        wording=_wording(new, content, parking.risk),
        channels=tuple(parking.channels),
        preview=Preview.FULL if _may_decide_outside(parking.risk, parking.phone) else Preview.TITLE,
        deadline_seconds=math.ceil((parking.expires_at_us - now_us) / SECOND_US),
        state=Bound(content_hash=content.hash, risk=parking.risk).state(),
        key=f"approval:{new.id}:{now_us}" if again else f"approval:{new.id}",
    )
    subject = Subject(SubjectKind.APPROVAL, new.id)
    question = opened(request, id=id, asker=ASKER, people=parking.people, subject=subject, now_us=now_us)
    return replace(question, expires_at_us=parking.expires_at_us)


def _wording(new: NewDelivery, content: Content, risk: Risk) -> Wording:
    """Who wants what from whom, and the message with its hidden characters made visible."""
    return Wording(
        kind=QuestionKind.APPROVE,
        question=f"Approval needed: {known_as(new.agent)} wants to {_act(content)} on {content.channel} "
        f"to {reveal(content.address)} ({risk} risk).",
        context=_shown(content),
        options=(_SEND, _DO_NOT_SEND),
        allow_text=False,
    )


def _shown(content: Content) -> str:
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
    return "\n".join(f"File: {_file_line(one)}" for one in content.attachments)


def _misleading(content: Content) -> list[str]:
    return [f"Careful: “{link.label}” leads to {link.host}." for link in links_of(content) if link.misleading]


# ---- what its answer comes to ----


def outside_console(phone: Risk | None) -> Callable[[Question], bool]:
    """`phone` is the highest risk that may be decided elsewhere; None allows none."""

    def allowed(question: Question) -> bool:
        if not is_approval(question):
            return True
        bound = bound_of(question)
        return bound is not None and _may_decide_outside(bound.risk, phone)

    return allowed


def _may_decide_outside(risk: Risk, phone: Risk | None) -> bool:
    return phone is not None and risk.rank <= phone.rank


def ruling_by(approvers: Collection[str]) -> DecisionRule:
    """What an answer to the question comes to: the very ruling that the console makes of it."""

    def ruled(action: Action, question: Question, attempt: Attempt, verdict: Verdict) -> Ruling:
        if attempt.person_id != OWNER and attempt.person_id not in approvers:
            return _refused("you may not decide what is sent", "not_an_approver")
        bound = bound_of(question)
        if bound is None or verdict.answer is None:
            return _refused("press Send or Don't send", "not_an_answer")
        actor, now_us, via = _actor_of(attempt), attempt.heard_at_us, attempt.channel
        if verdict.answer.value == APPROVE:
            return rules.approval(
                action,
                actor=actor,
                now_us=now_us,
                seen_hash=bound.content_hash,
                content=action.content,
                via=via,
            )
        reason = f"“{_DO_NOT_SEND.label}” on {via}"
        return rules.rejection(action, actor=actor, now_us=now_us, reason=reason, via=via)

    return ruled


def _actor_of(attempt: Attempt) -> str:
    """The principal under which the person is known everywhere else."""
    if attempt.operator:
        return str(OPERATOR)
    return attempt.actor or str(Principal(Role.PERSON, attempt.person_id or ""))


def _refused(error: str, code: str) -> Ruling:
    return Ruling(refusal=FieldError("action_id", error, code))


# ---- its files as they are shown ----


def _file_line(one: Attachment) -> str:
    """Name, size, type and the beginning of the hash: enough to tell it from another."""
    return f"{reveal(one.name)} ({size_words(one.size)}, {one.media_type}, SHA-256 {one.sha256[:16]}…)"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedFile:
    name: str
    visible_name: str
    size: int
    media_type: str
    sha256: str
    needs_approval: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFile(AttachedFile):
    preview: str


def attached_files(content: Content) -> list[AttachedFile]:
    return [
        AttachedFile(
            name=one.name,
            visible_name=reveal(one.name),
            size=one.size,
            media_type=one.media_type,
            sha256=one.sha256,
            needs_approval=is_dangerous(one.media_type, one.name),
        )
        for one in content.attachments
    ]


def shown_files(shown: ShownAction) -> list[ShownFile]:
    files = attached_files(shown.action.content)
    return [ShownFile(**asdict(one), preview=reveal(shown.previews.get(one.sha256, ""))) for one in files]
