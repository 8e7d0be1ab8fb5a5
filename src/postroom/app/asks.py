"""The doors of questions, put together: the tools of every butler and of the assistants, REST, the stream and links."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from mcp.server.mcpserver import MCPServer

from postroom.app.address_book import Approvers
from postroom.app.household_key import household_key
from postroom.app.questions import AskingParts
from postroom.app.store import OpenedStore
from postroom.doors.asks.client_forms import ClientForms
from postroom.doors.asks.link_routes import LinkParts, link_router
from postroom.doors.asks.permission_tool import PERMISSION_TOOL, PermissionParts, add_permission_tool
from postroom.doors.asks.ready_prompts import add_ready_prompts
from postroom.doors.asks.routes import AskRouteParts, ask_router
from postroom.doors.asks.tools import ASK_TOOLS, AskToolParts, add_ask_tools
from postroom.doors.butler.daemon import Butler
from postroom.doors.guard.guarded_server import GuardedServer
from postroom.doors.guard.http import Verifier
from postroom.doors.guard.tool_policy import Rule, answers_for_themselves, anyone, butler
from postroom.system.settings import Settings
from postroom.work.questions.feed import QuestionFeed


def butler_asks(server: GuardedServer, one: Butler, parts: AskingParts) -> None:
    """The butler itself asks, and its sessions do under their own tokens."""
    add_ask_tools(server, _tool_parts(parts, one.verifier))
    add_permission_tool(server, PermissionParts(asking=parts.asking, verifier=one.verifier))
    add_ready_prompts(server)
    server.policy.allow(dict.fromkeys((*ASK_TOOLS, PERMISSION_TOOL), butler(one.name)))


def assistants_ask(server: MCPServer[Any], parts: AskingParts, verifier: Verifier) -> dict[str, Rule]:
    """Everyone with a token asks, in the token's name."""
    add_ask_tools(server, _tool_parts(parts, verifier))
    add_permission_tool(server, PermissionParts(asking=parts.asking, verifier=verifier))
    add_ready_prompts(server)
    return dict.fromkeys((*ASK_TOOLS, PERMISSION_TOOL), anyone)


def _tool_parts(parts: AskingParts, verifier: Verifier) -> AskToolParts:
    forms = ClientForms(asking=parts.asking, people=parts.in_client, zone_of=parts.zone_of)
    return AskToolParts(forms=forms, verifier=verifier, state_key=parts.state_key)


def ask_routers(parts: AskingParts, settings: Settings, store: OpenedStore) -> list[APIRouter]:
    approvers = Approvers(settings.approvals.approvers, store.household)
    asks = AskRouteParts(
        asking=parts.asking,
        feed=QuestionFeed(asking=parts.asking, lines=parts.store),
        signal=parts.bells.every,
        clock=parts.clock,
        mint=parts.mint.mint,
        may_answer=answers_for_themselves(approvers),
    )
    links = LinkParts(
        links=parts.links, key=household_key(settings.home, "link pages"), clock=parts.clock, zone_of=parts.zone_of
    )
    return [ask_router(asks), link_router(links)]
