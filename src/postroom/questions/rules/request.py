"""A call of `ask` or `revise_ask` as it came, checked: everything that is wrong with it is said at once."""

from __future__ import annotations

import hashlib
import json
import math
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from postroom.kernel.text.visible import visible
from postroom.kernel.values.fields import Fields, json_size, text_problem
from postroom.kernel.values.principal import MAX_KEY_CHARACTERS
from postroom.message.delivery import Format
from postroom.message.wire import MAX_MARKDOWN_CHARACTERS
from postroom.message.wishes import DENY, Urgency
from postroom.questions.model import (
    APPROVE_OPTIONS,
    Option,
    Preview,
    Question,
    QuestionAnswer,
    QuestionKind,
    Said,
    Wording,
    wording_object,
)
from postroom.questions.rules.form import form_problems
from postroom.questions.rules.reading import Reading, read

_MAX_QUESTION_CHARACTERS: Final = 4_000
MAX_CONTEXT_CHARACTERS: Final = 24_000
_MAX_OPTIONS: Final = 20
_MAX_LABEL_CHARACTERS: Final = 200
_MAX_DESCRIPTION_CHARACTERS: Final = 1_000
_MAX_PEOPLE: Final = 20
_MAX_CHANNELS: Final = 20
_MAX_NAME_CHARACTERS: Final = 255
_MAX_PROMPT_CHARACTERS: Final = 24_000
_MAX_STATE_BYTES: Final = 64 * 1024
_MIN_DEADLINE_SECONDS: Final = 30
MAX_DEADLINE_SECONDS: Final = 30 * 86_400
_DEFAULT_DEADLINE_SECONDS: Final = 86_400
_DEFAULT_WAIT_SECONDS: Final = 25
_MAX_WAIT_SECONDS: Final = 280
_MIN_REMIND_SECONDS: Final = 30
_WORDING_FIELDS: Final = frozenset(
    {"question", "kind", "options", "multiple", "form", "context", "default", "secret", "allow_text", "format"}
)
_FIELDS: Final = frozenset(
    {
        *_WORDING_FIELDS,
        "to",
        "channels",
        "urgency",
        "deadline_seconds",
        "remind_after_seconds",
        "escalate_to",
        "escalate_after_seconds",
        "state",
        "idempotency_key",
        "wait_seconds",
        "resume",
        "preview",
    }
)
_REVISABLE: Final = (
    "question",
    "context",
    "format",
    "options",
    "form",
    "multiple",
    "allow_text",
    "default",
    "deadline_seconds",
)


# ---- a question ----


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
    deadline_seconds: int = _DEFAULT_DEADLINE_SECONDS
    remind_after_seconds: int | None = None
    escalate_to: tuple[str, ...] = ()
    escalate_after_seconds: int | None = None
    state: Any = None
    key: str | None = None
    wait_seconds: float = _DEFAULT_WAIT_SECONDS
    resume: ResumeWish | None = None
    expires_at_us: int | None = None  # of protocols that name the moment; it goes before `deadline_seconds`


def check(arguments: object) -> QuestionRequest:
    """Raises ValidationError that names every wrong field as the caller wrote it."""
    fields = Fields(arguments, whole="arguments")
    fields.refuse_unknown(_FIELDS)
    wording = _check_wording(fields)
    deadline = _seconds_of(fields, "deadline_seconds", _MIN_DEADLINE_SECONDS, MAX_DEADLINE_SECONDS)
    checked = QuestionRequest(
        wording=wording,
        to=_names(fields, "to", _MAX_PEOPLE),
        channels=_names(fields, "channels", _MAX_CHANNELS) if fields.has("channels") else None,
        urgency=Urgency(fields.choice("urgency", [*Urgency], default=Urgency.NORMAL) or Urgency.NORMAL),
        preview=Preview(fields.choice("preview", [*Preview], default=Preview.FULL) or Preview.FULL),
        deadline_seconds=deadline or _DEFAULT_DEADLINE_SECONDS,
        remind_after_seconds=_before_the_end(fields, "remind_after_seconds", deadline),
        escalate_to=_names(fields, "escalate_to", _MAX_PEOPLE),
        escalate_after_seconds=_before_the_end(fields, "escalate_after_seconds", deadline),
        state=_state(fields),
        key=_key(fields),
        wait_seconds=check_wait(fields),
        resume=_resume(fields),
    )
    _refuse_half_an_escalation(fields)
    fields.finish()
    return checked


def check_wait(fields: Fields) -> float:
    waited = _number_of(fields, "wait_seconds", 0, _MAX_WAIT_SECONDS)
    return _DEFAULT_WAIT_SECONDS if waited is None else waited


def _seconds_of(fields: Fields, name: str, least: int, most: int) -> int | None:
    value = _number_of(fields, name, least, most)
    return None if value is None else math.ceil(value)


def _number_of(fields: Fields, name: str, least: int, most: int) -> float | None:
    value = fields.raw(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        fields.complain(name, "must be a number of seconds", "number_required")
        return None
    if not least <= value <= most:
        fields.complain(name, f"must be from {least} to {most} seconds", "out_of_range")
        return None
    return value


def _before_the_end(fields: Fields, name: str, deadline: int | None) -> int | None:
    value = _seconds_of(fields, name, _MIN_REMIND_SECONDS, MAX_DEADLINE_SECONDS)
    if value is not None and value >= (deadline or _DEFAULT_DEADLINE_SECONDS):
        fields.complain(name, "must be before the deadline", "out_of_range")
    return value


def _names(fields: Fields, name: str, most: int) -> tuple[str, ...]:
    """One text, or a list of them."""
    value = fields.raw(name)
    if value is None:
        return ()
    listed = value if isinstance(value, list | tuple) else [value]
    if not listed or len(listed) > most:
        fields.complain(name, f"must name 1 to {most}", "out_of_range")
        return ()
    if not all(_is_name(one) for one in listed):
        fields.complain(
            name, f"must be a name, or a list of names, of at most {_MAX_NAME_CHARACTERS} characters", "name"
        )
        return ()
    return tuple(dict.fromkeys(one.strip() for one in listed))


def _is_name(value: object) -> bool:
    if not isinstance(value, str) or text_problem(value):
        return False
    return 1 <= len(value.strip()) <= _MAX_NAME_CHARACTERS


def _refuse_half_an_escalation(fields: Fields) -> None:
    for one, other in (("escalate_to", "escalate_after_seconds"), ("escalate_after_seconds", "escalate_to")):
        if fields.has(one) and not fields.has(other):
            fields.complain(other, f"is required with {one}", "required")


def _state(fields: Fields) -> Any:
    """The asker's own, handed back as it came; what JSON cannot say cannot be handed back."""
    _refuse_size(fields, "state")
    return fields.raw("state")


def _refuse_size(fields: Fields, name: str) -> None:
    size = json_size(fields.raw(name))
    if size is None:
        fields.complain(name, "must be JSON", "json_required")
    elif size > _MAX_STATE_BYTES:
        fields.complain(name, f"must have at most {_MAX_STATE_BYTES:,} bytes as JSON", "too_long")


def _key(fields: Fields) -> str | None:
    if not fields.has("idempotency_key"):
        return None
    return fields.text("idempotency_key", maximum=MAX_KEY_CHARACTERS) or None


def _resume(fields: Fields) -> ResumeWish | None:
    if not fields.has("resume"):
        return None
    inner = fields.nested("resume")
    inner.refuse_unknown({"prompt", "butler", "material"})
    material = inner.raw("material")
    if material is not None and not isinstance(material, Mapping):
        inner.complain("material", "must be an object", "object_required")
    else:
        _refuse_size(inner, "material")
    prompt = inner.text("prompt", maximum=_MAX_PROMPT_CHARACTERS)
    return ResumeWish(
        prompt=prompt, butler=inner.optional_text("butler", maximum=_MAX_NAME_CHARACTERS), material=material
    )


# ---- the part of it that a person will see: question, options, form, and what would stand for silence ----


def _check_wording(fields: Fields) -> Wording:
    """Complaints go to the fields; what is returned is worth something only when there are none."""
    kind = _kind(fields)
    format = Format(fields.choice("format", [*Format], default=Format.PLAIN) or Format.PLAIN)
    wording = Wording(
        kind=kind,
        question=fields.text("question", maximum=_MAX_QUESTION_CHARACTERS).strip(),
        context=_context(fields, format),
        options=_options(fields, kind),
        multiple=_flag(fields, "multiple", default=False),
        form=_form(fields, kind),
        allow_text=_flag(fields, "allow_text", default=True),
        secret=_flag(fields, "secret", default=False),
        format=format,
    )
    if wording.multiple and kind is not QuestionKind.CHOICE:
        fields.complain("multiple", "is only for a choice", "not_allowed")
    return _with_default(fields, wording)


def _context(fields: Fields, format: Format) -> str | None:
    if fields.raw("context") is None:
        return None
    most = MAX_MARKDOWN_CHARACTERS if format is Format.MARKDOWN else MAX_CONTEXT_CHARACTERS
    return fields.text("context", maximum=most, blank=True) or None


def _kind(fields: Fields) -> QuestionKind:
    """A question with options and no kind is a choice, one with a form a form: that is what was meant."""
    meant = QuestionKind.CHOICE if fields.has("options") else QuestionKind.FORM if fields.has("form") else None
    return QuestionKind(fields.choice("kind", [*QuestionKind], default=meant or QuestionKind.TEXT) or QuestionKind.TEXT)


def _flag(fields: Fields, name: str, *, default: bool) -> bool:
    value = fields.raw(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        fields.complain(name, "must be true or false", "bool_required")
        return default
    return value


def _options(fields: Fields, kind: QuestionKind) -> tuple[Option, ...]:
    given = fields.raw("options")
    if kind is not QuestionKind.CHOICE:
        if given:
            fields.complain("options", "are only for a choice", "not_allowed")
        return APPROVE_OPTIONS if kind is QuestionKind.APPROVE else ()
    if not isinstance(given, list | tuple) or not 1 <= len(given) <= _MAX_OPTIONS:
        fields.complain("options", f"must be a list of 1 to {_MAX_OPTIONS} options", "options")
        return ()
    options = tuple(option for place, one in enumerate(given) if (option := _option(fields, f"options.{place}", one)))
    if len(options) == len(given):
        _refuse_equals(fields, options)
    return options


def _option(fields: Fields, path: str, given: object) -> Option | None:
    if not isinstance(given, str | Mapping):
        fields.complain(path, "must be a text, or an object with a value", "option")
        return None
    inner = Fields({"value": given} if isinstance(given, str) else given, path, fields.complaints)
    inner.refuse_unknown({"value", "label", "description"})
    value = inner.text("value", maximum=_MAX_LABEL_CHARACTERS).strip()
    label = inner.optional_text("label", maximum=_MAX_LABEL_CHARACTERS) or value
    description = inner.optional_text("description", maximum=_MAX_DESCRIPTION_CHARACTERS)
    if not value:
        return None
    if not visible(label):
        inner.complain("label", "must have something that can be seen", "blank")
        return None
    return Option(value=value, label=label, description=description)


def _refuse_equals(fields: Fields, options: tuple[Option, ...]) -> None:
    """Two that look the same cannot be told apart by the person who presses one of them."""
    if len({option.value for option in options}) < len(options):
        fields.complain("options", "must have different values", "not_unique")
    elif len({visible(option.label) for option in options}) < len(options):
        fields.complain("options", "must have labels that look different", "not_unique")


def _form(fields: Fields, kind: QuestionKind) -> Mapping[str, Any] | None:
    form = fields.raw("form")
    if kind is not QuestionKind.FORM:
        if form is not None:
            fields.complain("form", "is only for the kind form", "not_allowed")
        return None
    if form is None:
        fields.complain("form", "is required: a flat JSON Schema", "required")
        return None
    problems = form_problems(form)
    fields.complaints.extend(problems)
    return None if problems else form


def _with_default(fields: Fields, wording: Wording) -> Wording:
    """`default` is what stands for silence; it must be an answer a person could have given."""
    default = fields.raw("default")
    if default is None or any(one.field.startswith(("options", "form")) for one in fields.complaints):
        return wording  # what it would have to be is not known
    if wording.secret:
        fields.complain("default", "a secret has none", "not_allowed")
        return wording
    if wording.kind is QuestionKind.APPROVE and default != DENY:
        fields.complain("default", f'may only be "{DENY}": silence never approves', "not_allowed")
        return wording
    reading = _default_reading(wording, default)
    if reading.answer is None:
        fields.complain("default", f"is not a possible answer: {reading.problem}", "not_allowed")
        return wording
    return replace(wording, default=reading.answer)


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


# ---- its revision, checked against the question it is about ----


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionRevision:
    """`deadline_seconds` counts from now; None leaves it where it was."""

    wording: Wording
    deadline_seconds: int | None


def check_revision(question: Question, arguments: object) -> QuestionRevision:
    """What is not given stays; raises ValidationError that names every wrong field as the caller wrote it."""
    fields = Fields(arguments, whole="arguments")
    fields.refuse_unknown(_REVISABLE)
    given = {name: fields.raw(name) for name in _REVISABLE if fields.has(name)}
    if not given and not fields.complaints:
        fields.complain(None, f"give at least one of {', '.join(_REVISABLE)}", "required")
    deadline = _seconds_of(fields, "deadline_seconds", _MIN_DEADLINE_SECONDS, MAX_DEADLINE_SECONDS)
    merged = {**_arguments(question.wording), **given}
    wording = _check_wording(Fields(merged, complaints=fields.complaints))
    fields.finish()
    kept = question.wording.options if wording.kind is QuestionKind.APPROVE else wording.options
    kept_wording = replace(wording, options=kept, may_decline=question.wording.may_decline)
    return QuestionRevision(wording=kept_wording, deadline_seconds=deadline)


def _arguments(wording: Wording) -> dict[str, Any]:
    """The call that would have made this wording."""
    options = [{"value": one.value, "label": one.label, "description": one.description} for one in wording.options]
    return {
        "question": wording.question,
        "kind": str(wording.kind),
        "context": wording.context,
        "format": str(wording.format),
        "options": options if wording.kind is QuestionKind.CHOICE else None,
        "multiple": wording.multiple,
        "form": wording.form,
        "allow_text": wording.allow_text,
        "secret": wording.secret,
        "default": _default(wording.default),
    }


def _default(answer: QuestionAnswer | None) -> str | list[str] | Mapping[str, Any] | None:
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
