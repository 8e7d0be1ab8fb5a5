"""`GET /v1/channels`: every account of the household, for people."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import fields
from typing import Any

from fastapi import APIRouter, Depends
from pydantic import BaseModel

from postroom.kernel.guard.http import allowing
from postroom.kernel.guard.tools import person
from postroom.kernel.serving.json_door import JsonRoute, failures
from postroom.kernel.values.ids import to_text
from postroom.message.channel import Capabilities, ListedAccount


class HealthAnswer(BaseModel):
    circuit: str
    reason: str | None
    retry_after_seconds: float | None
    throttled_seconds: float | None


class TroubleAnswer(BaseModel):
    """What keeps it from hearing people, and since when."""

    sentence: str
    since: str


class ChannelAnswer(BaseModel):
    name: str
    kind: str
    configured: bool
    capabilities: dict[str, Any]
    health: HealthAnswer | None
    trouble: TroubleAnswer | None


class ChannelsAnswer(BaseModel):
    ok: bool
    channels: list[ChannelAnswer]


def channel_router(listed: Callable[[], Awaitable[Sequence[ListedAccount]]]) -> APIRouter:
    only = [Depends(allowing(person))]
    router = APIRouter(route_class=JsonRoute, tags=["channels"], responses=failures(401, 403, 503), dependencies=only)

    @router.get(
        "/v1/channels",
        operation_id="listChannels",
        summary="Every account with what it can do and how it is doing",
        response_model=ChannelsAnswer,
    )
    async def channels() -> dict[str, Any]:
        return {"ok": True, "channels": [account_document(one) for one in await listed()]}

    return router


def account_document(account: ListedAccount) -> dict[str, Any]:
    health, trouble = account.health, account.trouble
    return {
        "name": account.name,
        "kind": account.kind,
        "configured": account.configured,
        "capabilities": capabilities_document(account.capabilities),
        "health": None if health is None else {one.name: getattr(health, one.name) for one in fields(health)},
        "trouble": {"sentence": trouble.sentence, "since": to_text(trouble.since_us)} if trouble else None,
    }


def capabilities_document(can: Capabilities) -> dict[str, Any]:
    """A thread's identity as a caller is told to write it."""
    told = {one.name: getattr(can, one.name) for one in fields(can)}
    form = can.thread_identity
    return {**told, "formats": list(can.formats), "thread_identity": form.words if form else None}
