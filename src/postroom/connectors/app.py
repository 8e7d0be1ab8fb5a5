"""An adapter as an HTTP service, whichever assistant it faces."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Final, Literal
from uuid import NAMESPACE_URL, uuid5

from fastapi import APIRouter, FastAPI, HTTPException, Request
from pydantic import BaseModel, Field

from postroom.connectors.household import AdaptAnswer, Adapter, Errand, HouseholdAt, HouseholdElsewhere
from postroom.connectors.profile import Face
from postroom.intents.envelope import AssistantCall, complaints_of, refuse, validator
from postroom.kernel.guard.answered_once import declare_key
from postroom.kernel.guard.http import Guard, Verifier, idempotency_key_of
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.running.clock import Clock, SystemClock
from postroom.kernel.running.loop import Failing, part_health
from postroom.kernel.serving.json_door import JsonRoute, add_to_document, answer_in_one_shape, failures
from postroom.kernel.values.errors import Code, Refused
from postroom.kernel.values.fields import Document, unsendable, web_address
from postroom.kernel.values.ids import IdMint
from postroom.kernel.values.principal import HEADER, PRINCIPAL, Agency, Principal, Role, agreed_key, refuse_key
from postroom.settings import Settings
from postroom.settings.load import from_process
from postroom.settings.reach import HouseholdClient

# Open to the guard, because these answer "no token" in the adapters' own shape.
_ADAPT: Final = "/v1/adapt"
_PUBLIC: Final = ("/health", "/openapi.json", _ADAPT, "/v1/resolve")
_REFUSALS: Final = failures(400, 401, 403, 404, 409, 413, 422, 503)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterParts:
    verifier: Verifier
    agency: Agency
    household_at: HouseholdAt
    clock: Clock
    mint: Callable[[int], str]
    public_url: str
    household: str = ""
    failing: Failing = tuple
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()


class Health(BaseModel):
    status: Literal["ok", "degraded"]
    part: str
    household: str = Field(description="The same for all parts of one household, and for no other's.")
    loops: list[dict[str, Any]] = Field(default=[], description="Background work that fails just now.")


# The service.


def adapter_app(face: Face, parts: AdapterParts) -> FastAPI:
    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        await parts.household_at.close()

    app = FastAPI(
        title=face.title,
        version="1",
        description="Tell or ask people something, and find out whom a name means.",
        servers=[{"url": parts.public_url}],
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    answer_in_one_shape(app)
    app.router.routes.extend(_router(face, parts).routes)
    declare_key(app, lambda path: path == _ADAPT)
    add_to_document(app, _declare_bearer)
    app.add_middleware(Guard, verifier=parts.verifier, public=_PUBLIC, hosts=parts.hosts, origins=parts.origins)
    return app


def _router(face: Face, parts: AdapterParts) -> APIRouter:
    router = APIRouter(route_class=JsonRoute)
    whole, resolving = _checker(face.schema()), _checker(face.schema(resolving=True))

    @router.post(
        _ADAPT,
        operation_id="sendMessage",
        summary="Tell or ask somebody something",
        description="Sends only when the recipient is certain. Otherwise shows candidates: let the person choose, then "
        "call again with confirm_send and the resolution_token of the choice.",
        responses=_REFUSALS,
        openapi_extra=_extra(face.schema(), consequential=True),
    )
    async def adapt(request: Request) -> AdaptAnswer:
        return await _answer(face, parts, request, whole, resolve_only=False)

    @router.post(
        "/v1/resolve",
        operation_id="resolveRecipient",
        summary="Find out whom a name means; sends nothing",
        responses=_REFUSALS,
        openapi_extra=_extra(face.schema(resolving=True), consequential=False),
    )
    async def resolve(request: Request) -> AdaptAnswer:
        refuse_key(request.headers.getlist(HEADER))
        return await _answer(face, parts, request, resolving, resolve_only=True)

    @router.get("/health", operation_id="health", summary="Whether this part is up", response_model=Health)
    async def health() -> Document:
        return part_health(face.name, parts.failing(), parts.household)

    return router


def _checker(schema: Mapping[str, Any]) -> Callable[[], Any]:
    """Made for the first message: it takes some megabytes, and not everybody's assistant writes."""
    return cache(partial(validator, schema))


async def _answer(
    face: Face, parts: AdapterParts, request: Request, checker: Callable[[], Any], *, resolve_only: bool
) -> AdaptAnswer:
    principal = _principal(face, request)
    body = await _body(request, checker())
    sender = parts.agency.sender(principal, body[face.wire("from_agent")], face.wire("from_agent"))
    call = face.call({**body, "resolve_only": True} if resolve_only else body, sender)
    key = None if resolve_only else idempotency_key_of(request)
    if key is not None:
        call = _keyed(call, principal, key)
    submitted_under = call.idempotency_key if key else None
    errand = Errand(principal, _token(request), submitted_under)
    adapter = Adapter(
        household=parts.household_at, errand=errand, clock=parts.clock, mint=parts.mint, as_at_first=key is not None
    )
    try:
        return await adapter.adapt(call)
    except Refused as error:
        raise error.renamed(partial(_field, face)) from None


def _keyed(call: AssistantCall, caller: Principal, key: str) -> AssistantCall:
    """The same call again has the same key and belongs to the same conversation."""
    conversation = str(uuid5(NAMESPACE_URL, f"postroom:{caller}:{call.from_agent}:{key}"))
    return replace(
        call,
        idempotency_key=agreed_key(key, call.idempotency_key),
        correlation_id=call.correlation_id or conversation,
    )


def _principal(face: Face, request: Request) -> Principal:
    principal = request.scope.get(PRINCIPAL)
    if not isinstance(principal, Principal):
        raise Refused(Code.AUTH_FAILED, "a valid bearer token is required")
    if principal.role is not Role.OPERATOR and principal != Principal(Role.CONNECTOR, face.name):
        raise Refused(Code.POLICY_DENIED, f"this adapter serves connector:{face.name}")
    return principal


def _token(request: Request) -> str:
    """The guard has verified it; the household will do so again."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else request.headers.get("x-api-key", "").strip()


async def _body(request: Request, checker: Any) -> Document:
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise HTTPException(400, "the body is not JSON") from None
    refuse(unsendable(body, "") or complaints_of(checker, body))
    return dict(body)


def _field(face: Face, name: str) -> str:
    """By the name this assistant knows."""
    return face.wire(name).replace("payload.", f"{face.wire('payload')}.", 1)


def _extra(schema: Document, *, consequential: bool) -> Document:
    return {
        "x-openai-isConsequential": consequential,
        "security": [{"bearer": []}],
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
    }


def _declare_bearer(document: Document) -> None:
    """Actions know one kind of credential per document."""
    document.setdefault("components", {})["securitySchemes"] = {
        "bearer": {"type": "http", "scheme": "bearer", "description": "The connector's token."}
    }


# By itself: everything it needs from the settings of this process.


def standalone(face: Face) -> FastAPI:
    """For uvicorn: the household is looked for where the settings say."""
    settings, _ = from_process()
    api_url = settings.connector(face.name).household_url or web_address(settings.host, settings.ports.api)
    household_at = HouseholdElsewhere(HouseholdClient(api_url))
    return adapter_app(face, adapter_parts(face, settings, household_at, own_url=own_url(face, settings)))


def own_url(face: Face, settings: Settings) -> str:
    """Where an adapter listens when nobody says where else it is reached."""
    return web_address(settings.host, getattr(settings.ports, face.name))


def adapter_parts(
    face: Face,
    settings: Settings,
    household_at: HouseholdAt,
    *,
    own_url: str,
    public_url: str = "",
) -> AdapterParts:
    tokens = TokenFile(settings.tokens_file)
    return AdapterParts(
        verifier=tokens,
        agency=agency_of(settings, tokens),
        household_at=household_at,
        clock=SystemClock(),
        mint=IdMint().mint,
        public_url=public_url or settings.connector(face.name).public_url or own_url,
        household=settings.household_id,
        hosts=settings.served_hosts,
        origins=settings.allowed_origins,
    )


def agency_of(settings: Settings, tokens: TokenFile) -> Agency:
    """What a token was made for wins over what the settings say of its connector."""
    return Agency(lambda name: tokens.agents_of(name) or settings.connector(name).agents)
