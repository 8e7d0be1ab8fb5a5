"""`postroom connectors`: the files an assistant's host imports, made from the same table as the adapters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Final,
)

import typer

from postroom.connectors.app import AdapterParts, adapter_app, adapter_parts, own_url
from postroom.connectors.household import HouseholdElsewhere
from postroom.connectors.profile import CHATGPT, FACES, GEMINI, Face
from postroom.kernel.running.terminal import Home, Json, say, say_json
from postroom.kernel.values.errors import Mistyped
from postroom.kernel.values.fields import Document, did_you_mean, web_address
from postroom.settings import Settings
from postroom.settings.load import from_process
from postroom.settings.reach import HouseholdClient

app = typer.Typer(help="Connect ChatGPT and Gemini.", no_args_is_help=True)

Which = Annotated[str, typer.Argument(help="chatgpt or gemini.")]
Out = Annotated[Path | None, typer.Option("--out", help="Folder to write into; by default ./postroom-NAME.")]
_Url = Annotated[str, typer.Option("--url", help="Public address of the adapter, https://…")]
_McpUrl = Annotated[str, typer.Option("--mcp-url", help="Public address of the assistants' MCP server.")]

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


@app.command("export")
def export(
    which: Which, out: Out = None, url: _Url = "", mcp_url: _McpUrl = "", home: Home = None, json: Json = False
) -> None:
    """Write the files a host imports: an OpenAPI document, an extension manifest, function declarations."""
    settings, _ = from_process({"home": home})
    if which not in FACES:
        raise Mistyped(f"There is no connector '{which}'{did_you_mean(which, FACES)} There are {', '.join(FACES)}.")
    folder = out or Path(f"postroom-{which}")
    folder.mkdir(parents=True, exist_ok=True)
    files = _files(which, settings, url, mcp_url)
    for name, content in files.items():
        folder.joinpath(name).write_text(content, encoding="utf-8")
    if json:
        say_json({"folder": str(folder), "files": sorted(files)})
        return
    for name in files:
        say(str(folder / name))


def _files(which: str, settings: Settings, url: str, mcp_url: str) -> dict[str, str]:
    api, face = web_address(settings.host, settings.ports.api), FACES[which]
    there = HouseholdElsewhere(HouseholdClient(api))
    parts = adapter_parts(face, settings, there, own_url=own_url(face, settings), public_url=url)
    return chatgpt_files(parts) if face is CHATGPT else gemini_files(parts, mcp_url or f"{api}/mcp")


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


def function_declarations(face: Face) -> list[Document]:
    return [
        {"name": name, "description": description, "parameters": _subset(face.schema(resolving=resolving))}
        for name, resolving, description in _ACTIONS
    ]


def _subset(schema: Document) -> Document:
    """The part of JSON Schema that function calling knows."""
    kept = {name: value for name, value in schema.items() if name in _KNOWN}
    if kept.get("format") not in (None, *_FORMATS):
        del kept["format"]
    if "properties" in kept:
        kept["properties"] = {name: _subset(value) for name, value in kept["properties"].items()}
    return kept


def _json(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"
