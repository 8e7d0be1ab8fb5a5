"""Where a person is shown a question, on each of their channels or why not; and what is due when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from postroom.kernel.values.errors import FieldError, ValidationError
from postroom.kernel.values.fields import did_you_mean
from postroom.kernel.values.ids import SECOND_US, seconds
from postroom.kernel.values.moments import Due, Reason
from postroom.people.model import Person
from postroom.questions.model import (
    BY_DEFAULT,
    Added,
    AskedPerson,
    PlannedPresentation,
    Question,
    QuestionChange,
    QuestionEventType,
    QuestionMove,
    Resume,
    Subject,
    Wording,
    after,
    ended,
)
from postroom.questions.rules.judge import CONSOLE, PRIVATE
from postroom.questions.rules.request import QuestionRequest, fingerprint

_NO_CHANNEL: Final = "no channel is set up; the question waits in the console"
GONE: Final = "this person is no longer known"


# ---- where ----


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelAbility:
    """
    What a card on this channel can have; `configured` when there are credentials for it.

    `most_buttons`: how many at the most. `replies`: words can be written back there, beside what is pressed.
    `opens`: a press beside the buttons opens a page.
    """

    buttons: bool = False
    most_buttons: int | None = None
    edits: bool = False
    inbound: bool = False
    replies: bool = True
    threads: bool = False
    opens: bool = False
    configured: bool = True


Channels = Mapping[str, ChannelAbility]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """
    When a question comes to a person's further channels, as long as no one has answered.

    `steps` are the person's own wish: channels, each so long after the one before; the others follow them.
    """

    seconds: float
    steps: Sequence[tuple[str | None, float]] = ()

    def after(self, channels: Sequence[str]) -> dict[str, float]:
        """Of these, the first of which is shown at once."""
        found, passed = dict.fromkeys(channels[:1], 0.0), 0.0
        for channel, gap in self.steps:
            passed += gap
            if channel is not None and channel in channels:
                found.setdefault(channel, passed)
        for channel in channels:
            if channel not in found:
                passed += self.seconds
                found[channel] = passed
        return found

    def gap(self, channel: str) -> float:
        """How long the one before it has the person's attention to itself."""
        return next((gap for name, gap in self.steps if name == channel), self.seconds)


_ALL_AT_ONCE: Final = Turns(seconds=0)


def refuse_unknown_channels(wished: Sequence[str] | None, channels: Channels) -> None:
    """Raises ValidationError on `channels`; console and desk are always there."""
    known = {*channels, *PRIVATE}
    for name in wished or ():
        if name not in known:
            error = f"there is no channel “{name}”{did_you_mean(name, known)}"
            raise ValidationError.of([FieldError("channels", error, "unknown_channel")])


def places(
    person: Person, wished: Sequence[str] | None, channels: Channels, turns: Turns = _ALL_AT_ONCE
) -> list[PlannedPresentation]:
    """
    One for each channel: on those that were named at once, on the person's own one after the other.

    Console and desk need no card: whatever is open is seen there.
    """
    if wished is not None:
        return [_place(person, name, channels) for name in wished if name not in PRIVATE]
    own = list(dict.fromkeys(one.channel for one in sorted(person.addresses, key=lambda one: one.rank)))
    names = own or [name for name, ability in channels.items() if ability.configured]
    found = [_place(person, name, channels) for name in names] or [nowhere(person.id, _NO_CHANNEL)]
    after = turns.after([one.channel for one in found if one.failure is None])
    return [replace(one, after_seconds=after.get(one.channel, 0)) for one in found]


def nowhere(person_id: str, reason: str) -> PlannedPresentation:
    return PlannedPresentation(person_id=person_id, channel=CONSOLE, address="", failure=reason)


def _place(person: Person, channel: str, channels: Channels) -> PlannedPresentation:
    address, ability = person.address_on(channel), channels.get(channel)
    failure = None
    if ability is None or not ability.configured:
        failure = f"{channel} is not set up"
    elif address is None:
        failure = f"no address on {channel}"
    return PlannedPresentation(person_id=person.id, channel=channel, address=address or "", failure=failure)


# ---- when: reminding, escalating, ending ----


def question_moments(question: Question) -> dict[Reason, int]:
    """What is due of it by itself, and when; nothing of what has ended."""
    if not question.is_open:
        return {}
    found = {Reason.REMIND: remind_at(question), Reason.ESCALATE: escalate_at(question)}
    return {Reason.EXPIRE: question.expires_at_us} | {why: at_us for why, at_us in found.items() if at_us is not None}


def is_due(question: Question, due: Due) -> bool:
    """Still: it may have changed since that was found. Of what is over nobody is reminded any more."""
    at_us = question_moments(question).get(due.reason)
    is_over = question.expires_at_us <= due.now_us and due.reason is not Reason.EXPIRE
    return at_us is not None and at_us <= due.now_us and not is_over


def later_moment(question: Question, due: Due) -> int | None:
    """When it is due instead, if it was found too early."""
    at_us = question_moments(question).get(due.reason)
    return at_us if at_us is not None and at_us > due.now_us else None


def remind_at(question: Question) -> int | None:
    """None when there is no reminder, or none any more."""
    if question.remind_after_seconds is None or question.reminded_at_us is not None:
        return None
    return question.created_at_us + seconds(question.remind_after_seconds)


def escalate_at(question: Question) -> int | None:
    if question.escalate_after_seconds is None or question.escalated_at_us is not None:
        return None
    return question.created_at_us + seconds(question.escalate_after_seconds)


# Every change of a question that is not a person's answer; each leaves one that has ended as it is.


NOT_CAUGHT_UP: Final = "not everything that was sent before the deadline could be read"


def opened(
    request: QuestionRequest,
    *,
    id: str,
    asker: str,
    people: Sequence[AskedPerson],
    escalate_to: Sequence[AskedPerson] = (),
    resume: Resume | None = None,
    subject: Subject | None = None,
    now_us: int,
) -> Question:
    """`people` are those whom `to` names, found and fixed here: they, and those added later, may answer."""
    mark = fingerprint(request.wording, (person.id for person in people))
    return Question(
        id=id,
        asker=asker,
        key=request.key,
        fingerprint=mark,
        wording=request.wording,
        people=tuple({person.id: person for person in people}.values()),
        revision_hash=mark,
        channels=request.channels,
        urgency=request.urgency,
        preview=request.preview,
        state=request.state,
        remind_after_seconds=request.remind_after_seconds,
        escalate_to=tuple(replace(person, added=Added.ESCALATED) for person in escalate_to),
        escalate_after_seconds=request.escalate_after_seconds,
        resume=resume,
        subject=subject,
        created_at_us=now_us,
        expires_at_us=request.expires_at_us or now_us + seconds(request.deadline_seconds),
    )


def revised(question: Question, wording: Wording, *, expires_at_us: int | None = None, now_us: int) -> QuestionChange:
    """Another wording, or only another deadline; whatever was shown before no longer counts when the words differ."""
    if not question.is_open:
        return QuestionChange(question=question)
    mark = fingerprint(wording, (person.id for person in question.people if person.added is Added.ASKED))
    same = mark == question.revision_hash
    new = replace(question, wording=wording, revision_hash=mark, expires_at_us=expires_at_us or question.expires_at_us)
    new = replace(new, revision=question.revision + (0 if same else 1))
    if new == question:
        return QuestionChange(question=question)
    after(question.status, QuestionMove.REVISE)
    return _noted(new, QuestionEventType.REVISED, now_us)


def reminded(question: Question, *, now_us: int) -> QuestionChange:
    if not question.is_open or question.reminded_at_us is not None:
        return QuestionChange(question=question)
    return _noted(replace(question, reminded_at_us=now_us), QuestionEventType.REMINDED, now_us)


def escalated(question: Question, *, now_us: int) -> QuestionChange:
    """More people may answer; those who were asked still may."""
    if not question.is_open or question.escalated_at_us is not None:
        return QuestionChange(question=question)
    more = tuple(person for person in question.escalate_to if not question.asks(person.id))
    new = replace(question, people=question.people + more, escalated_at_us=now_us)
    return _noted(new, QuestionEventType.ESCALATED, now_us)


def postponed(question: Question, step: Reason, *, until_us: int) -> QuestionChange:
    """It is quiet for those whom the step is about; no line in the feed, since nothing has happened."""
    after_seconds = -((question.created_at_us - until_us) // SECOND_US)  # a whole second, and never too early
    if not question.is_open or until_us <= question.created_at_us:
        return QuestionChange(question=question)
    if step is Reason.REMIND:
        return QuestionChange(question=replace(question, remind_after_seconds=after_seconds))
    return QuestionChange(question=replace(question, escalate_after_seconds=after_seconds))


def retimed(
    question: Question,
    seen: Question,
    *,
    expires_at_us: int,
    remind_at_us: int | None,
    escalate_at_us: int | None,
    reckoned_by: int,
) -> QuestionChange:
    """By other quiet hours, unless another process was first, or they have been changed since they were `seen`."""
    same = question.reckoned_by == seen.reckoned_by and question_moments(question) == question_moments(seen)
    if not question.is_open or not same:
        return QuestionChange(question=question)
    later = replace(
        question,
        expires_at_us=expires_at_us,
        reckoned_by=reckoned_by,
        remind_after_seconds=_after(question, remind_at_us, question.remind_after_seconds),
        escalate_after_seconds=_after(question, escalate_at_us, question.escalate_after_seconds),
    )
    return QuestionChange(question=later)


def _after(question: Question, at_us: int | None, otherwise: int | None) -> int | None:
    """In whole seconds, and never too early."""
    return otherwise if at_us is None else max(0, -((question.created_at_us - at_us) // SECOND_US))


def expired(question: Question, *, caught_up: bool, now_us: int) -> QuestionChange:
    """With the default as its answer, if there is one; no person acted, and it says so."""
    default = question.wording.default
    return _ended(
        question,
        QuestionMove.EXPIRE,
        now_us,
        answer=default,
        answered_by=BY_DEFAULT if default else None,
        reason=None if caught_up else NOT_CAUGHT_UP,
    )


def cancelled(question: Question, *, reason: str | None, now_us: int) -> QuestionChange:
    return _ended(question, QuestionMove.CANCEL, now_us, reason=reason)


def taken(question: Question, due: Due) -> QuestionChange:
    """Planned again under the lock: an answer may have come meanwhile, or another deadline."""
    if is_due(question, due):
        match due.reason:
            case Reason.REMIND:
                return reminded(question, now_us=due.now_us)
            case Reason.ESCALATE:
                return escalated(question, now_us=due.now_us)
            case Reason.EXPIRE:
                return expired(question, caught_up=due.caught_up, now_us=due.now_us)
    return QuestionChange(question=question)


def _ended(question: Question, move: QuestionMove, now_us: int, **changes: object) -> QuestionChange:
    if not question.is_open:
        return QuestionChange(question=question)
    return ended(question, move, now_us, **changes)


def _noted(question: Question, event: QuestionEventType, now_us: int) -> QuestionChange:
    return QuestionChange(question=question, event=event, at_us=now_us)
