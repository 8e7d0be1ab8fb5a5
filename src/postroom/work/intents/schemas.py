"""The protocol's JSON Schemas, with their formats checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from postroom.domain.errors import Code, FieldError, Refused
from postroom.domain.fields import printable
from postroom.domain.intent import ASK, REPLY
from postroom.domain.sendable_json import unsendable

ENVELOPE: Final = "intent.envelope.v1"
_MOST_COMPLAINTS: Final = 20


@cache
def schema(name: str) -> dict[str, Any]:
    text = files("postroom.domain.schemas").joinpath("protocol", f"{name}.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


@cache
def _validator(name: str) -> Any:
    return validator(schema(name))


def validator(document: Mapping[str, Any]) -> Any:
    import jsonschema_rs  # three megabytes, for those to whom agents write

    return jsonschema_rs.validator_for(dict(document), validate_formats=True)


def check_envelope(envelope: Mapping[str, Any]) -> None:
    """Whether it can be carried at all; then the envelope and, by its type, the payload, every complaint at once."""
    refuse(unsendable(envelope, ""))
    intent_type = envelope.get("intent_type")
    complaints = complaints_of(_validator(ENVELOPE), envelope)
    if intent_type not in (ASK, REPLY):
        complaints.append(FieldError("intent_type", f"must be {ASK} or {REPLY}", "enum"))
    elif isinstance(envelope.get("payload"), Mapping):
        complaints += complaints_of(_validator(str(intent_type)), envelope["payload"], "payload")
    refuse(complaints)


def refuse(complaints: list[FieldError]) -> None:
    if complaints:
        raise Refused.of(Code.SCHEMA_INVALID, complaints[:_MOST_COMPLAINTS])


def complaints_of(checker: Any, value: object, path: str = "") -> list[FieldError]:
    return [_complaint(error, path) for error in checker.iter_errors(value)]


def _complaint(error: Any, path: str) -> FieldError:
    """In our words: the library's would repeat the value, which may be what somebody said."""
    kind = error.kind.as_dict()
    name = str(error.kind.name)
    parts = [path, *map(str, error.instance_path)]
    if name == "required":
        parts.append(str(kind["property"]))
    if name == "additionalProperties":
        parts.append(", ".join(printable(one) for one in kind["unexpected"]))
    return FieldError(".".join(part for part in parts if part) or "body", _sentence(name, kind), name)


def _sentence(name: str, kind: Mapping[str, Any]) -> str:
    match name:
        case "required":
            return "is required"
        case "additionalProperties":
            return "unknown field"
        case "maxLength":
            return f"must have at most {kind['limit']} characters"
        case "minLength":
            return f"must have at least {kind['limit']} characters"
        case "format":
            return f"must be a {kind['format']}"
        case "enum":
            return "must be one of " + ", ".join(map(str, kind["options"]))
        case "const":
            return f"must be {kind['expected_value']}"
        case "type":
            return "must be of type " + " or ".join(sorted(map(str, kind["types"])))
        case "pattern":
            return "does not have the right form"
        case _:
            return "is not valid"
