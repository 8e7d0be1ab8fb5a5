"""A parked delivery as a question to the people who may decide it, and as every door shows it to them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Final

from postroom.approvals import rules
from postroom.approvals.model import (
    CONSOLE,
    Action,
    Bound,
    Content,
    Ruling,
    ShownAction,
    bound_of,
    subject_of,
)
from postroom.approvals.rules import ApprovalPolicy, links_of, rendered
from postroom.approvals.store.approvals import StoredApprovals
from postroom.delivery.files.kinds import is_dangerous
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Signal
from postroom.kernel.text.rich import readable
from postroom.kernel.text.visible import reveal
from postroom.kernel.values.errors import FieldError
from postroom.kernel.values.ids import SECOND_US, seconds
from postroom.kernel.values.principal import OPERATOR, OWNER, Principal, Role
from postroom.message.attachment import Attachment, size_words
from postroom.message.outgoing import ASKER
from postroom.message.wishes import APPROVE, DENY, Risk
from postroom.people.model import Person
from postroom.questions.asked_people import AskedPeople, asked
from postroom.questions.model import (
    AskedPerson,
    Attempt,
    Option,
    Preview,
    Question,
    QuestionKind,
    Verdict,
    Wording,
    is_approval,
)
from postroom.questions.rules.plan import opened
from postroom.questions.rules.request import MAX_CONTEXT_CHARACTERS, QuestionRequest

_SEND: Final = Option(value=APPROVE, label="Send")
_DO_NOT_SEND: Final = Option(value=DENY, label="Don't send")
_TOO_LONG: Final = "The message is too long to be shown here; open it in the console."
_ASK_BATCH: Final = 20


# ---- the question ----


def approval_question(
    action: Action,
    *,
    id: str,
    people: Sequence[AskedPerson],
    channels: Sequence[str],
    now_us: int,
    phone: Risk | None,
) -> Question:
    """Open for as long as the action waits. Where it may be decided on a card, the card shows what is decided."""
    left_seconds = math.ceil((action.expires_at_us - now_us) / SECOND_US)
    request = QuestionRequest(
        wording=_wording(action),
        channels=tuple(channels),
        preview=Preview.FULL if _may_decide_outside(action.risk, phone) else Preview.TITLE,
        deadline_seconds=left_seconds,
        state=Bound(content_hash=action.content_hash, risk=action.risk).state(),
        key=_key(action),
    )
    question = opened(request, id=id, asker=ASKER, people=people, subject=subject_of(action.id), now_us=now_us)
    return replace(question, expires_at_us=action.expires_at_us)


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
        options=(_SEND, _DO_NOT_SEND),
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


def ruling_by(approvers: Collection[str]) -> Callable[[Action, Question, Attempt, Verdict], Ruling]:
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


# ---- asking about what is new, and ending what no one decided in time ----


@dataclass(frozen=True, slots=True, kw_only=True)
class Deciders:
    """The owner and, with them, the approvers who are trusted: a card to others would wait for an approval itself."""

    people: AskedPeople
    approvers: Collection[str]
    channels: Collection[str]
    named: str = ""  # the one channel that the settings want

    async def found(self, *, owner_only: bool) -> tuple[Sequence[AskedPerson], Sequence[str]]:
        """The owner first; and on which channels they are shown the card."""
        owner = await self.people.owner()
        others = [] if owner_only else [one for name in sorted(self.approvers) for one in await self.people.find(name)]
        everyone = {one.id: one for one in [owner, *(one for one in others if one.trusted)]}
        firsts = [channel for one in everyone.values() if (channel := self._first(one))]
        return [asked(one) for one in everyone.values()], list(dict.fromkeys(firsts)) or [CONSOLE]

    def _first(self, person: Person) -> str | None:
        own = (one.channel for one in sorted(person.addresses, key=lambda one: one.rank))
        return next((name for name in own if name in self.channels and self.named in ("", name)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """`deciders` None asks no one: what waits is seen in the console and listed by the tools."""

    record: StoredApprovals
    policy: ApprovalPolicy
    clock: Clock
    mint: Callable[[int], str]
    asked: Callable[[], None]  # wakes whoever shows the cards
    deciders: Deciders | None = None
    signal: Signal = field(default_factory=Signal)

    async def look(self) -> int:
        """One round; returns when the next one is due, unless the signal rings before."""
        await self.record.expire(self.clock.now_us())
        await self.ask()
        return self.clock.now_us() + seconds(self.policy.sweep_seconds)

    async def ask(self) -> None:
        """Once for each action; what a process that died has left is taken up by the next one."""
        if self.deciders is None:
            return
        while waiting := await self.record.unasked(_ASK_BATCH):
            for action in waiting:
                await self._ask(action, self.deciders)
            self.asked()
            if len(waiting) < _ASK_BATCH:
                return

    async def _ask(self, action: Action, deciders: Deciders) -> None:
        """A card that waits for an approval itself is shown to the owner alone, who needs none."""
        now_us = self.clock.now_us()
        if action.expires_at_us <= now_us:
            await self.record.asked(action.id, now_us)
            return
        people, channels = await deciders.found(owner_only=action.origin_butler == ASKER)
        question = approval_question(
            action,
            id=self.mint(now_us),
            people=people,
            channels=channels,
            now_us=now_us,
            phone=self.policy.phone,
        )
        await self.record.ask(question, action.id, now_us)
