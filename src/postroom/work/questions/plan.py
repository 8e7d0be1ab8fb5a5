"""What is due when: reminding, escalating, ending."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from postroom.domain.question import Question
from postroom.domain.time import SECOND_US, seconds

CATCH_UP_SECONDS: Final = 60  # how long we wait for what people sent in time and we have not read yet
OUTAGE_SECONDS: Final = 600  # and how long for a channel that was heard before it went away
_LOOK_AGAIN_US: Final = SECOND_US


class QuestionStep(StrEnum):
    REMIND = "remind"
    ESCALATE = "escalate"
    EXPIRE = "expire"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """`caught_up` says of an end whether everything sent before it had been read."""

    steps: tuple[QuestionStep, ...] = ()
    next_at_us: int | None = None
    caught_up: bool = True


def due(question: Question, now_us: int, *, caught_up_until_us: int | None = None, awake_since_us: int = 0) -> Plan:
    """
    What is to be done now, and when to look again.

    `caught_up_until_us`: all that people sent until then has been read; None when nothing can be on its way.
    `awake_since_us`: before that nobody was here to read, so that only since then does patience run out.
    """
    if not question.is_open:
        return Plan()
    if question.expires_at_us <= now_us:
        return _ending(question, now_us, caught_up_until_us, awake_since_us)
    moments, patient_until_us = _moments(question), awake_since_us + seconds(CATCH_UP_SECONDS)
    steps = tuple(step for step, at_us in moments if at_us <= now_us)
    missed = [at_us for _, at_us in moments if at_us < awake_since_us]
    if missed and now_us < patient_until_us and not _has_read(missed[-1], caught_up_until_us):
        return Plan(next_at_us=min(now_us + _LOOK_AGAIN_US, patient_until_us))
    return Plan(steps=steps, next_at_us=min(at_us for _, at_us in moments if at_us > now_us))


def next_at(question: Question) -> int | None:
    """The first moment at which something is due; kept with the question."""
    return min(at_us for _, at_us in _moments(question)) if question.is_open else None


def _moments(question: Question) -> list[tuple[QuestionStep, int]]:
    moments = [(QuestionStep.EXPIRE, question.expires_at_us)]
    if question.remind_after_seconds is not None and question.reminded_at_us is None:
        moments.append((QuestionStep.REMIND, question.created_at_us + seconds(question.remind_after_seconds)))
    if question.escalate_after_seconds is not None and question.escalated_at_us is None:
        moments.append((QuestionStep.ESCALATE, question.created_at_us + seconds(question.escalate_after_seconds)))
    return sorted(moments, key=lambda moment: moment[1])


def _has_read(until_us: int, caught_up_until_us: int | None) -> bool:
    return caught_up_until_us is None or caught_up_until_us >= until_us


def _ending(question: Question, now_us: int, caught_up_until_us: int | None, awake_since_us: int) -> Plan:
    """Not before what was sent in time has been read, and not for ever after."""
    caught_up = _has_read(question.expires_at_us, caught_up_until_us)
    latest = max(question.expires_at_us, awake_since_us) + seconds(CATCH_UP_SECONDS)
    latest = max(latest, (caught_up_until_us or 0) + seconds(OUTAGE_SECONDS))
    if caught_up or now_us >= latest:
        return Plan(steps=(QuestionStep.EXPIRE,), caught_up=caught_up)
    return Plan(next_at_us=min(now_us + _LOOK_AGAIN_US, latest))
