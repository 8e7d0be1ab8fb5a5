"""The API port: health, metrics, and the routers other doors bring."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import RedirectResponse
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request as RequestsRequest
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from postroom.agents.coding.permission_tool import PERMISSION_TOOL
from postroom.approvals.acts import ACTS as APPROVAL_ACTS
from postroom.approvals.approvals import Approvals
from postroom.attention.attention import Attention
from postroom.channels.acts import ListChannels
from postroom.connectors.profile import PATH as LLMS
from postroom.connectors.profile import llms_text
from postroom.conversations.press import PATH as CHANNELS
from postroom.delivery.routes import (
    MOST_UPLOAD_BYTES,
    UPLOADS,
    Sending,
    upload_router,
)
from postroom.household.butlers import build_corrections, build_notifier
from postroom.household.channels import Accounts, known_channels, usable_channels
from postroom.household.delivery import build_lookups, sender_status
from postroom.household.questions import decisions
from postroom.household.store import World
from postroom.inbox.copies import PATH as CONFIRM
from postroom.kernel.acts.routes import act_router
from postroom.kernel.acts.tools import add_tools
from postroom.kernel.guard.answered_once import AnsweredOnce, StoredIdempotencyKeys, declare_key
from postroom.kernel.guard.http import FormSessions, Guard, LongCalls, Verifier
from postroom.kernel.guard.tools import GuardedServer, Rule, any_butler, approver, butler, no_one, sends
from postroom.kernel.running.loop import Failing, part_health
from postroom.kernel.serving.acts_document import describe_acts
from postroom.kernel.serving.json_door import answer_in_one_shape
from postroom.kernel.serving.mcp import (
    McpSessions,
    asking_back,
    is_session_of,
    look_once_for_param_headers,
    streaming,
)
from postroom.kernel.values.fields import Document
from postroom.kernel.values.principal import Principal, Role
from postroom.message.acts import NotifyPerson, NotifyStatus, Recall, Revise, channel_words
from postroom.message.channel import Outbound
from postroom.overview.acts import HouseholdStanding, ListAudit, ShowHousehold, TraceDelivery, WhyDelivery
from postroom.overview.audit import AuditedCalls
from postroom.people.signing_in.rules import ROOT as CONSOLE
from postroom.questions.asked_people import AskedPeople
from postroom.questions.doors.tools import LONG_TOOLS
from postroom.questions.links.links import PATH as ASK_LINK
from postroom.settings import Settings
from postroom.settings.listeners import bounds_of
from postroom.settings.roster import MESSENGER

PUBLIC: tuple[str, ...] = ("/health", "/openapi.json", "/metrics", LLMS)
_KEYED: Final = ("/contacts", "/v1/")  # below these, a POST is answered once under an `Idempotency-Key`
OWN_KEY: Final = frozenset(
    {"/v1/asks", "/v1/intents", "/v1/notify", UPLOADS}
)  # the key becomes the key of what is made
_PAIR: Final = re.compile(r"/v1/people/[^/]+/pair")  # likewise: its answer, a code, is never kept
_CORRECTION: Final = re.compile(r"/v1/deliveries/[^/]+/(revise|recall)")  # likewise
_OWN_DOORS: Final[tuple[str, ...]] = (CONFIRM, ASK_LINK, CHANNELS)
NOTHING_MADE: Final = re.compile(r"/contacts/resolve|/v1/people/[^/]+/attention/preview")


def answered_by_key(path: str) -> bool:
    return path.startswith(_KEYED) and NOTHING_MADE.fullmatch(path) is None and not has_own_key(path)


def refuses_key(method: str, path: str) -> bool:
    """A key that would change nothing is refused, so that none is ever taken for honoured."""
    if method in ("GET", "HEAD", "OPTIONS") or not path.startswith(_KEYED):
        return False
    return method != "POST" or not (answered_by_key(path) or has_own_key(path))


def has_own_key(path: str) -> bool:
    return path in OWN_KEY or any(one.fullmatch(path) for one in (_PAIR, _CORRECTION))


def api_app(world: World, routers: Sequence[APIRouter], server: MCPServer[Any], console: ASGIApp | None) -> ASGIApp:
    """Assistants find the server's tools at /mcp of the same port; people find the console at /console."""
    settings, store, transport = world.settings, world.store, McpTransport(server)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        async with transport.running():
            yield

    app = FastAPI(title="Postroom", version="1", docs_url=None, redoc_url=None, lifespan=lifespan)

    _add_open_pages(app, world.registry, world.loops.troubles, settings.household_id)
    answer_in_one_shape(app)
    for router in routers:
        app.router.routes.extend(router.routes)  # as they are: a router included is understood route by route again
    app.router.routes.extend(transport.routes)
    describe_acts(app)
    declare_key(app, lambda path: answered_by_key(path) or has_own_key(path))
    _, sessions = bounds_of(settings.serving)
    reached = McpSessions(transport.around(AuditedCalls(app, store.audit, world.clock)), sessions)
    inner = AnsweredOnce(
        app=reached,
        keys=StoredIdempotencyKeys(store.database),
        clock=world.clock,
        mint=store.ids.mint,
        answered_by_key=answered_by_key,
        refuses_key=refuses_key,
    )
    public, own_doors = PUBLIC, _OWN_DOORS
    if console is not None:
        app.mount(CONSOLE, console)
        app.add_route("/", _to_console, include_in_schema=False)
        public, own_doors = (*public, "/", CONSOLE), (*own_doors, CONSOLE)
    return Guard(
        inner,
        verifier=world.tokens,
        public=public,
        own_doors=own_doors,
        without_referrer=(ASK_LINK,),
        streamed={UPLOADS: MOST_UPLOAD_BYTES},
        hosts=settings.served_hosts,
        origins=settings.allowed_origins,
    )


def _add_open_pages(app: FastAPI, registry: CollectorRegistry, failing: Failing, household: str) -> None:
    """What needs no token."""

    @app.get("/health", operation_id="health", summary="Whether this part is up")
    async def health() -> Document:
        return part_health("api", failing(), household)

    @app.get("/metrics", operation_id="metrics", summary="Figures for Prometheus", response_class=Response)
    async def metrics() -> Response:
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    @app.get(LLMS, operation_id="llms", summary="What a model should know before it calls", response_class=Response)
    async def llms() -> Response:
        return Response(llms_text(), media_type="text/plain; charset=utf-8")


async def _to_console(_request: Request) -> Response:
    return RedirectResponse(f"{CONSOLE}/", status_code=307)


# Who has business at which MCP port; what they may do there is the tools' own rule.


def visitors(part: str) -> Rule:
    """
    A butler's port is its own, and the switchboard routes to it; the switchboard's
    is for all butlers; at the messenger's, people decide approvals.
    """
    match part:
        case "switchboard":
            return any_butler
        case "messenger":
            return _messengers_visitor
        case _:
            return butler(part, "switchboard")


def _messengers_visitor(one: Principal) -> bool:
    return one.role in (Role.PERSON, Role.USER) or butler("switchboard", "messenger")(one)


# The HTTP face of an MCP server: /mcp, /health and /openapi.json behind the guard.


def butler_app(server: MCPServer[Any], verifier: Verifier, settings: Settings, failing: Failing = tuple) -> ASGIApp:
    """Open to those who may visit this butler, within the household's bounds."""
    _, sessions = bounds_of(settings.serving)
    transport = McpTransport(server)

    async def health(_request: RequestsRequest) -> JSONResponse:
        return JSONResponse(part_health(server.name, failing(), settings.household_id))

    async def openapi(_request: RequestsRequest) -> JSONResponse:
        return JSONResponse(_document(server))

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with transport.running():
            yield

    routes = [Route("/health", health), Route("/openapi.json", openapi), *transport.routes]
    app = transport.around(Starlette(routes=routes, lifespan=lifespan))
    return Guard(
        McpSessions(app, sessions),
        verifier=verifier,
        hosts=settings.served_hosts,
        origins=settings.allowed_origins,
        allow=visitors(server.name),
    )


def _document(server: MCPServer[Any]) -> Document:
    answer = {"200": {"description": "OK", "content": {"application/json": {"schema": {"type": "object"}}}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": f"Postroom {server.name}", "version": "1", "description": server.description or ""},
        "paths": {
            "/health": {"get": {"operationId": "health", "summary": "Whether this part is up", "responses": answer}},
            "/mcp": {
                "post": {
                    "operationId": "mcp",
                    "summary": "Model Context Protocol, streamable HTTP",
                    "security": [{"bearer": []}],
                    "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}},
                    "responses": answer,
                }
            },
        },
        "components": {"securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}},
    }


# The ways to the tools of one MCP server over HTTP: as JSON at once, or as a stream for what waits or asks back.


class McpTransport:
    """JSON answers cost half of what event streams cost, as measured; but they carry no progress."""

    def __init__(self, server: MCPServer[Any]) -> None:
        self._server = server
        self.routes = server.streamable_http_app(
            json_response=True,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the guard does it
        ).routes
        look_once_for_param_headers(server)
        self._long = streaming(server)
        self._forms = asking_back(server)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self._server.session_manager.run(), self._long.run(), self._forms.run():
            yield

    def around(self, app: ASGIApp) -> ASGIApp:
        """`app` has the routes."""
        long = LongCalls(app, self._long.handle_request, (*LONG_TOOLS, PERMISSION_TOOL))
        return FormSessions(long, self._forms.handle_request, partial(is_session_of, self._forms))


# The plain doors of the API port put together: send a message, ask what became of it, decide what may be sent.

_MESSAGES: Final = (NotifyPerson, NotifyStatus, Revise, Recall)


def message_tools(server: GuardedServer, sending: Sending) -> dict[str, Rule]:
    """Of those who send: programs and butlers."""
    add_tools(server, _MESSAGES, sending, {"channels": channel_words(sending.notifier.channels)})
    return dict.fromkeys((tool.name for one in _MESSAGES if (tool := one.declared.tool)), sends)


def plain_routers(world: World, sending: Sending, approvals: Approvals | None) -> list[APIRouter]:
    """`approvals`: of the messenger, where it runs in this process."""
    settings, store = world.settings, world.store
    channels, messenger = known_channels(settings), world.peers.to(MESSENGER)
    accounts = Accounts(settings=settings, channels=channels, messenger=messenger, troubles=store.troubles)
    may_decide = approver(world.approvers) if settings.approvals_on else no_one
    standing = HouseholdStanding(
        listed=accounts.listed,
        overview=store.overview,
        may_decide=may_decide,
        in_sandbox=settings.in_sandbox,
        clock=world.clock,
        started_at_us=world.clock.now_us(),
    )
    return [
        act_router([NotifyPerson, Revise, Recall], sending),
        upload_router(world.files),
        act_router([WhyDelivery, TraceDelivery], build_lookups(world)),
        act_router(APPROVAL_ACTS, decisions(world, approvals)),
        act_router([ListChannels], accounts.listed),
        act_router([ShowHousehold], standing),
        act_router([ListAudit], store.audit),
    ]


def build_sending(world: World, outbound: Outbound, attention: Attention) -> Sending:
    settings, store, channels = world.settings, world.store, known_channels(world.settings)
    return Sending(
        book=store.household,
        people=AskedPeople(book=store.people),
        channels={name: channels[name] for name in usable_channels(settings)},
        notifier=build_notifier(world, outbound),
        status=sender_status(store, attention),
        corrected=build_corrections(world).correct,
        clock=world.clock,
        mint=store.ids,
    )
