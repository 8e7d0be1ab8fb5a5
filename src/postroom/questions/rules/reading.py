"""What a person's words, or a press, mean as an answer to a question; and an answer in the words they saw."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from postroom.kernel.values.errors import sentence
from postroom.kernel.values.fields import storable
from postroom.message.wishes import DENY
from postroom.questions.model import RATHER_NOT, Option, QuestionAnswer, QuestionKind, Said, Wording, is_permission
from postroom.questions.rules.form import FormField, form_fields, value_problems

MAX_ANSWER_CHARACTERS: Final = 32_000
_BETWEEN: Final = re.compile(r"[,;\n]")
_YES: Final = frozenset({"yes", "true", "y", "1"})
_NO: Final = frozenset({"no", "false", "n", "0"})
_REJECT: Final = "reject"  # what approvals by reply asked for before they had buttons


# ---- what it means ----


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """An answer, a refusal to give one, or what is wrong with it, in a sentence for the person."""

    answer: QuestionAnswer | None = None
    declined: bool = False
    problem: str | None = None


def read(wording: Wording, said: Said) -> Reading:
    """Total: whatever was said has a reading."""
    reading = _read(wording, said)
    if reading.declined and not wording.may_decline:
        return Reading(problem="this needs an answer: it cannot be declined")
    return reading


def _read(wording: Wording, said: Said) -> Reading:
    if said.declined:
        return Reading(declined=True)
    if said.text is not None:
        return _read_files_alone(wording, said) if _is_files_alone(said) else _read_text(wording, said.text)
    match wording.kind:
        case QuestionKind.TEXT:
            return Reading(problem="answer in your own words")
        case QuestionKind.CHOICE if wording.multiple:
            return _several(wording, said.selected if said.selected is not None else (said.value,))
        case QuestionKind.FORM:
            return _filled(wording, said.fields)
        case _:
            given = said.selected[0] if said.selected and len(said.selected) == 1 else said.value
            return _one(wording, given)


def _is_files_alone(said: Said) -> bool:
    return bool(said.files) and not visible(storable(said.text or "").strip())


def _read_files_alone(wording: Wording, said: Said) -> Reading:
    """A photo is an answer where own words are one."""
    if wording.kind is QuestionKind.TEXT or (wording.kind is QuestionKind.CHOICE and wording.allow_text):
        return Reading(answer=QuestionAnswer(text=""))
    return Reading(problem="a file alone does not answer this: write the answer with it")


def _one(wording: Wording, value: str | None) -> Reading:
    if value in [option.value for option in wording.options]:
        return Reading(answer=QuestionAnswer(value=value))
    return Reading(problem=f"choose one of {_labels(wording)}")


def _several(wording: Wording, values: Sequence[str | None]) -> Reading:
    known = [option.value for option in wording.options]
    if values and all(value in known for value in values):
        return Reading(answer=QuestionAnswer(selected=tuple(value for value in known if value in values)))
    return Reading(problem=f"choose at least one of {_labels(wording)}")


def _filled(wording: Wording, fields: Mapping[str, Any] | None) -> Reading:
    """An empty form is what a program sends that nobody has looked at: never an answer."""
    given = {name: value for name, value in (fields or {}).items() if value is not None}
    if not given:
        return Reading(problem="fill in the form")
    if problems := value_problems(wording.form or {}, given):
        return Reading(problem=sentence(problems))
    return Reading(answer=QuestionAnswer(fields=given))


def _read_text(wording: Wording, text: str) -> Reading:
    words = storable(text).strip()
    if not visible(words):
        return Reading(problem="the answer is empty")
    if len(words) > MAX_ANSWER_CHARACTERS:
        return Reading(problem=f"the answer must have at most {MAX_ANSWER_CHARACTERS:,} characters")
    if words.casefold() == RATHER_NOT.casefold():
        return Reading(declined=True)
    match wording.kind:
        case QuestionKind.TEXT:
            return Reading(answer=QuestionAnswer(text=words))
        case QuestionKind.APPROVE:
            return _exact_word(wording, words)
        case QuestionKind.CHOICE:
            return _chosen(wording, words)
        case QuestionKind.FORM:
            return _form_by_text(wording, words)


def _exact_word(wording: Wording, words: str) -> Reading:
    """The very words on the card, in either case: "ok", "yes" and a thumb decide nothing; "reject" always denies."""
    for option in wording.options:
        if words.casefold() == option.label.casefold():
            return Reading(answer=QuestionAnswer(value=option.value))
    if words.casefold() == _REJECT:
        return _one(wording, DENY)
    return Reading(problem=_exactly(wording))


def _exactly(wording: Wording) -> str:
    quoted = " or ".join(f"“{option.label}”" for option in wording.options)
    return f"press a button, or reply with exactly {quoted}"


def _chosen(wording: Wording, words: str) -> Reading:
    if wording.multiple:
        named = [_named(wording.options, part) for part in _BETWEEN.split(words) if visible(part)]
        if named and all(named):
            return _several(wording, [option.value for option in named if option])
    elif option := _meant(wording, words):
        return Reading(answer=QuestionAnswer(value=option.value))
    if wording.allow_text:
        return Reading(answer=QuestionAnswer(text=words))
    if is_permission(wording):
        return Reading(problem=_exactly(wording))
    several = " or several, separated by commas" if wording.multiple else ""
    return Reading(problem=f"answer with one of {_labels(wording)}, or its number{several}")


def _meant(wording: Wording, words: str) -> Option | None:
    """A number is too little to let a program do something."""
    if is_permission(wording):
        return next((one for one in wording.options if words.casefold() == one.label.casefold()), None)
    return _named(wording.options, words)


def _named(options: Sequence[Option], words: str) -> Option | None:
    """By what is seen on the card, then by value, then by number."""
    seen = visible(words)
    for read_as in (_by_label, _by_value):
        if option := next((one for one in options if read_as(one) == seen), None):
            return option
    number = seen.removesuffix(".").removesuffix(")").removeprefix("#")
    if number.isascii() and number.isdecimal() and len(number) <= 3 and 1 <= int(number) <= len(options):
        return options[int(number) - 1]
    return None


def _by_label(option: Option) -> str:
    return visible(option.label)


def _by_value(option: Option) -> str:
    return visible(option.value)


def _labels(wording: Wording) -> str:
    return ", ".join(f"“{option.label}”" for option in wording.options)


def _form_by_text(wording: Wording, words: str) -> Reading:
    """Lines of `name: value`; a form with one field takes the words as they are."""
    fields = form_fields(wording.form)
    if len(fields) == 1 and not (":" in words and _field(fields, words.partition(":")[0])):
        return _filled(wording, {fields[0].name: field_value(fields[0], words)})
    lines = [line for line in words.splitlines() if visible(line)]
    named = [(_field(fields, line.partition(":")[0]), line.partition(":")[2].strip()) for line in lines]
    if any(field is None for field, _ in named):
        listed = ", ".join(f"{one.name}: …" for one in fields)
        return Reading(problem=f"answer with one line for each of: {listed}")
    return _filled(wording, {field.name: field_value(field, value) for field, value in named if field is not None})


def _field(fields: Sequence[FormField], words: str) -> FormField | None:
    """By name, or by the title that the person sees."""
    seen = visible(words)
    return next((one for one in fields if seen in (visible(one.name), visible(one.title))), None)


def field_value(field: FormField, words: str) -> Any:
    """The words as the field wants them; what cannot be read stays as it is and is refused as such."""
    match field.kind:
        case "boolean":
            seen = visible(words)
            return True if seen in _YES else False if seen in _NO else words
        case "integer" | "number":
            return _number(words, whole=field.kind == "integer")
        case "array":
            return [_choice(field, part) for part in _BETWEEN.split(words) if visible(part)]
        case _:
            return _choice(field, words) if field.choices else words


def filled_in(form: Mapping[str, Any] | None, sent: Callable[[str], Sequence[str]]) -> dict[str, Any]:
    """What stood in the lines of a screen, by the names of the fields; an empty line says nothing."""
    lines = [(one, [text for text in sent(one.name) if text.strip()]) for one in form_fields(form)]
    return {one.name: texts if one.kind == "array" else field_value(one, texts[-1]) for one, texts in lines if texts}


def _number(words: str, *, whole: bool) -> int | float | str:
    try:
        return int(words) if whole or words.strip().lstrip("+-").isdecimal() else float(words)
    except ValueError:
        return words


def _choice(field: FormField, words: str) -> str:
    option = _named([Option(value=value, label=title) for value, title in field.choices], words)
    return option.value if option else words.strip()


# ---- in the words the person saw ----


def answer_words(wording: Wording, answer: QuestionAnswer | Said) -> str:
    """By labels and titles; empty when nothing was said, or when it was a secret and is not kept."""
    if isinstance(answer, Said) and answer.declined:
        return RATHER_NOT
    labels = {option.value: option.label for option in wording.options}
    if answer.value is not None:
        return labels.get(answer.value, answer.value)
    if answer.selected:
        return ", ".join(labels.get(one, one) for one in answer.selected)
    if answer.fields:
        titles = {one.name: one.title for one in form_fields(wording.form)}
        return "; ".join(f"{titles.get(name, name)}: {_value(value)}" for name, value in answer.fields.items())
    return answer.text or ""


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


# ---- words as a person sees them, for comparing what was typed with what stands on a card ----


_UNSEEN: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Mn"})


def visible(text: str) -> str:
    """Without what cannot be seen, in one case, with single spaces."""
    composed = unicodedata.normalize("NFC", text)
    spaced = " ".join(composed.split())
    return "".join(letter for letter in spaced if not _is_unseen(letter)).strip().casefold()


def _is_unseen(letter: str) -> bool:
    """Marks that could not be composed change what is seen; variation selectors do not."""
    category = unicodedata.category(letter)
    return category in _UNSEEN and (category != "Mn" or "\ufe00" <= letter <= "\ufe0f" or letter >= "\U000e0100")
