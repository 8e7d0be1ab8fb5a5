"""A call of `ask` as it came, checked: everything that is wrong with it is said at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from postroom.domain.fields import Fields, text_problem
from postroom.domain.idempotency_key import MAX_KEY_CHARACTERS
from postroom.domain.question import Preview, Wording
from postroom.domain.risk_and_urgency import Urgency
from postroom.work.questions.json_size import json_size
from postroom.work.questions.wording_request import WORDING_FIELDS, check_wording

MAX_PEOPLE: Final = 20
MAX_CHANNELS: Final = 20
MAX_NAME_CHARACTERS: Final = 255
MAX_PROMPT_CHARACTERS: Final = 24_000
MAX_STATE_BYTES: Final = 64 * 1024
MIN_DEADLINE_SECONDS: Final = 30
MAX_DEADLINE_SECONDS: Final = 30 * 86_400
DEFAULT_DEADLINE_SECONDS: Final = 86_400
DEFAULT_WAIT_SECONDS: Final = 25
MAX_WAIT_SECONDS: Final = 280
MIN_REMIND_SECONDS: Final = 30
_FIELDS: Final = frozenset(
    {
        *WORDING_FIELDS,
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
    wait_seconds: float = DEFAULT_WAIT_SECONDS
    resume: ResumeWish | None = None
    expires_at_us: int | None = None  # of protocols that name the moment; it goes before `deadline_seconds`


def check(arguments: object) -> QuestionRequest:
    """Raises ValidationError that names every wrong field as the caller wrote it."""
    fields = Fields(arguments, whole="arguments")
    fields.refuse_unknown(_FIELDS)
    wording = check_wording(fields)
    deadline = seconds_of(fields, "deadline_seconds", MIN_DEADLINE_SECONDS, MAX_DEADLINE_SECONDS)
    checked = QuestionRequest(
        wording=wording,
        to=_names(fields, "to", MAX_PEOPLE),
        channels=_names(fields, "channels", MAX_CHANNELS) if fields.has("channels") else None,
        urgency=Urgency(fields.choice("urgency", [*Urgency], default=Urgency.NORMAL) or Urgency.NORMAL),
        preview=Preview(fields.choice("preview", [*Preview], default=Preview.FULL) or Preview.FULL),
        deadline_seconds=deadline or DEFAULT_DEADLINE_SECONDS,
        remind_after_seconds=_before_the_end(fields, "remind_after_seconds", deadline),
        escalate_to=_names(fields, "escalate_to", MAX_PEOPLE),
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
    waited = number_of(fields, "wait_seconds", 0, MAX_WAIT_SECONDS)
    return DEFAULT_WAIT_SECONDS if waited is None else waited


def seconds_of(fields: Fields, name: str, least: int, most: int) -> int | None:
    value = number_of(fields, name, least, most)
    return None if value is None else math.ceil(value)


def number_of(fields: Fields, name: str, least: int, most: int) -> float | None:
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
    value = seconds_of(fields, name, MIN_REMIND_SECONDS, MAX_DEADLINE_SECONDS)
    if value is not None and value >= (deadline or DEFAULT_DEADLINE_SECONDS):
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
            name, f"must be a name, or a list of names, of at most {MAX_NAME_CHARACTERS} characters", "name"
        )
        return ()
    return tuple(dict.fromkeys(one.strip() for one in listed))


def _is_name(value: object) -> bool:
    if not isinstance(value, str) or text_problem(value):
        return False
    return 1 <= len(value.strip()) <= MAX_NAME_CHARACTERS


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
    elif size > MAX_STATE_BYTES:
        fields.complain(name, f"must have at most {MAX_STATE_BYTES:,} bytes as JSON", "too_long")


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
    prompt = inner.text("prompt", maximum=MAX_PROMPT_CHARACTERS)
    return ResumeWish(
        prompt=prompt, butler=inner.optional_text("butler", maximum=MAX_NAME_CHARACTERS), material=material
    )
