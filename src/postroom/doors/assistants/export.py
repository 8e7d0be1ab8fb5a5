"""Files an assistant's host imports, made from the same table as the adapters."""

from __future__ import annotations

import json
from typing import Any, Final

from postroom.doors.assistants.adapter_app import AdapterParts, adapter_app
from postroom.doors.assistants.profile import CHATGPT, GEMINI, Face

_ACTIONS: Final = (
    (
        "send_message",
        False,
        "Tell or ask somebody something. Sends only when the recipient is certain; otherwise answers with candidates.",
    ),
    ("resolve_recipient", True, "Find out whom a name means. Sends nothing."),
)
_KNOWN: Final = frozenset({"type", "description", "enum", "format", "properties", "required", "items"})
_FORMATS: Final = frozenset({"enum", "date-time"})

_INSTRUCTIONS: Final = """\
# Postroom

Postroom carries messages between the people of this household, its butlers and you.

- Pass a recipient's name exactly as the person said it; never complete or guess it.
- When an answer says `needs_confirmation` or `needs_disambiguation`, nothing was sent. Show the candidates with their
  hints, let the person choose, then call again with `confirm_send` and the `resolution_token` of that candidate.
- When it says `contact_not_found`, tell the person; do not try other spellings on your own.
- Ask `get_intent_status` what became of a message; the answer of the person is in `result.answer`.
"""


def chatgpt_files(parts: AdapterParts) -> dict[str, str]:
    """The OpenAPI document of the adapter, ready for a ChatGPT Action."""
    return {"openapi.json": _json(adapter_app(CHATGPT, parts).openapi())}


def gemini_files(parts: AdapterParts, mcp_url: str) -> dict[str, str]:
    """An extension for Gemini CLI, a configuration for Antigravity, and function declarations for the Gemini API."""
    headers = {"Authorization": "Bearer ${POSTROOM_TOKEN}"}
    extension = {
        "name": "postroom",
        "version": "1.0.0",
        "contextFileName": "GEMINI.md",
        "mcpServers": {"postroom": {"type": "http", "url": mcp_url, "headers": headers, "timeout": 45_000}},
    }
    antigravity = {"mcpServers": {"postroom": {"serverUrl": mcp_url, "headers": headers}}}
    return {
        "gemini-extension.json": _json(extension),
        "GEMINI.md": _INSTRUCTIONS,
        "mcp_config.json": _json(antigravity),
        "function_declarations.json": _json(function_declarations(GEMINI)),
        "openapi.json": _json(adapter_app(GEMINI, parts).openapi()),
    }


def function_declarations(face: Face) -> list[dict[str, Any]]:
    return [
        {"name": name, "description": description, "parameters": _subset(face.schema(resolving=resolving))}
        for name, resolving, description in _ACTIONS
    ]


def _subset(schema: dict[str, Any]) -> dict[str, Any]:
    """The part of JSON Schema that function calling knows."""
    kept = {name: value for name, value in schema.items() if name in _KNOWN}
    if kept.get("format") not in (None, *_FORMATS):
        del kept["format"]
    if "properties" in kept:
        kept["properties"] = {name: _subset(value) for name, value in kept["properties"].items()}
    return kept


def _json(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"
