"""docs/reference/routes.md: every HTTP route of every port, from the OpenAPI document that the port serves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scripts.reference.households import Shown
from scripts.reference.markdown import code, kind, page, table

_PORTS = {
    "api": "API",
    "chatgpt": "ChatGPT adapter",
    "gemini": "Gemini adapter",
    "health": "Every butler, the switchboard and the messenger",
}
_INTRODUCTION = """\
Every port here serves its own OpenAPI 3.1 document at `/openapi.json` and says at `/health` whether it is up. Apart
from those two and `/metrics`, a call needs `Authorization: Bearer TOKEN`. The schemas themselves are in the
documents. The sandbox has [routes of its own](../how-to/sandbox.md#all-routes), without a token."""


async def routes_page(shown: Shown) -> str:
    parts = []
    for part, title in _PORTS.items():
        document = await shown.document(part)
        parts.append(f"## {title}")
        parts.append(table(("route", "what it does", "asks for", "answers"), _rows(document)))
    return page("Routes", _INTRODUCTION, parts)


def _rows(document: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    definitions = document.get("components", {}).get("schemas", {})
    return [
        (
            code(f"{method.upper()} {path}"),
            operation.get("summary", ""),
            _asked(operation, definitions),
            ", ".join(sorted(operation.get("responses", {}))),
        )
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if method != "parameters"
    ]


def _asked(operation: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    named = [
        f"{code(one['name'])} ({one['in']}; {kind(one.get('schema', {}), definitions)})"
        for one in operation.get("parameters", [])
        if "name" in one
    ]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    return ", ".join([*named, *([f"a body: {_body(body, definitions)}"] if body else [])])


def _body(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    found = definitions.get(schema.get("$ref", "").rsplit("/", 1)[-1], schema)
    required = found.get("required", ())
    names = [f"{code(name)}{'' if name in required else '?'}" for name in found.get("properties", {})]
    return ", ".join(names) or kind(found, definitions)
