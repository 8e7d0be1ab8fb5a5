"""Calls while this process has no file descriptor left."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult
from tests.contract.bot_api import BotApi, Trouble, accepted, reply
from tests.contract.connection import Listener
from tests.contract.mail_server import MailServer
from tests.contract.pieces import Piecemeal

from postroom.channels.email.building import OutgoingMail
from postroom.channels.email.channel import Server, SmtpVisit
from postroom.kernel.http import call as public_address
from postroom.kernel.http.call import (
    HttpCall,
    is_plainly_private,
    is_public,
    out_of_descriptors,
    public_only,
)
from postroom.kernel.values.errors import DeliveryTimeout, OutcomeUncertain, OutOfDescriptors, TargetUnavailable

MAIL = OutgoingMail(
    sender="a@x.org", recipient="b@x.org", message_id="<1@x.org>", content=b"Subject: x\r\n\r\nx\r\n", private=()
)


@contextmanager
def exhausted() -> Iterator[None]:
    """Every descriptor up to a lowered limit is taken."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = [os.open(os.devnull, os.O_RDONLY)]
    try:
        highest = max(int(one.name) for one in Path("/dev/fd").iterdir())
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, before[1]))
        while True:
            try:
                taken.append(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                break
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for descriptor in taken:
            os.close(descriptor)


async def refused(call: Callable[[], Awaitable[object]]) -> None:
    with exhausted(), pytest.raises(OutOfDescriptors):
        await call()


async def test_a_request_that_could_open_no_connection_failed_for_our_own_reasons() -> None:
    call = HttpCall("The service")
    async with BotApi() as server:
        await refused(lambda: call.post(server.url, {}, 5.0))
        assert server.taken == 0

        assert (await call.post(server.url, {}, 5.0)).status == 200
    await call.close()


async def test_a_mail_likewise() -> None:
    async with MailServer() as server:
        address = Server(
            host="127.0.0.1",
            port=server.port,
            security="none",
            username=None,
            password=None,
            tls_context=None,
        )
        await refused(lambda: SmtpVisit(address).make(MAIL, 5.0))

        await SmtpVisit(address).make(MAIL, 5.0)


def test_what_a_library_wrapped_is_recognised_and_anything_else_is_the_providers() -> None:
    wrapped = RuntimeError("connect failed")
    wrapped.__cause__ = OSError(24, "Too many open files")

    assert isinstance(out_of_descriptors(wrapped), OutOfDescriptors)
    assert out_of_descriptors(ConnectionRefusedError(111, "refused")) is None


def test_a_failure_that_does_not_say_why_is_ours_while_nothing_can_be_opened() -> None:
    with exhausted():
        found = out_of_descriptors(OSError("a name could not be looked up"))

    assert isinstance(found, OutOfDescriptors)


class Silence(Listener):
    """Accepts connections and says nothing, not even a TLS handshake."""

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.hang()


async def test_a_tls_handshake_that_never_ends_is_not_sent() -> None:
    call = HttpCall("The service")
    async with Silence() as server:
        with pytest.raises(DeliveryTimeout):
            await call.post(f"https://127.0.0.1:{server.port}/x", {}, 0.2)
    await call.close()

    assert server.connections == 1


async def test_a_tls_handshake_that_is_cut_is_not_sent() -> None:
    call = HttpCall("The service")
    async with BotApi() as server:
        server.behave(Trouble.RESET_BEFORE_READING)
        with pytest.raises(TargetUnavailable):
            await call.post(f"https://127.0.0.1:{server.port}/x", {}, 5.0)
    await call.close()

    assert server.taken == 0


@pytest.mark.parametrize("piece_bytes", [1, 90], ids=["byte by byte", "head and body apart"])
async def test_an_answer_that_arrives_in_pieces_is_read_whole(piece_bytes: int) -> None:
    call, document = HttpCall("The service"), {"words": "word " * 50}
    async with Piecemeal(document, piece_bytes=piece_bytes) as server:
        answer = await call.post(server.url, {}, 5.0)
    await call.close()

    assert json.loads(answer.body) == document


async def test_a_name_that_does_not_resolve_is_not_sent() -> None:
    call = HttpCall("The service")
    with pytest.raises((TargetUnavailable, DeliveryTimeout)):
        await call.post("http://nowhere.invalid/x", {}, 5.0)
    await call.close()


async def test_a_connection_is_reused() -> None:
    call = HttpCall("The service")
    async with BotApi() as server:
        for _ in range(3):
            await call.post(server.url, {}, 5.0)
        await call.close()

    assert (server.connections, server.taken) == (1, 3)


async def test_a_connection_the_server_closed_in_between_is_replaced() -> None:
    call = HttpCall("The service")
    async with BotApi() as server:
        closing = reply(200, {}, headers="Connection: close\r\n", close=True)
        server.behave(closing, accepted())
        await call.post(server.url, {}, 5.0)
        answer = await call.post(server.url, {}, 5.0)
        await call.close()

    assert answer.status == 200
    assert (server.connections, server.taken) == (2, 2)


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
async def test_no_method_is_repeated_behind_our_back_over_a_reused_connection_that_is_cut(method: str) -> None:
    call = HttpCall("The service")
    async with BotApi() as server:
        server.behave(accepted(), Trouble.READ_THEN_RESET)
        await call.request(method, server.url, 5.0)
        with pytest.raises(OutcomeUncertain):
            await call.request(method, server.url, 5.0, headers={"Authorization": "Bearer x"})
        await call.close()

    assert (server.connections, server.taken) == (1, 2)


async def test_the_headers_of_an_answer_are_found_by_any_spelling() -> None:
    call = HttpCall("The service")
    async with BotApi() as server:
        server.behave(reply(429, {}, headers="X-RateLimit-Reset-After: 1.5\r\nretry-after: 2\r\n"))
        answer = await call.request("PUT", server.url, 5.0, body=b"{}")
        await call.close()

    assert (answer.headers["x-ratelimit-reset-after"], answer.retry_after) == ("1.5", "2")


async def test_a_redirect_is_not_followed() -> None:
    call = HttpCall("The service")
    async with BotApi() as elsewhere, BotApi() as server:
        server.behave(reply(307, {}, headers=f"Location: {elsewhere.url}/\r\n"))
        answer = await call.post(server.url, {}, 5.0)
        await call.close()

    assert (answer.status, elsewhere.taken) == (307, 0)


async def test_an_endless_answer_is_cut() -> None:
    call = HttpCall("The service")
    async with BotApi() as server:
        server.behave(reply(200, "x" * 9_000_000))
        answer = await call.post(server.url, {}, 10.0)
        await call.close()

    assert len(answer.body) < 9_000_000


OPEN = ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "2001:4860:4860::8888", "::ffff:8.8.8.8", "64:ff9b::808:808"]
CLOSED = {
    "loopback": ["127.0.0.1", "127.255.255.254", "::1"],
    "unspecified": ["0.0.0.0", "0.1.2.3", "::"],
    "private": ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", "fc00::1", "fdff::1", "fec0::1"],
    "link-local": ["169.254.0.1", "fe80::1", "fe80::1%eth0"],
    "metadata": ["169.254.169.254", "fd00:ec2::254", "168.63.129.16", "100.100.100.200", "192.0.0.192"],
    "shared": ["100.64.0.1", "100.127.255.255"],
    "multicast": ["224.0.0.1", "239.255.255.250", "ff02::1", "ff0e::1"],
    "broadcast and reserved": ["255.255.255.255", "240.0.0.1"],
    "for documents and measurements": ["192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1", "2001:db8::1"],
    "mapped": ["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254"],
    "compatible": ["::127.0.0.1", "::10.0.0.1"],
    "NAT64": ["64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808"],
    "tunnels": ["2002:7f00:1::", "2002:808:808::", "2001:0:808:808::"],
    "no address": ["", "example.org", "127.1", "0x7f000001"],
}


@pytest.mark.requirement("house:private-addresses")
@pytest.mark.parametrize("text", OPEN)
def test_an_address_of_the_open_internet_is_public(text: str) -> None:
    assert is_public(text)


@pytest.mark.requirement("house:private-addresses")
@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in CLOSED.items() for text in texts])
def test_every_other_address_is_not(kind: str, text: str) -> None:
    assert not is_public(text)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST.", "a.localhost", "127.0.0.1", "[::1]", "169.254.169.254"])
def test_what_is_written_as_a_private_place_is_known_without_asking(host: str) -> None:
    assert is_plainly_private(host)


@pytest.mark.parametrize("host", ["example.org", "8.8.8.8", "localhost.example.org", "127.1"])
def test_any_other_host_is_judged_when_it_is_connected_to(host: str) -> None:
    assert not is_plainly_private(host)


class Names(AbstractResolver):
    """Leads to the next of its answers each time it is asked; the last one repeats."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        given = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [
            ResolveResult(hostname=host, host=one, port=port, family=socket.AF_INET, proto=0, flags=0) for one in given
        ]

    async def close(self) -> None:
        """Nothing is open."""


@pytest.mark.requirement("house:private-addresses")
@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("127.0.0.1", "leads to a private address, which needs allow_private = true"),
        ("[::ffff:127.0.0.1]", "leads to a private address"),
        ("0x7f000001", "leads to a private address"),
        ("hook.example", "leads to a private address"),
        ("127.1", "could not be reached"),  # the library takes it for no host at all
        ("2130706433", "could not be reached"),
    ],
)
async def test_however_it_is_written_a_private_address_is_not_connected_to(host: str, said: str) -> None:
    async with BotApi() as server:
        call = HttpCall("The service", connector=lambda: public_only(Names(["127.0.0.1"])))
        with pytest.raises(TargetUnavailable, match=f"^The service {said}"):
            await call.post(f"http://{host}:{server.port}/", {}, 5.0)
        await call.close()

    assert server.connections == 0


@pytest.mark.requirement("house:private-addresses")
async def test_a_name_that_leads_elsewhere_later_is_judged_again(
    free_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """127.0.0.2 is the open internet here; the name then leads to 127.0.0.1, where the same server answers."""
    monkeypatch.setattr(public_address, "is_public", lambda text: text == "127.0.0.2" or is_public(text))
    heard: list[str] = []

    async def hook(request: web.Request) -> web.Response:
        heard.append(request.transport.get_extra_info("sockname")[0] if request.transport else "")
        return web.Response(headers={"Connection": "close"})

    application = web.Application()
    application.router.add_post("/", hook)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "0.0.0.0", free_port).start()
    connector = public_only(Names(["127.0.0.2"], ["127.0.0.1"]))
    call = HttpCall("The service", connector=lambda: connector)
    try:
        assert (await call.post(f"http://hook.example:{free_port}/", {}, 5.0)).status == 200
        connector.clear_dns_cache()
        with pytest.raises(TargetUnavailable, match="private address"):
            await call.post(f"http://hook.example:{free_port}/", {}, 5.0)
    finally:
        await call.close()
        await runner.cleanup()

    assert heard == ["127.0.0.2"]


async def test_a_call_that_was_closed_connects_again_with_a_connector_of_its_own() -> None:
    async with BotApi() as server:
        call = HttpCall("The service", connector=lambda: public_only(Names(["127.0.0.1"])))
        for _ in range(2):
            with pytest.raises(TargetUnavailable):
                await call.post(f"http://hook.example:{server.port}/", {}, 5.0)
            await call.close()
