"""`postroom channels` and `GET /v1/channels`: the household's accounts, what each can do and how it is doing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

from fastapi import APIRouter, Depends
from pydantic import BaseModel

from postroom.kernel.guard.http import allowing
from postroom.kernel.guard.tools import person
from postroom.kernel.running.clock import SystemClock
from postroom.kernel.running.terminal import Home, Json, say, say_json
from postroom.kernel.serving.json_door import JsonRoute, failures
from postroom.kernel.values.fields import web_address
from postroom.kernel.values.ids import parse_text, to_text
from postroom.kernel.values.zones import relative
from postroom.message.channel import Capabilities, ListedAccount
from postroom.settings.load import from_process
from postroom.settings.reach import Elsewhere, elsewhere

_ABLE: Final = ("buttons", "edits", "deletes", "reacts", "replies", "threads", "files", "inbound", "reconciles")


def channels(home: Home = None, json: Json = False) -> None:
    """List each channel with its kind, what it can do and its health; POSTROOM_URL names a household elsewhere."""
    settings, _ = from_process({"home": home})
    there = elsewhere(settings, home)
    if there is None:
        from postroom.settings.reach import operator_token

        here = web_address(settings.host, settings.ports.api)
        there = Elsewhere(url=here, token=operator_token(settings.tokens_file))
    found: list[dict[str, Any]] = there.get("/v1/channels")["channels"]
    if json:
        say_json(found)
        return
    for one in found:
        say(f"{_named(one)}  {_health(one)}; {_abilities(one['capabilities'])}")
        if trouble := one.get("trouble"):
            since = relative(parse_text(trouble["since"]), SystemClock().now_us())
            say(f"  hears nothing since {since}: {trouble['sentence']}")


def _named(account: Mapping[str, Any]) -> str:
    name, kind = account["name"], account["kind"]
    return str(name) if name == kind else f"{name} ({kind})"


def _health(account: Mapping[str, Any]) -> str:
    health = account["health"]
    if not account["configured"]:
        return "not set up"
    if health is None:
        return "health unknown: the messenger does not answer"
    if health["throttled_seconds"] is not None:
        return f"the provider asks us to wait {health['throttled_seconds']:.0f} s"
    return "well" if health["circuit"] == "closed" else f"circuit {health['circuit']}: {health['reason']}"


def _abilities(can: Mapping[str, Any]) -> str:
    able = [name for name in _ABLE if can[name]]
    most = f", {can['max_units']} {can['unit']} a message" if can["max_units"] else ""
    return f"{can['style']}, {', '.join(can['formats'])}{most}; {', '.join(able) or 'sends only'}"


# `GET /v1/channels`: every account of the household, for people.


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
