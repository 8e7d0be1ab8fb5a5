"""What a stream writes."""

from __future__ import annotations

import json
from typing import Any

from tests.clock import FakeClock

from postroom.intents.routes import stream
from postroom.kernel.running.loop import Signal
from postroom.kernel.serving.streams import StreamEvent


async def test_every_event_is_strict_json_whatever_was_stored_before() -> None:
    clock = FakeClock()

    async def fetch() -> tuple[list[StreamEvent], bool]:
        return [StreamEvent(name="intent.completed", id="1", data={"payload": {"score": float("nan")}})], True

    written = [str(part) async for part in stream(fetch, Signal(), clock, 1.0).body_iterator]

    assert [json.loads(part.partition("data: ")[2], parse_constant=refuse) for part in written] == [
        {"payload": {"score": None}},
        {},
    ]


def refuse(constant: str) -> Any:
    raise AssertionError(f"{constant} is not JSON")
