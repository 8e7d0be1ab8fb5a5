"""Crowds of callers on real sockets: who is served, who makes room, who is sent away."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from starlette.types import Message, Receive, Scope, Send
from tests.services.ports import connection_from

from postroom.kernel.serving import servers as connections
from postroom.kernel.serving.servers import (
    Bounds,
    CallerConnections,
    PortTaken,
    WhenAsked,
    answering,
    bind,
    bind_patiently,
    port_of,
    raise_descriptor_limit,
    room_for_callers,
    serving,
    when_written,
)

SOON = 10.0
NEVER = 3600.0
REQUEST = b"GET /now HTTP/1.1\r\nHost: localhost\r\n\r\n"
Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(slots=True)
class Application:
    """Answers at once, or under /later when it is let."""

    started: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))
    let: asyncio.Event = field(default_factory=asyncio.Event)
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        self.headers = scope["headers"]
        if scope["path"] == "/later":
            self.started.release()
            await self.let.wait()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message: Message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return


@dataclass(slots=True)
class House:
    port: int
    application: Application
    callers: list[asyncio.StreamWriter] = field(default_factory=list)

    async def connect(self, said: bytes = b"", host: str = "127.0.0.1") -> Pair:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(host, 0))
        self.callers.append(writer)
        writer.write(said)
        return reader, writer

    async def asks(self, said: bytes = REQUEST, host: str = "127.0.0.1") -> bytes:
        reader, _ = await self.connect(said, host)
        return await status(reader)


async def status(reader: asyncio.StreamReader) -> bytes:
    return (await asyncio.wait_for(reader.readline(), SOON)).strip()


async def is_closed(pair: Pair) -> bool:
    return await asyncio.wait_for(pair[0].read(), SOON) == b""


@asynccontextmanager
async def house(
    *, total: int = 100, per_peer: int = 100, head_seconds: float = NEVER, per_caller: int = 100
) -> AsyncIterator[House]:
    application, listener = Application(), bind("api", "127.0.0.1", 0)
    bounds = Bounds(total=total, per_peer=per_peer, head_seconds=head_seconds, per_caller=per_caller)
    async with serving(application, listener, CallerConnections(bounds)):
        opened = House(port_of(listener), application)
        yield opened
        application.let.set()
        for caller in opened.callers:
            caller.close()


async def test_silent_callers_make_room_for_one_that_asks() -> None:
    async with house(per_peer=5) as one:
        silent = [await one.connect() for _ in range(20)]

        assert await one.asks() == b"HTTP/1.1 200 OK"
        assert all([await is_closed(pair) for pair in silent[:15]])


async def test_blanks_around_the_value_of_a_header_are_no_part_of_it() -> None:
    async with house() as one:
        assert await one.asks(REQUEST.replace(b"\r\n\r\n", b"\r\nMcp-Name: \t ask \t \r\n\r\n")) == b"HTTP/1.1 200 OK"
        assert (b"mcp-name", b"ask") in one.application.headers


async def test_an_answer_bears_the_date_of_its_request(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = b"Sun, 06 Nov 1994 08:49:37 GMT", b"Sun, 06 Nov 1994 08:49:38 GMT"
    async with house() as one:
        for moment, date in ((784111777.9, first), (784111778.0, second)):
            monkeypatch.setattr(connections, "time", SimpleNamespace(time=lambda moment=moment: moment))
            reader, _ = await one.connect(REQUEST)
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), SOON)
            assert b"\r\ndate: " + date in head


async def test_a_silent_caller_goes_before_one_that_was_answered() -> None:
    async with house(per_peer=2) as one:
        answered = await one.connect(REQUEST)
        assert await status(answered[0]) == b"HTTP/1.1 200 OK"
        await answered[0].readuntil(b"ok")
        silent = await one.connect()

        assert await one.asks() == b"HTTP/1.1 200 OK"
        assert await is_closed(silent)
        answered[1].write(REQUEST)
        assert await status(answered[0]) == b"HTTP/1.1 200 OK"


async def test_who_is_being_served_is_never_cut_off_and_the_next_is_told_to_come_again() -> None:
    async with house(per_peer=3) as one:
        served = [await one.connect(REQUEST.replace(b"/now", b"/later")) for _ in range(3)]
        for _ in served:
            await asyncio.wait_for(one.application.started.acquire(), SOON)

        assert await one.asks() == b"HTTP/1.1 503 Service Unavailable"
        one.application.let.set()
        assert [await status(reader) for reader, _ in served] == [b"HTTP/1.1 200 OK"] * 3


async def test_one_address_cannot_take_the_room_of_another() -> None:
    async with house(per_peer=3, total=100) as one:
        for _ in range(3):
            await one.connect(REQUEST.replace(b"/now", b"/later"), "127.0.0.2")
            await asyncio.wait_for(one.application.started.acquire(), SOON)

        assert await one.asks(host="127.0.0.2") == b"HTTP/1.1 503 Service Unavailable"
        assert await one.asks(host="127.0.0.3") == b"HTTP/1.1 200 OK"


async def test_all_addresses_together_have_a_bound_too() -> None:
    async with house(total=4) as one:
        silent = [await one.connect(host=f"127.0.0.{number}") for number in range(2, 12)]

        assert await one.asks() == b"HTTP/1.1 200 OK"
        assert all([await is_closed(pair) for pair in silent[:6]])


@pytest.mark.parametrize(
    ("said", "answer"),
    [(b"", b""), (b"GET / HT", b""), (b"GET / HTTP/1.1\r\nHost: loc", b"HTTP/1.1 408 Request Timeout")],
    ids=["nothing", "half a line", "half a head"],
)
async def test_a_head_that_does_not_come_is_not_waited_for(said: bytes, answer: bytes) -> None:
    async with house(head_seconds=0.2) as one:
        reader, _ = await one.connect(said)
        told = await asyncio.wait_for(reader.read(), SOON)

        assert told.split(b"\r\n")[0] in (answer, b"HTTP/1.1 408 Request Timeout" if said else b"")
        assert await one.asks() == b"HTTP/1.1 200 OK"


async def test_the_head_of_a_second_request_is_not_waited_for_either() -> None:
    async with house(head_seconds=0.2) as one:
        reader, writer = await one.connect(REQUEST)
        assert await status(reader) == b"HTTP/1.1 200 OK"
        await reader.readuntil(b"ok")
        writer.write(b"GET /again HTTP/1.1\r\n")

        assert (await asyncio.wait_for(reader.read(), SOON)).startswith(b"HTTP/1.1 408")


async def test_who_is_answered_slowly_is_not_late() -> None:
    async with house(head_seconds=0.1) as one:
        reader, _ = await one.connect(REQUEST.replace(b"/now", b"/later"))
        await asyncio.wait_for(one.application.started.acquire(), SOON)
        late = await one.connect()  # its time begins later, and is up first
        assert await is_closed(late)

        one.application.let.set()
        assert await status(reader) == b"HTTP/1.1 200 OK"


async def test_nobody_gets_past_the_bounds_by_asking_for_a_websocket() -> None:
    upgrade = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: eA==\r\nSec-WebSocket-Version: 13\r\n"
    async with house() as one:
        assert await one.asks(REQUEST[:-2] + upgrade + b"\r\n") == b"HTTP/1.1 400 Bad Request"


def test_callers_never_get_all_descriptors() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(1024, before[1]), before[1]))
        assert room_for_callers() <= 1024 - 256
        raise_descriptor_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == before[1]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


async def test_requests_that_never_come_whole_make_room_the_longest_silent_first() -> None:
    async with house(per_peer=5) as one:
        half = REQUEST.replace(b"GET /now", b"POST /later").replace(b"\r\n\r\n", b"\r\nContent-Length: 9\r\n\r\nhalf")
        halves = [await one.connect(half) for _ in range(5)]
        for _ in halves:
            await asyncio.wait_for(one.application.started.acquire(), SOON)

        assert await one.asks() == b"HTTP/1.1 200 OK"
        assert await is_closed(halves[0])


async def test_health_answers_when_there_is_no_room_for_anything_else() -> None:
    async with house(per_peer=3) as one:
        for _ in range(3):
            await one.connect(REQUEST.replace(b"/now", b"/later"))
            await asyncio.wait_for(one.application.started.acquire(), SOON)
        silent = [await one.connect() for _ in range(40)]

        assert await one.asks(REQUEST.replace(b"/now", b"/health")) == b"HTTP/1.1 200 OK"
        assert await one.asks() == b"HTTP/1.1 503 Service Unavailable"
        assert await status(silent[0][0]) == b"HTTP/1.1 503 Service Unavailable"


async def test_the_requests_of_one_token_leave_room_for_all_others() -> None:
    def of(token: bytes, path: bytes = b"/now") -> bytes:
        request = REQUEST.replace(b"/now", path)
        return request.replace(b"\r\n\r\n", b"\r\nAuthorization: Bearer " + token + b"\r\n\r\n")

    async with house(per_caller=3) as one:
        waits = [await one.connect(of(b"ci", b"/later")) for _ in range(3)]
        for _ in waits:
            await asyncio.wait_for(one.application.started.acquire(), SOON)

        assert await one.asks(of(b"ci")) == b"HTTP/1.1 429 Too Many Requests"
        for disguise in (b"bEARER  ci ", b"Bearer ci\r\nX-Api-Key: another"):
            worn = of(b"ci").replace(b"Bearer ci", disguise)
            assert await one.asks(worn) == b"HTTP/1.1 429 Too Many Requests"
        other_first = of(b"ci").replace(b"Authorization", b"X-Api-Key: another\r\nAuthorization")
        assert await one.asks(other_first) == b"HTTP/1.1 429 Too Many Requests"
        assert await one.asks(of(b"health")) == b"HTTP/1.1 200 OK"
        waits[0][1].close()
        one.application.let.set()
        assert [await status(reader) for reader, _ in waits[1:]] == [b"HTTP/1.1 200 OK"] * 2
        assert await one.asks(of(b"ci")) == b"HTTP/1.1 200 OK"


async def test_after_some_time_the_connection_is_named_as_the_cause() -> None:
    with connection_from() as caller, pytest.raises(PortTaken, match="a connection of this machine uses the port"):
        await bind_patiently("api", "127.0.0.1", port_of(caller), 0.2)


class WhenAskedApplication:
    def __init__(self) -> None:
        self.served = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.served += 1


class Builder:
    def __init__(self, *failures: Exception) -> None:
        self.failures, self.built = list(failures), list[WhenAskedApplication]()

    def __call__(self) -> WhenAskedApplication:
        if self.failures:
            raise self.failures.pop()
        self.built.append(WhenAskedApplication())
        return self.built[-1]


async def ask(lazy: WhenAsked[WhenAskedApplication]) -> None:
    async def receive() -> dict[str, str]:
        return {}

    async def send(_message: object) -> None:
        return None

    await lazy({"type": "http"}, receive, send)


async def test_nothing_is_built_before_somebody_asks_and_many_who_ask_at_first_are_served_by_one() -> None:
    builder = Builder()
    lazy = WhenAsked(builder)
    assert not builder.built

    await asyncio.gather(*(ask(lazy) for _ in range(10)))
    await ask(lazy)

    assert [one.served for one in builder.built] == [11]


async def test_what_could_not_be_built_is_tried_again_by_the_next() -> None:
    builder = Builder(RuntimeError("not now"))
    lazy = WhenAsked(builder)

    with pytest.raises(RuntimeError, match="not now"):
        await ask(lazy)
    await ask(lazy)

    assert [one.served for one in builder.built] == [1]


@pytest.mark.parametrize(("leaves", "said"), [(False, ["start", "noted", "body"]), (True, ["start", "body"])])
async def test_it_is_noted_before_the_bytes_that_tell_of_it_unless_their_reader_has_hung_up(
    leaves: bool, said: list[str]
) -> None:
    happened, gone = list[str](), asyncio.Event()

    async def note() -> None:
        happened.append("noted")

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200})
        if leaves:
            gone.set()
        await asyncio.create_task(when_written(note))  # as a framework's own task would
        assert "noted" not in happened
        await send({"type": "http.response.body", "body": b"told"})
        await when_written(note)

    async def receive() -> Message:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        happened.append(message["type"].rpartition(".")[2])

    await answering(app, {"type": "http"}, receive, send)

    assert happened == ([*said] if leaves else [*said, "noted"])


async def test_outside_of_any_answer_it_is_noted_at_once() -> None:
    happened = list[str]()

    async def note() -> None:
        happened.append("noted")

    await when_written(note)
    assert happened == ["noted"]
