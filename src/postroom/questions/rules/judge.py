"""Who may answer, and what counts: one attempt to answer, judged; pure, total, and the same for every channel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from postroom.kernel.values.principal import Principal, Role, person_id_of
from postroom.message.inbound import Assurance, Flag
from postroom.questions.model import (
    Attempt,
    Presentation,
    Question,
    QuestionAnswer,
    QuestionStatus,
    Said,
    Verdict,
    VerdictKind,
    is_permission,
)
from postroom.questions.rules.reading import Reading, read

CONSOLE: Final = "console"
_DESK: Final = "desk"
PRIVATE: Final = frozenset({CONSOLE, _DESK})  # where a secret may be said
NOT_AN_ANSWER: Final = "not_an_answer"
UNSURE: Final = "assurance"  # the code of an attempt that proves too little about who made it
_PERSONS_OWN: Final = (Role.PERSON, Role.USER)
_UNKNOWN: Final = (
    "this sender is not verified. Ask the household's owner for a code (postroom pair NAME --channel CHANNEL), "
    "send it to me alone, as /pair CODE, and press again"
)


def anywhere(_question: Question) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPolicy:
    """
    `operators`: the console's operator may answer what others were asked.

    `outside_console`: whether this question may be decided elsewhere; of an approval, by its risk.
    """

    operators: bool = True
    outside_console: Callable[[Question], bool] = anywhere


def judge(
    question: Question,
    attempt: Attempt,
    now_us: int,
    shown: Presentation | None = None,
    policy: AnswerPolicy = AnswerPolicy(),  # noqa: B008  # frozen
) -> Verdict:
    return refused(question, attempt, now_us, policy) or _answered(question, attempt, shown)


def may_answer(who: Principal, question: Question, now_us: int) -> bool:
    """In the console; declining is open to all who may answer, so it stands for any answer."""
    person_id, is_operator = person_id_of(who), who.role is Role.OPERATOR
    attempt = Attempt(
        id="",
        question_id=question.id,
        channel=CONSOLE,
        provider_event_id="",
        said=Said(declined=True),
        heard_at_us=now_us,
        person_id=person_id,
        assurance=Assurance.SIGNED_IN if person_id else Assurance.NONE,
        actor=None if is_operator else str(who),
        operator=is_operator,
    )
    heard = judge(question, attempt, now_us).kind
    return heard is VerdictKind.ACCEPTED or (heard is VerdictKind.INVALID and not question.wording.may_decline)


def refused(question: Question, attempt: Attempt, now_us: int, policy: AnswerPolicy) -> Verdict | None:
    """
    Why this person cannot answer it there and now, whatever they say.

    Who it is comes first: one who may not answer learns nothing about the question.
    """
    return (
        _refused_person(question, attempt, policy)
        or _too_late(question, attempt, now_us)
        or _other_wording(question, attempt)
        or _refused_place(question, attempt, policy)
    )


def _refused_person(question: Question, attempt: Attempt, policy: AnswerPolicy) -> Verdict | None:
    if attempt.flags == {Flag.UNVERIFIED}:
        return _unauthorised(
            "unverified", "it is not proved that this came from you; please use the link in the message or the console"
        )
    if attempt.flags:
        return _unauthorised(str(min(attempt.flags)), "forwarded, automatic and anonymous messages are not answers")
    if attempt.person_id is None or attempt.assurance is Assurance.NONE:
        return _unauthorised("unknown_person", _UNKNOWN)
    if question.asker in _names_of(attempt):
        return _unauthorised("asker", "whoever asks does not answer")
    if not question.asks(attempt.person_id) and not (attempt.operator and policy.operators):
        return _unauthorised("not_asked", "this question is for another person")
    return None


def _names_of(attempt: Attempt) -> set[str | None]:
    """Every principal that this person could have asked as."""
    own = {str(Principal(role, attempt.person_id or "")) for role in _PERSONS_OWN}
    return {attempt.actor, *own} - {None}


def _too_late(question: Question, attempt: Attempt, now_us: int) -> Verdict | None:
    """A text that the provider dates counts from when it was sent, as long as nothing else ended the question."""
    match question.status:
        case QuestionStatus.OPEN:
            return _out_of_time(question, attempt, now_us)
        case QuestionStatus.ANSWERED | QuestionStatus.DECLINED:
            name = question.answered_by.name if question.answered_by else ""
            return _verdict(VerdictKind.LOST_RACE, str(question.status), f"{name or 'another person'} was first")
        case QuestionStatus.EXPIRED:
            return _verdict(VerdictKind.LATE, "expired", "the time for an answer is over")
        case QuestionStatus.CANCELLED:
            return _verdict(VerdictKind.LATE, "cancelled", "the question was taken back")
        case QuestionStatus.SUPERSEDED:
            return _verdict(VerdictKind.LATE, "superseded", "another question took its place")


def _out_of_time(question: Question, attempt: Attempt, now_us: int) -> Verdict | None:
    said_us = attempt.said_at_us if attempt.said_at_us is not None else now_us
    if min(said_us, now_us) > question.expires_at_us:
        return _verdict(VerdictKind.LATE, "deadline", "the time for an answer is over")
    return None


def _other_wording(question: Question, attempt: Attempt) -> Verdict | None:
    if attempt.revision is None or attempt.revision == question.revision:
        return None
    return _verdict(VerdictKind.INVALID, "old_revision", "the question has changed; please look at it again")


def _refused_place(question: Question, attempt: Attempt, policy: AnswerPolicy) -> Verdict | None:
    if question.wording.secret and attempt.channel not in PRIVATE:
        return _unauthorised("secret", "answer this in the console or at the desk")
    if attempt.channel == CONSOLE:
        return None
    if not policy.outside_console(question):
        return _unauthorised("console_only", "decide this in the console")
    if is_permission(question.wording) and attempt.assurance.rank < Assurance.CHANNEL.rank:
        return _unauthorised(UNSURE, "this sender is not certain enough to decide; open the console")
    return None


def _answered(question: Question, attempt: Attempt, shown: Presentation | None) -> Verdict:
    said, wording = attempt.said, question.wording
    ticked = shown.toggles if shown else ()
    if said.toggle is not None:
        return _toggled(question, said.toggle, ticked)
    if said.send and not ticked:
        return _verdict(VerdictKind.INVALID, "nothing_selected", "choose at least one first")
    reading = read(wording, Said(selected=ticked) if said.send else said)
    if reading.problem is not None:
        return _verdict(VerdictKind.INVALID, NOT_AN_ANSWER, reading.problem)
    return Verdict(kind=VerdictKind.ACCEPTED, answer=_with_comment(reading, said), declined=reading.declined)


def _with_comment(reading: Reading, said: Said) -> QuestionAnswer | None:
    """What was said beside the answer stands where the answer itself says nothing."""
    files = () if reading.declined else said.files
    if said.comment is None and said.details is None and not files:
        return reading.answer
    answer = reading.answer or QuestionAnswer()
    text = answer.text or said.comment or answer.text
    return replace(answer, text=text, fields=answer.fields or said.details or {}, files=files)


def _toggled(question: Question, value: str, ticked: tuple[str, ...]) -> Verdict:
    """In the order of the options, however they were pressed."""
    known = [option.value for option in question.wording.options]
    if not question.wording.multiple or value not in known:
        return _verdict(VerdictKind.INVALID, NOT_AN_ANSWER, "there is no such option")
    chosen = set(ticked) ^ {value}
    return Verdict(kind=VerdictKind.NOT_YET, toggles=tuple(one for one in known if one in chosen))


def _unauthorised(code: str, reason: str) -> Verdict:
    return _verdict(VerdictKind.UNAUTHORISED, code, reason)


def _verdict(kind: VerdictKind, code: str, reason: str) -> Verdict:
    return Verdict(kind=kind, code=code, reason=reason)
