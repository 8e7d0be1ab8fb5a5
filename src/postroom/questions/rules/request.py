"""A question as it was asked, or asked otherwise: what fits together, and what makes two of them the same."""

from __future__ import annotations

import hashlib
import json
import math
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from postroom.kernel.values.errors import Code, FieldError, OverloadRejected, ValidationError
from postroom.kernel.values.fields import text_problem
from postroom.message.delivery import Format
from postroom.message.wire import MAX_MARKDOWN_CHARACTERS
from postroom.message.wishes import DENY, Urgency
from postroom.questions.model import (
    APPROVE_OPTIONS,
    Option,
    Preview,
    QuestionAnswer,
    QuestionKind,
    Said,
    Wording,
    wording_object,
)
from postroom.questions.rules.form import form_problems
from postroom.questions.rules.reading import Reading, read, visible

MAX_CONTEXT_CHARACTERS: Final = 24_000
MIN_DEADLINE_SECONDS: Final = 30
MAX_DEADLINE_SECONDS: Final = 30 * 86_400
DEFAULT_DEADLINE_SECONDS: Final = 86_400
_TRY_AGAIN_SECONDS: Final = 60.0


class KeyReused(ValidationError):
    """The caller's key stands for another question."""

    def __init__(self, ask_id: str) -> None:
        told = FieldError("idempotency_key", f"was already used for another question, {ask_id}", "key_reused")
        super().__init__(f"{told.field}: {told.error}", fields=[told])
        self.ask_id = ask_id


class TooManyOpen(OverloadRejected):
    """The asker waits for more answers than people can give."""

    def __init__(self) -> None:
        told = (
            "too many of your questions are open: wait for answers, or cancel some that nobody needs to answer any more"
        )
        super().__init__(told, limit_type="open_questions", retry_after_seconds=_TRY_AGAIN_SECONDS)
        self.code = Code.TOO_MANY_OPEN


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeWish:
    prompt: str
    butler: str | None = None  # None is the one that asks
    material: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionRequest:
    """What is to be asked; `to` and `escalate_to` as the caller named them, and nobody means the owner."""

    wording: Wording
    to: tuple[str, ...] = ()
    channels: tuple[str, ...] | None = None
    urgency: Urgency = Urgency.NORMAL
    preview: Preview = Preview.FULL
    deadline_seconds: int = DEFAULT_DEADLINE_SECONDS
    remind_after_seconds: int | None = None
    escalate_to: tuple[str, ...] = ()
    escalate_after_seconds: int | None = None
    state: Any = None
    key: str | None = None
    resume: ResumeWish | None = None
    expires_at_us: int | None = None  # of protocols that name the moment; it goes before `deadline_seconds`


@dataclass(frozen=True, slots=True, kw_only=True)
class WordsGiven:
    """The part of it that people see, each thing right by itself; what is None was not given."""

    question: str | None = None
    context: str | None = None
    format: Format | None = None
    options: tuple[Option, ...] | None = None
    multiple: bool | None = None
    form: Mapping[str, Any] | None = None
    allow_text: bool | None = None
    default: object = None  # of any form in which a person could answer
    deadline_seconds: float | None = None

    @property
    def whole_seconds(self) -> int | None:
        return None if self.deadline_seconds is None else math.ceil(self.deadline_seconds)

    def asked(self, kind: QuestionKind | None, *, secret: bool) -> tuple[Wording, list[FieldError]]:
        """
        Of a new question. It is worth something only when nothing is wrong.

        A question with options and no kind is a choice, one with a form a form: that is what was meant.
        """
        meant = QuestionKind.CHOICE if self.options else QuestionKind.FORM if self.form is not None else None
        blank = Wording(kind=kind or meant or QuestionKind.TEXT, question="", secret=secret)
        return _checked(self._said_in(blank, options=self.options or ()), self.default)

    def revised(self, before: Wording) -> Wording:
        """What is not given stays. Raises ValidationError."""
        default = _as_given(before.default) if self.default is None else self.default
        options = before.options if before.kind is QuestionKind.CHOICE else ()
        options = options if self.options is None else self.options
        wording, found = _checked(self._said_in(before, options=options), default)
        if found:
            raise ValidationError.of(found)
        return replace(wording, options=before.options) if before.kind is QuestionKind.APPROVE else wording

    def _said_in(self, wording: Wording, options: tuple[Option, ...]) -> Wording:
        return replace(
            wording,
            question=wording.question if self.question is None else self.question,
            context=wording.context if self.context is None else self.context or None,
            format=self.format or wording.format,
            options=options,
            multiple=wording.multiple if self.multiple is None else self.multiple,
            form=wording.form if self.form is None else self.form,
            allow_text=wording.allow_text if self.allow_text is None else self.allow_text,
            default=None,
        )


# ---- what fits together ----


def _checked(wording: Wording, default: object) -> tuple[Wording, list[FieldError]]:
    found: list[FieldError] = []

    def complain(field: str, error: str, code: str = "not_allowed") -> None:
        found.append(FieldError(field, error, code))

    if wording.format is Format.MARKDOWN and len(wording.context or "") > MAX_MARKDOWN_CHARACTERS:
        complain("context", f"must have at most {MAX_MARKDOWN_CHARACTERS} characters", "too_long")
    if wording.multiple and wording.kind is not QuestionKind.CHOICE:
        complain("multiple", "is only for a choice")
    answers = [*_option_problems(wording), *_form_problems(wording)]
    found += answers
    if wording.kind is QuestionKind.APPROVE:
        wording = replace(wording, options=APPROVE_OPTIONS)
    if default is None or answers:  # what it would have to be is not known
        return wording, found
    if wording.secret:
        complain("default", "a secret has none")
    elif wording.kind is QuestionKind.APPROVE and default != DENY:
        complain("default", f'may only be "{DENY}": silence never approves')
    else:
        reading = _default_reading(wording, default)
        if reading.answer is None:
            complain("default", f"is not a possible answer: {reading.problem}")
        wording = replace(wording, default=reading.answer)
    return wording, found


def _option_problems(wording: Wording) -> list[FieldError]:
    """Two that look the same cannot be told apart by the person who presses one of them."""
    options = wording.options
    if wording.kind is not QuestionKind.CHOICE:
        return [FieldError("options", "are only for a choice", "not_allowed")] if options else []
    if not options:
        return [FieldError("options", "is required", "required")]
    found = [
        FieldError(f"options.{place}.label", "must have something that can be seen", "blank")
        for place, one in enumerate(options)
        if not visible(one.label)
    ]
    if len({option.value for option in options}) < len(options):
        found.append(FieldError("options", "must have different values", "not_unique"))
    elif not found and len({visible(option.label) for option in options}) < len(options):
        found.append(FieldError("options", "must have labels that look different", "not_unique"))
    return found


def _form_problems(wording: Wording) -> list[FieldError]:
    if wording.kind is not QuestionKind.FORM:
        return [] if wording.form is None else [FieldError("form", "is only for the kind form", "not_allowed")]
    if wording.form is None:
        return [FieldError("form", "is required: a flat JSON Schema", "required")]
    return form_problems(wording.form)


def _default_reading(wording: Wording, default: object) -> Reading:
    match default:
        case str() if wording.kind is QuestionKind.TEXT:
            legal = not text_problem(default) and default.strip() != ""
            return Reading(answer=QuestionAnswer(text=default)) if legal else Reading(problem="it must be text")
        case str():
            return read(wording, Said(value=default))
        case list() if wording.multiple and all(isinstance(one, str) for one in default):
            return read(wording, Said(selected=tuple(default)))
        case dict() if wording.kind is QuestionKind.FORM:
            return read(wording, Said(fields=default))
        case _:
            return Reading(problem="it has another form than the answer")


def _as_given(answer: QuestionAnswer | None) -> str | list[str] | Mapping[str, Any] | None:
    if answer is None:
        return None
    return answer.value or answer.text or list(answer.selected) or dict(answer.fields)


# ---- what makes two questions the same: the words a person would see, whom they are for, and what silence means ----


def fingerprint(wording: Wording, people: Iterable[str]) -> str:
    """
    SHA-256 of canonical JSON.

    In it: kind, text, context, options, form, recipients, secrecy and default. Not in it: channels, urgency, waiting,
    reminders, state, sessions and the deadline, which may differ when the same thing is asked again.
    """
    content = {**wording_object(wording), "people": sorted(set(people))}
    canonical = json.dumps(_composed(content), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def _composed(value: Any) -> Any:
    """One spelling of each character: NFC."""
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if isinstance(value, Mapping):
        return {_composed(str(name)): _composed(one) for name, one in value.items()}
    return [_composed(one) for one in value] if isinstance(value, list | tuple) else value
