"""Tools that answer with our errors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from fastapi import APIRouter, FastAPI, Path
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Message
from tests.clock import START_US, FakeClock

from postroom.kernel.running.loop import Signal
from postroom.kernel.serving.json_door import (
    HEARTBEAT_SECONDS,
    LIFE_SECONDS,
    End,
    EventStream,
    LateRoute,
    StreamEvent,
    framed,
    while_connected,
)


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


def _app(route_class: type[APIRoute]) -> FastAPI:
    router = APIRouter(prefix="/v1", tags=["numbers"], route_class=route_class)

    @router.get("/numbers/{number}", operation_id="number", summary="A number")
    async def number(number: int = Path(le=9), twice: bool = False) -> dict[str, int]:
        """More about it."""
        return {"number": number * (2 if twice else 1)}

    @router.post("/numbers", status_code=201)
    async def keep(body: dict[str, int]) -> dict[str, int]:
        return body

    app = FastAPI()
    app.router.routes.extend(router.routes)
    return app


@pytest.fixture
def app() -> FastAPI:
    return _app(LateRoute)


def _routes(app: FastAPI) -> list[LateRoute]:
    return [route for route in app.routes if isinstance(route, LateRoute)]


def _understood(app: FastAPI) -> list[str]:
    return [route.name for route in _routes(app) if "dependant" in vars(route)]


def test_only_the_route_that_is_called_is_understood(app: FastAPI) -> None:
    client = TestClient(app)
    assert _understood(app) == []
    assert client.get("/v1/nothing").status_code == 404
    assert _understood(app) == []
    assert client.get("/v1/numbers/4?twice=yes").json() == {"number": 8}
    assert _understood(app) == ["number"]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/v1/numbers/4", None),
        ("GET", "/v1/numbers/10", None),
        ("GET", "/v1/numbers/four", None),
        ("GET", "/v1/numbers/4?twice=perhaps", None),
        ("HEAD", "/v1/numbers/4", None),
        ("PUT", "/v1/numbers/4", None),
        ("GET", "/v1/numbers", None),
        ("POST", "/v1/numbers", {"a": 1}),
        ("POST", "/v1/numbers", {"a": "one"}),
    ],
)
def test_it_answers_as_the_frameworks_own_route_does(method: str, path: str, body: Any) -> None:
    late, own = (TestClient(_app(kind)).request(method, path, json=body) for kind in (LateRoute, APIRoute))
    assert (late.status_code, late.text, late.headers) == (own.status_code, own.text, own.headers)


def test_the_document_knows_them_all(app: FastAPI) -> None:
    assert app.openapi() == _app(APIRoute).openapi()
    assert _understood(app) == ["number", "keep"]


def test_what_a_route_does_not_have_is_an_error(app: FastAPI) -> None:
    for _ in range(2):
        with pytest.raises(AttributeError, match="no colour"):
            _ = _routes(app)[0].colour


def a_request(gone: asyncio.Event) -> Request:
    async def receive() -> Message:
        await gone.wait()
        return {"type": "http.disconnect"}

    return Request({"type": "http", "method": "GET", "path": "/", "headers": []}, receive)


async def test_the_work_is_cancelled_when_its_caller_has_gone() -> None:
    gone, cancelled = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        gone.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    with pytest.raises(HTTPException):
        await while_connected(a_request(gone), work())
    assert cancelled.is_set()
