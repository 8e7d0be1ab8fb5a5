"""The API port: health, metrics, and the routers other doors bring."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Final

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import RedirectResponse
from mcp.server.mcpserver import MCPServer
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.types import ASGIApp

from postroom.app.mcp_transport import McpTransport
from postroom.domain.clock import Clock
from postroom.domain.ids import IdMint
from postroom.doors.assistants.llms_text import PATH as LLMS
from postroom.doors.assistants.llms_text import llms_text
from postroom.doors.audit.audited_calls import AuditedCalls
from postroom.doors.audit.ports import Audit
from postroom.doors.channels.press_route import PATH as CHANNELS
from postroom.doors.console.root import ROOT as CONSOLE
from postroom.doors.guard.answered_once import AnsweredOnce, IdempotencyKeys, declare_key
from postroom.doors.guard.http import Guard, Verifier
from postroom.doors.guard.json_door import answer_in_one_shape
from postroom.doors.scripts.upload_body import MOST_UPLOAD_BYTES
from postroom.doors.scripts.upload_routes import UPLOADS
from postroom.system.mcp_sessions import McpSessions, SessionBounds
from postroom.system.part_health import Failing, part_health
from postroom.work.inbox.confirmation import PATH as CONFIRM
from postroom.work.questions.links import PATH as ASK_LINK
from postroom.world.store.engine.database import Database
from postroom.world.store.shared.audit import StoredAudit
from postroom.world.store.shared.idempotency_keys import StoredIdempotencyKeys

PUBLIC: tuple[str, ...] = ("/health", "/openapi.json", "/metrics", LLMS)
_KEYED: Final = ("/contacts", "/v1/")  # below these, a POST is answered once under an `Idempotency-Key`
OWN_KEY: Final = frozenset(
    {"/v1/asks", "/v1/intents", "/v1/notify", UPLOADS}
)  # the key becomes the key of what is made
_PAIR: Final = re.compile(r"/v1/people/[^/]+/pair")  # likewise: its answer, a code, is never kept
_CORRECTION: Final = re.compile(r"/v1/deliveries/[^/]+/(revise|recall)")  # likewise
_OWN_DOORS: Final[tuple[str, ...]] = (CONFIRM, ASK_LINK, CHANNELS)
NOTHING_MADE: Final = re.compile(r"/contacts/resolve|/v1/people/[^/]+/attention/preview")


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """What it takes to answer the same call once, and to write down who made it."""

    keys: IdempotencyKeys
    clock: Clock
    mint: Callable[[int], str]
    audit: Audit


def once_of(database: Database, clock: Clock, mint: IdMint) -> Once:
    keys, audit = StoredIdempotencyKeys(database), StoredAudit(database, mint.mint)
    return Once(keys=keys, clock=clock, mint=mint.mint, audit=audit)


def answered_by_key(path: str) -> bool:
    return path.startswith(_KEYED) and NOTHING_MADE.fullmatch(path) is None and not has_own_key(path)


def refuses_key(method: str, path: str) -> bool:
    """A key that would change nothing is refused, so that none is ever taken for honoured."""
    if method in ("GET", "HEAD", "OPTIONS") or not path.startswith(_KEYED):
        return False
    return method != "POST" or not (answered_by_key(path) or has_own_key(path))


def has_own_key(path: str) -> bool:
    return path in OWN_KEY or any(one.fullmatch(path) for one in (_PAIR, _CORRECTION))


def api_app(
    registry: CollectorRegistry,
    verifier: Verifier,
    *,
    routers: Sequence[APIRouter] = (),
    console: ASGIApp | None = None,
    server: MCPServer[Any] | None = None,
    failing: Failing,
    once: Once,
    sessions: SessionBounds = SessionBounds(),  # noqa: B008  # frozen
    hosts: tuple[str, ...],
    origins: tuple[str, ...],
    household: str = "",
) -> ASGIApp:
    """With an MCP server, assistants find its tools at /mcp of the same port; people find the console at /console."""
    transport = McpTransport(server) if server else None

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        async with transport.running() if transport else nullcontext():
            yield

    app = FastAPI(title="Postroom", version="1", docs_url=None, redoc_url=None, lifespan=lifespan)

    _add_open_pages(app, registry, failing, household)
    answer_in_one_shape(app)
    for router in routers:
        app.router.routes.extend(router.routes)  # as they are: a router included is understood route by route again
    if transport:
        app.router.routes.extend(transport.routes)
    declare_key(app, lambda path: answered_by_key(path) or has_own_key(path))
    noted = AuditedCalls(app, once.audit, once.clock)
    reached = McpSessions(transport.around(noted) if transport else noted, sessions)
    inner = AnsweredOnce(
        reached,
        keys=once.keys,
        clock=once.clock,
        mint=once.mint,
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
        verifier=verifier,
        public=public,
        own_doors=own_doors,
        without_referrer=(ASK_LINK,),
        streamed={UPLOADS: MOST_UPLOAD_BYTES},
        hosts=hosts,
        origins=origins,
    )


def _add_open_pages(app: FastAPI, registry: CollectorRegistry, failing: Failing, household: str) -> None:
    """What needs no token."""

    @app.get("/health", operation_id="health", summary="Whether this part is up")
    async def health() -> dict[str, Any]:
        return part_health("api", failing(), household)

    @app.get("/metrics", operation_id="metrics", summary="Figures for Prometheus", response_class=Response)
    async def metrics() -> Response:
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    @app.get(LLMS, operation_id="llms", summary="What a model should know before it calls", response_class=Response)
    async def llms() -> Response:
        return Response(llms_text(), media_type="text/plain; charset=utf-8")


async def _to_console(_request: Request) -> Response:
    return RedirectResponse(f"{CONSOLE}/", status_code=307)
