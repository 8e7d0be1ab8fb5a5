"""An `ask` or a `task` as the question that a person is asked; what cannot be kept is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from postroom.domain.errors import ValidationError
from postroom.domain.question import Option, Wording
from postroom.domain.time import seconds
from postroom.doors.ma2h.envelope import BLOCKS, Envelope, Verb
from postroom.doors.ma2h.refusals import invalid, renamed
from postroom.doors.ma2h.words import detail, title
from postroom.work.questions.questions import KeyReused
from postroom.work.questions.request import MAX_DEADLINE_SECONDS, QuestionRequest, check

COMPLETED: Final = "task:completed"
DISMISSED: Final = "task:dismissed"
TASK_OPTIONS: Final = (
    Option(value=COMPLETED, label="Done"),
    Option(value=DISMISSED, label="Won't do"),
)
_HUMAN: Final = "human:"
_URGENCY: Final = {"low": "passive", "normal": "normal", "high": "time_sensitive", "urgent": "critical"}
_SENSITIVE: Final = "x-ma2h-sensitive"


def urgency(envelope: Envelope) -> str:
    return _URGENCY[envelope.document.get("priority") or "normal"]


def is_task(wording: Wording) -> bool:
    return wording.options == TASK_OPTIONS


def question_request(envelope: Envelope, key: str, state: Any, now_us: int) -> QuestionRequest:
    """Raises NotTaken."""
    block = envelope.block
    _refuse_push(envelope.verb, block)
    latest_us = now_us + seconds(MAX_DEADLINE_SECONDS)
    if (envelope.expires_at_us or 0) > latest_us:
        raise invalid("expires_at", f"must be within {MAX_DEADLINE_SECONDS // 86_400} days")
    arguments = {
        "question": title(envelope),
        "context": detail(envelope),
        "format": "markdown",
        "urgency": urgency(envelope),
        "to": _people(envelope.verb, block),
        "state": state,
        "idempotency_key": key,
        "wait_seconds": 0,
        **(_asked(block) if envelope.verb is Verb.ASK else _task()),
    }
    with named_as_written(envelope.verb):
        request = check({name: value for name, value in arguments.items() if value is not None})
    wording = replace(request.wording, may_decline=_may_decline(envelope))
    return replace(request, wording=wording, expires_at_us=envelope.expires_at_us or latest_us)


@contextmanager
def named_as_written(verb: Verb) -> Iterator[None]:
    """What the work refuses, in the words of the envelope."""
    try:
        yield
    except KeyReused:
        raise
    except ValidationError as error:
        raise renamed(error, lambda field: _name(verb, field)) from None


def _asked(request: Mapping[str, Any]) -> dict[str, Any]:
    default = request.get("default_on_expire")
    options = request.get("options")
    match request["mode"]:
        case "input":
            return {"kind": "form", "form": _form(request["schema"]), "default": default}
        case "confirm" if options is None:
            return {"kind": "approve", "default": default}
        case _:
            return {"kind": "choice", "options": _options(options or []), "allow_text": False, "default": default}


def _task() -> dict[str, Any]:
    """A refusal is one of the two ways in which a task ends, so declining is not offered beside it."""
    options = [{"value": one.value, "label": one.label} for one in TASK_OPTIONS]
    return {"kind": "choice", "options": options, "allow_text": False}


def _options(options: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    for place, one in enumerate(options):
        if one["value"] != one["value"].strip() or one["value"] in (COMPLETED, DISMISSED):
            raise invalid(f"request.options.{place}.value", "must not begin or end with white space, or with task:")
    known = ("value", "label", "description")
    return [{name: one[name] for name in known if one.get(name)} for one in options]


def _form(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Marks of sensitivity are for those who keep records: ours hold no answers in any case."""
    fields = schema.get("properties")
    if not isinstance(fields, Mapping):
        return dict(schema)
    return {**schema, "properties": {name: _field(one) for name, one in fields.items()}}


def _field(field: Any) -> Any:
    if not isinstance(field, Mapping):
        return field
    kind = {"type": "string"} if "enum" in field and "type" not in field else {}
    return {**kind, **{name: value for name, value in field.items() if name != _SENSITIVE}}


def _may_decline(envelope: Envelope) -> bool:
    if envelope.verb is Verb.TASK:
        return False
    permissions = envelope.block.get("permissions") or {}
    if permissions.get("allow_respond") is False:
        told = "a question that may only be declined cannot be asked here; use notify"
        raise invalid("request.permissions.allow_respond", told)
    return permissions.get("allow_ignore") is not False


def _people(verb: Verb, block: Mapping[str, Any]) -> list[str] | None:
    """Without a list the person is asked for whom the token works, else the owner: never the agent itself."""
    listed = block.get("allowed_resolvers")
    if listed is None:
        return None
    for place, one in enumerate(listed):
        if not one.startswith(_HUMAN):
            raise invalid(f"{BLOCKS[verb]}.allowed_resolvers.{place}", "only people (human:…) answer here")
    return [one.removeprefix(_HUMAN) for one in listed]


def _refuse_push(verb: Verb, block: Mapping[str, Any]) -> None:
    """Our webhooks are signed in another way; a call that the agent cannot verify would be worth nothing."""
    callback = block.get("callback") or {}
    if callback.get("mode") == "push":
        told = 'push is not offered: use "pull" and poll_url with ?wait=60, or subscribe to our signed webhooks'
        raise invalid(f"{BLOCKS[verb]}.callback.mode", told)


def _name(verb: Verb, field: str) -> str:
    """As it is called in the envelope."""
    block = BLOCKS[verb]
    renamed_to = {
        "question": "title",
        "context": "body",
        "options": f"{block}.options",
        "form": f"{block}.schema",
        "default": f"{block}.default_on_expire",
        "to": f"{block}.allowed_resolvers",
    }
    first, dot, rest = field.partition(".")
    return f"{renamed_to.get(first, first)}{dot}{rest}"
