"""What a caller of `notify` asks for, checked field by field."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from postroom.domain.arguments import unknown_argument
from postroom.domain.errors import FieldError, ValidationError

MESSAGE_LIMIT = 10_000
REPLY_LIMIT = 10_000
TIMEOUT_SECONDS = (5, 300)
THEMES = ("auto", "light", "dark")
DEFAULT_TITLE = "VoiceMode"
OPTIONS_LIMIT = 20
OPTION_LENGTH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class PopupQuestion:
    message: str = field(repr=False)
    wait_for_response: bool = True
    timeout: float | None = None
    title: str = DEFAULT_TITLE
    show_history: bool = True
    chime_enabled: bool = False
    theme: str = "auto"
    options: tuple[str, ...] = field(default=(), repr=False)
    allow_multiple: bool = False
    secret: bool = False
    project: str = ""


def parse(arguments: Mapping[str, Any]) -> PopupQuestion:
    """Every field error at once; an argument that is null counts as not given."""
    values: dict[str, Any] = {}
    errors: list[FieldError] = []
    for name, check in _CHECKS.items():
        value = arguments.get(name)
        if value is None:
            continue
        problem = check(value)
        if problem is None:
            values[name] = tuple(value) if name == "options" else value
        else:
            errors.append(FieldError(field=name, error=problem, code="invalid"))
    if unknown := unknown_argument(arguments, tuple(_CHECKS)):
        raise ValidationError(unknown)
    if arguments.get("message") is None:
        errors.insert(0, FieldError(field="message", error=f"is required ({_MESSAGE_RANGE})", code="missing"))
    if errors:
        raise ValidationError.of(errors)
    return PopupQuestion(**values)


_MESSAGE_RANGE = f"1 to {MESSAGE_LIMIT} characters"


def _message(value: Any) -> str | None:
    if not isinstance(value, str):
        return f"must be text of {_MESSAGE_RANGE}"
    return None if 1 <= len(value) <= MESSAGE_LIMIT else f"must be {_MESSAGE_RANGE} long, not {len(value)}"


def _timeout(value: Any) -> str | None:
    low, high = TIMEOUT_SECONDS
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return None if number and low <= value <= high else f"must be a number from {low} to {high} (seconds)"


def _theme(value: Any) -> str | None:
    return None if value in THEMES else f"must be one of {', '.join(THEMES)}"


def _options(value: Any) -> str | None:
    if not isinstance(value, list) or not 1 <= len(value) <= OPTIONS_LIMIT:
        return f"must be a list of 1 to {OPTIONS_LIMIT} texts"
    if not all(isinstance(item, str) and item.strip() and len(item) <= OPTION_LENGTH for item in value):
        return f"must hold only texts of 1 to {OPTION_LENGTH} characters"
    if any(len(item.splitlines()) != 1 for item in value):
        return "must hold only single lines"
    return None if len(set(value)) == len(value) else "must not repeat an option"


def _text(value: Any) -> str | None:
    return None if isinstance(value, str) else "must be text"


def _flag(value: Any) -> str | None:
    return None if isinstance(value, bool) else "must be true or false"


_CHECKS: Mapping[str, Callable[[Any], str | None]] = {
    "message": _message,
    "wait_for_response": _flag,
    "timeout": _timeout,
    "title": _text,
    "show_history": _flag,
    "chime_enabled": _flag,
    "theme": _theme,
    "options": _options,
    "allow_multiple": _flag,
    "secret": _flag,
    "project": _text,
}
