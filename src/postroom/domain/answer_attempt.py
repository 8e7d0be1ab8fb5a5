"""One thing a person did about a question, wherever they did it, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from postroom.domain.assurance import Assurance, Flag
from postroom.domain.attachment import Attachment
from postroom.domain.question import Question
from postroom.domain.question_answer import QuestionAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """
    Exactly one of these; a `toggle` ticks or unticks one option and `send` ends the ticking.

    `comment`, `details` and `files` are said beside it: they are kept with the answer and decide nothing.
    """

    value: str | None = None
    text: str | None = None
    selected: tuple[str, ...] | None = None
    fields: Mapping[str, Any] | None = None
    declined: bool = False
    toggle: str | None = None
    send: bool = False
    comment: str | None = None
    details: Mapping[str, Any] | None = None
    files: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """
    `person_id` is whom the channel's own proof names, None when it names no one we know.

    `actor` is the principal behind a token, `operator` the console's. `said_at_us` is the provider's time, when the
    provider dates what it brings. `revision` is the wording the person had before them; without it, the card's.
    """

    id: str
    question_id: str
    channel: str
    provider_event_id: str
    said: Said
    heard_at_us: int
    person_id: str | None = None
    person_name: str = ""
    assurance: Assurance = Assurance.NONE
    actor: str | None = None
    operator: bool = False
    said_at_us: int | None = None
    presentation_id: str | None = None
    revision: int | None = None
    flags: frozenset[Flag] = frozenset()


class VerdictKind(StrEnum):
    ACCEPTED = "accepted"
    NOT_YET = "not_yet"  # ticked, nothing decided
    LATE = "late"
    LOST_RACE = "lost_race"
    INVALID = "invalid"
    UNAUTHORISED = "unauthorised"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`reason` is a sentence for the person who tried; `code` is for programs."""

    kind: VerdictKind
    code: str = ""
    reason: str = ""
    answer: QuestionAnswer | None = None
    declined: bool = False
    toggles: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """The verdict, and the question as it left it; `repeated` when this very event had been heard before."""

    verdict: Verdict
    question: Question
    repeated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAttempt:
    """An attempt as it is kept, with its verdict; of a secret the words are not."""

    attempt: Attempt
    verdict: Verdict
