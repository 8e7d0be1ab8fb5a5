"""Tables and types, as the reference pages write them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

NOTE = "<!-- written by scripts/generate-reference.py; change the code, not this page -->"


def page(title: str, introduction: str, parts: Iterable[str]) -> str:
    return "\n\n".join([f"# {title}", NOTE, introduction, *parts]) + "\n"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(_cell(text) for text in row) + " |" for row in rows]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def code(text: object) -> str:
    return f"`{text}`"


def kind(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """A JSON Schema in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return kind({"title": name, **definitions.get(name, {})}, definitions)
    if "const" in schema:
        return code(schema["const"])
    if "enum" in schema:
        return ", ".join(code(one) for one in schema["enum"])
    if several := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(kind(one, definitions) for one in several))
    return _plain(schema, definitions)


def _plain(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    match schema.get("type"):
        case "array":
            return f"list of {kind(schema.get('items') or {}, definitions)}"
        case "string":
            return _bounded(schema.get("format", "text"), schema, "minLength", "maxLength", " characters")
        case "integer" | "number" as name:
            return _bounded(name, schema, "minimum", "maximum", "")
        case "boolean":
            return "true or false"
        case list(names):
            return " or ".join(names)
        case None:
            return "anything"
        case name:
            return str(name)


def _bounded(name: str, schema: Mapping[str, Any], low: str, high: str, unit: str) -> str:
    least, most = schema.get(low), schema.get(high)
    if least is None and most is None:
        return name
    if least is None or most is None:
        return f"{name}, {'at most' if least is None else 'at least'} {most if least is None else least}{unit}"
    return f"{name}, {least} to {most}{unit}"
