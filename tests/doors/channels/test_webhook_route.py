from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from fastapi import APIRouter, FastAPI
from tests.clock import FakeClock

from postroom.domain.errors import StoreUnavailable
from postroom.doors.channels.webhook_route import SECRET_HEADER, channel_webhook_router


class Store:
    def __init__(self) -> None:
        self.kept: list[tuple[str, int]] = []
        self.is_away = False

    async def keep(self, channel: str, number: int, update: Mapping[str, Any], now_us: int) -> None:
        if self.is_away:
            raise StoreUnavailable("away")
        self.kept.append((channel, number))


@pytest.mark.requirement("talk:webhook-once")
async def test_what_is_not_stored_is_not_acknowledged(clock: FakeClock) -> None:
    store, rung = Store(), list[str]()
    router = channel_webhook_router({"telegram": "s3cret"}, store, clock, lambda: rung.append("now"))
    right = (SECRET_HEADER.encode(), b"s3cret")

    store.is_away = True
    first = await posted(router, 7, right)
    store.is_away = False
    second = await posted(router, 7, right)
    doubled, odd = await posted(router, 8, right, right), await posted(router, 8, (right[0], b"\xff"))

    assert (first, second, doubled, odd) == (503, 200, 401, 401)
    assert (store.kept, rung) == ([("telegram", 7)], ["now"])


async def posted(router: APIRouter, number: int, *headers: tuple[bytes, bytes]) -> int:
    app, body, said = FastAPI(), json.dumps({"update_id": number}).encode(), list[Any]()
    app.include_router(router)
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/channels/telegram/webhook",
        "query_string": b"",
        "headers": [(name.lower(), value) for name, value in headers],
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        said.append(message)

    await app(scope, receive, send)
    return int(said[0]["status"])
