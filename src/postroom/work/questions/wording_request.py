"""The part of a call that a person will see: question, options, form, and what would stand for silence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from postroom.domain.answer_attempt import Said
from postroom.domain.delivery import Format
from postroom.domain.fields import Fields, text_problem
from postroom.domain.notify import MAX_MARKDOWN_CHARACTERS
from postroom.domain.question import APPROVE_OPTIONS, Option, QuestionKind, Wording
from postroom.domain.question_answer import QuestionAnswer
from postroom.domain.question_states import DENY
from postroom.work.questions.form import form_problems
from postroom.work.questions.reading import Reading, read
from postroom.work.questions.visible_words import visible

MAX_QUESTION_CHARACTERS: Final = 4_000
MAX_CONTEXT_CHARACTERS: Final = 24_000
MAX_OPTIONS: Final = 20
MAX_LABEL_CHARACTERS: Final = 200
MAX_DESCRIPTION_CHARACTERS: Final = 1_000
WORDING_FIELDS: Final = frozenset(
    {"question", "kind", "options", "multiple", "form", "context", "default", "secret", "allow_text", "format"}
)


def check_wording(fields: Fields) -> Wording:
    """Complaints go to the fields; what is returned is worth something only when there are none."""
    kind = _kind(fields)
    format = Format(fields.choice("format", [*Format], default=Format.PLAIN) or Format.PLAIN)
    wording = Wording(
        kind=kind,
        question=fields.text("question", maximum=MAX_QUESTION_CHARACTERS).strip(),
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
    if not isinstance(given, list | tuple) or not 1 <= len(given) <= MAX_OPTIONS:
        fields.complain("options", f"must be a list of 1 to {MAX_OPTIONS} options", "options")
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
    value = inner.text("value", maximum=MAX_LABEL_CHARACTERS).strip()
    label = inner.optional_text("label", maximum=MAX_LABEL_CHARACTERS) or value
    description = inner.optional_text("description", maximum=MAX_DESCRIPTION_CHARACTERS)
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
    reading = _default(wording, default)
    if reading.answer is None:
        fields.complain("default", f"is not a possible answer: {reading.problem}", "not_allowed")
        return wording
    return replace(wording, default=reading.answer)


def _default(wording: Wording, default: object) -> Reading:
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
