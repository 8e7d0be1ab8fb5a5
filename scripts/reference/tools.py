"""docs/reference/tools.md: every tool of every MCP server, and who may call it, as the servers themselves say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Tool
from scripts.reference.households import PEOPLE, Shown
from scripts.reference.markdown import code, kind, page, table

from postroom.butlers.daemon import CORE_TOOL_NAMES
from postroom.desk.model import PopupSettings
from postroom.desk.server import build_server as build_desk
from postroom.household.ports import visitors
from postroom.kernel.values.errors import PostroomError, TargetUnavailable
from postroom.kernel.values.principal import Principal, Role
from postroom.questions.doors.tools import ASK_TOOLS
from postroom.settings.peer import HttpPeer

_DESK = PopupSettings(home=Path("unused"), voicemode=Path("unused"), project_path="unused")
_INTRODUCTION = """\
Every server speaks MCP over streamable HTTP at `/mcp` of its port, with a bearer token; the desk speaks it over
standard input and output. *Who may call* was found by calling every tool with every kind of token;
`--operator` is the token with which the owner's own commands and programs call, and *a user* one of an earlier kind."""


async def tools_page(shown: Shown) -> str:
    parts = [await _server(shown, "health", "Every butler", core=True)]
    parts.append(await _server(shown, "switchboard", "Switchboard"))
    parts.append(await _server(shown, "messenger", "Messenger"))
    parts.append(await _server(shown, "api", "API port, for assistants"))
    parts.append("## Desk\n\n`postroom desk`, on the person's own machine.")
    parts += [_tool(tool, None) for tool in await build_desk(_DESK).list_tools()]
    return page("Tools", _INTRODUCTION, parts)


async def _server(shown: Shown, part: str, title: str, *, core: bool = False) -> str:
    url = f"{shown.url(part)}/mcp"
    sections = [f"## {title}"]
    for tool in sorted(await _listed(shown, part, url), key=lambda one: one.name):
        if core or tool.name not in _of_every_butler(part):
            sections.append(_tool(tool, await _callers(shown, part, url, tool.name)))
    return "\n\n".join(sections)


def _of_every_butler(part: str) -> frozenset[str]:
    """What has been described; the assistants' port has its own, and the messenger its own way to take a route."""
    if part == "api":
        return frozenset()
    return frozenset((*CORE_TOOL_NAMES, *ASK_TOOLS)) - ({"route.execute"} if part == "messenger" else set())


async def _listed(shown: Shown, part: str, url: str) -> list[Tool]:
    """Each caller is shown the tools that they may call."""
    found: dict[str, Tool] = {}
    for one in _callers_at(part).values():
        if not visitors(part)(one) and part != "api":
            continue
        headers = {"Authorization": f"Bearer {shown.token(one)}"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(url, http_client=http, terminate_on_close=False)) as client,
        ):
            found |= {tool.name: tool for tool in (await client.list_tools()).tools}
    return list(found.values())


def _callers_at(part: str) -> dict[str, Principal]:
    own = Principal(Role.BUTLER, part)
    asked = {name: own if one is None and part != "api" else one for name, one in PEOPLE.items()}
    return {name: one for name, one in asked.items() if one is not None}


async def _callers(shown: Shown, part: str, url: str, tool: str) -> list[str]:
    """Called without arguments: no tool that changes anything can do without."""
    may = [name for name, one in _callers_at(part).items() if await _may(shown, url, tool, one)]
    return [name for name in may if not _covered(name, may)]


def _covered(name: str, may: Iterable[str]) -> bool:
    return name in ("the butler itself", "switchboard") and "any butler" in may


async def _may(shown: Shown, url: str, tool: str, principal: Principal) -> bool:
    peer = HttpPeer("it", url, shown.token(principal))
    try:
        await peer.call(tool, {}, 30)
    except TargetUnavailable as error:
        return "does not accept our token" not in error.message
    except PostroomError as error:
        return f"may not call {tool}" not in error.message
    finally:
        await peer.close()
    return True


def _tool(tool: Tool, callers: list[str] | None) -> str:
    parts = [f"### {code(tool.name)}", _description(tool.description or "")]
    if callers is not None:
        parts.append(f"*Who may call:* {', '.join(callers)}.")
    parts.append(_fields("argument", tool.input_schema))
    if tool.output_schema:
        parts.append(_fields("answer", tool.output_schema))
    return "\n\n".join(part for part in parts if part)


def _description(text: str) -> str:
    return "\n".join(line.strip() for line in text.strip().splitlines())


def _fields(what: str, schema: Mapping[str, Any]) -> str:
    definitions = schema.get("$defs", {})
    properties: Mapping[str, Any] = schema.get("properties", {})
    if not properties:
        return "No arguments." if what == "argument" else ""
    required = schema.get("required", ())
    rows = [
        (code(name), kind(one, definitions), _default(one, name in required), one.get("description", ""))
        for name, one in properties.items()
    ]
    header = (what, "type", "default" if what == "argument" else "always there", "meaning")
    if what == "answer":
        rows = [(name, type_, "yes" if name.strip("`") in required else "", told) for name, type_, _, told in rows]
    return table(header, rows)


def _default(schema: Mapping[str, Any], required: bool) -> str:
    if required:
        return "required"
    return code(schema["default"]) if schema.get("default") not in (None, "") else ""
