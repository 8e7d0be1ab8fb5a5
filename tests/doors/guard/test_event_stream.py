"""One writer of server-sent events: how an event looks on the wire, and when a stream looks again, speaks and ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.clock import START_US, FakeClock

from postroom.doors.guard.event_stream import HEARTBEAT_SECONDS, LIFE_SECONDS, End, EventStream, StreamEvent, framed
from postroom.system.signal import Signal


@pytest.mark.parametrize(
    ("event", "wire"),
    [
        pytest.param(StreamEvent(retry_ms=1000), "retry: 1000\n\n", id="a pause alone"),
        pytest.param(StreamEvent(name="deliveries", data="-"), "event: deliveries\ndata: -\n\n", id="text"),
        pytest.param(
            StreamEvent(name="unread", id="7", data={"count": 1}),
            'id: 7\nevent: unread\ndata: {"count": 1}\n\n',
            id="JSON",
        ),
        pytest.param(StreamEvent(name="end", data={}), "event: end\ndata: {}\n\n", id="an empty object"),
        pytest.param(
            StreamEvent(retry_ms=2, id="1", name="all", data="x"), "retry: 2\nid: 1\nevent: all\ndata: x\n\n", id="all"
        ),
        pytest.param(
            StreamEvent(name="a", data="x\n\nevent: b\rdata: y\r\nz"),
            "event: a\ndata: x\ndata: \ndata: event: b\ndata: data: y\ndata: z\n\n",
            id="text that looks like events",
        ),
        pytest.param(
            StreamEvent(name="a", data={"text": "x\n\ny\u2028é", "score": float("nan")}),
            'event: a\ndata: {"text": "x\\n\\ny\u2028é", "score": null}\n\n',
            id="strict JSON in one line",
        ),
    ],
)
def test_an_event_on_the_wire(event: StreamEvent, wire: str) -> None:
    assert framed(event) == wire


class Reader:
    """Reads a stream whose looks yield what the test puts into `found`."""

    def __init__(self, clock: FakeClock, during_look: Callable[[], None] = lambda: None, **about: Any) -> None:
        self.signal = Signal()
        self.found: list[StreamEvent | End] = []
        self.looks: list[float] = []
        self.read: list[str] = []
        self.is_listening = False
        self._clock = clock
        self._during_look = during_look
        self.stream = EventStream(look=self._look, listening=self._listening(), clock=clock, **about)

    @contextmanager
    def _listening(self) -> Iterator[Signal]:
        self.is_listening = True
        try:
            yield self.signal
        finally:
            self.is_listening = False

    async def _look(self, _: Signal) -> AsyncGenerator[StreamEvent | End, None]:
        self.looks.append((self._clock.now_us() - START_US) / 1_000_000)
        found, self.found = self.found, []
        for one in found:
            yield one
        self._during_look()

    async def to_the_end(self) -> None:
        async for part in self.stream.frames():
            self.read.append(part)


async def test_a_quiet_stream_says_that_it_is_there_and_ends_by_itself(clock: FakeClock) -> None:
    reader = Reader(clock, first=StreamEvent(retry_ms=1), last=StreamEvent(name="over", data="-"))
    reading = asyncio.create_task(reader.to_the_end())
    await clock.advance(LIFE_SECONDS)

    assert reading.done()
    beats = int(LIFE_SECONDS / HEARTBEAT_SECONDS)
    assert reader.read == ["retry: 1\n\n", *[": still here\n\n"] * beats, "event: over\ndata: -\n\n"]
    assert not reader.is_listening


async def test_without_time_it_looks_once(clock: FakeClock) -> None:
    reader = Reader(clock, life_seconds=0.0)
    reader.found = [StreamEvent(data="x")]
    await reader.to_the_end()

    assert (reader.looks, reader.read) == ([0], ["data: x\n\n"])


async def test_it_looks_when_the_signal_rings_and_when_its_pause_is_over(clock: FakeClock) -> None:
    reader = Reader(clock, life_seconds=10.0, pause_seconds=4.0, has_heartbeat=False)
    reading = asyncio.create_task(reader.to_the_end())
    await clock.advance(1)
    reader.found = [StreamEvent(data="x")]
    reader.signal.ring()
    await clock.advance(9)

    assert reading.done()
    assert (reader.looks, reader.read) == ([0, 1, 5, 9, 10], ["data: x\n\n"])


async def test_news_during_a_look_is_looked_at_at_once(clock: FakeClock) -> None:
    ring = iter([True, False])
    reader = Reader(clock, lambda: reader.signal.ring() if next(ring, False) else None)
    reading = asyncio.create_task(reader.to_the_end())
    await clock.parked()

    assert reader.looks == [0, 0]
    reading.cancel()


async def test_when_nothing_more_can_come_it_ends_without_another_word(clock: FakeClock) -> None:
    reader = Reader(clock, last=StreamEvent(name="over", data="-"))
    reader.found = [StreamEvent(data="x"), End(), StreamEvent(data="y")]
    await reader.to_the_end()

    assert (reader.read, reader.is_listening) == (["data: x\n\n"], False)


async def test_when_the_house_stops_it_looks_once_more_and_ends(clock: FakeClock) -> None:
    reader = Reader(clock, last=StreamEvent(name="over", data="-"))
    reading = asyncio.create_task(reader.to_the_end())
    await clock.parked()
    reader.found = [StreamEvent(data="x")]
    reader.signal.close()
    await reading

    assert reader.read == ["data: x\n\n", "event: over\ndata: -\n\n"]


async def test_a_reader_that_is_gone_is_listened_for_no_longer(clock: FakeClock) -> None:
    reader = Reader(clock, first=StreamEvent(retry_ms=1))
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)
        if message["type"] == "http.response.body":
            assert reader.is_listening
            raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        await reader.stream.response().stream_response(send)

    assert not reader.is_listening
    assert dict(sent[0]["headers"])[b"cache-control"] == b"no-store"
