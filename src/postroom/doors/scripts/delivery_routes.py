"""What became of a delivery, for its sender and for the operator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated, Any, Protocol

from fastapi import APIRouter, HTTPException, Path
from pydantic import BaseModel

from postroom.domain.errors import Code, Refused
from postroom.domain.principal import Principal, Role
from postroom.doors.guard.depends import Caller
from postroom.doors.guard.json_door import JsonRoute, failures
from postroom.doors.guard.sender import sender_of
from postroom.work.delivery.history import DeliveryReason as Explanation
from postroom.work.delivery.history import NothingKnown, SeveralMeant

Identifier = Annotated[str, Path(max_length=128, description="Of a delivery or its request; its unique beginning.")]


class TraceReader(Protocol):
    """With an `origin`, only what that sender has sent is known; raises NothingKnown for anything else."""

    async def why(self, identifier: str, origin: str | None) -> list[Explanation]: ...

    async def trace(self, identifier: str, origin: str | None) -> dict[str, Any]: ...


class Reason(BaseModel):
    id: str
    why: str


class WhyAnswer(BaseModel):
    ok: bool
    reasons: list[Reason]


class TraceAnswer(BaseModel):
    ok: bool
    trace: dict[str, Any]


def delivery_router(record: TraceReader) -> APIRouter:
    router = APIRouter(route_class=JsonRoute, tags=["deliveries"], responses=failures(401, 403, 404, 422, 503))

    @router.get(
        "/v1/deliveries/{identifier}/why",
        operation_id="whyDelivery",
        summary="Why a message of yours is where it is, in plain English",
        response_model=WhyAnswer,
    )
    async def why(identifier: Identifier, caller: Caller) -> dict[str, Any]:
        with _not_found():
            return {"ok": True, "reasons": [asdict(one) for one in await record.why(identifier, _origin(caller))]}

    @router.get(
        "/v1/deliveries/{identifier}/trace",
        operation_id="traceDelivery",
        summary="Every hop, attempt and receipt of a message of yours",
        response_model=TraceAnswer,
    )
    async def trace(identifier: Identifier, caller: Caller) -> dict[str, Any]:
        with _not_found():
            return {"ok": True, "trace": await record.trace(identifier, _origin(caller))}

    return router


@contextmanager
def _not_found() -> Iterator[None]:
    try:
        yield
    except (NothingKnown, SeveralMeant) as error:
        raise Refused(Code.NOT_FOUND, str(error)) from None


def _origin(caller: Principal) -> str | None:
    """The operator sees everything."""
    if caller.role is Role.OPERATOR:
        return None
    if (origin := sender_of(caller)) is None:
        raise HTTPException(403, f"{caller} sends no messages of its own")
    return origin
