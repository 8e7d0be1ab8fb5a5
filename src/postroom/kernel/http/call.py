"""One HTTP request that knows whether it left this machine."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from types import SimpleNamespace
from typing import Any, Final

import aiohttp
from aiohttp.abc import AbstractResolver
from multidict import CIMultiDict, CIMultiDictProxy

from postroom.kernel.http.answers import JsonObject, json_object
from postroom.kernel.http.answers import wait_seconds as wait_seconds  # a public path of channels
from postroom.kernel.values.errors import (
    DeliveryTimeout,
    OutcomeUncertain,
    OutOfDescriptors,
    PostroomError,
    TargetUnavailable,
)

MOST_BYTES: Final = 8 * 1024 * 1024
_PIECE_BYTES: Final = 65_536


async def whole_answer(content: aiohttp.StreamReader, most_bytes: int = MOST_BYTES) -> bytes:
    """`content.read` gives what has arrived so far. An answer past the limit is cut: unreadable, not endless."""
    collected = bytearray()
    while len(collected) < most_bytes and (piece := await content.read(_PIECE_BYTES)):
        collected += piece
    return bytes(collected)


_JSON = {"Content-Type": "application/json"}
_MUCH_BYTES = 1_048_576  # written piece by piece, so that the others have their turn
_NO_HEADERS: CIMultiDictProxy[str] = CIMultiDictProxy(CIMultiDict())


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=lambda: _NO_HEADERS, repr=False)
    """Found by any spelling of their names."""

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def told(self) -> JsonObject:
        """Its JSON; empty where it is none."""
        return json_object(self.body)

    @property
    def retry_after(self) -> str | None:
        return self.headers.get("Retry-After")


@dataclass(slots=True)
class _Trip:
    """How far one request came."""

    left: bool = False
    refusal: HttpAnswer | None = None


class HttpCall:
    """
    Makes one request, once, within a deadline: no redirect is followed, nothing is repeated.

    Errors are raised outside of the handlers that caught the library's own:
    those name the URL, and the URL may hold a credential.
    """

    def __init__(self, service: str, connector: Callable[[], aiohttp.BaseConnector] | None = None) -> None:
        """`connector` is asked for one when the first request is made, and after `close` for another."""
        self._service = service
        self._connector = connector
        self._session: aiohttp.ClientSession | None = None

    async def post(self, url: str, body: Mapping[str, Any], timeout_seconds: float) -> HttpAnswer:
        return await self.request("POST", url, timeout_seconds, body=json.dumps(body).encode(), headers=_JSON)

    async def request(
        self,
        method: str,
        url: str,
        timeout_seconds: float,
        *,
        body: bytes | aiohttp.MultipartWriter | None = None,
        headers: Mapping[str, str] | None = None,
        most_bytes: int = MOST_BYTES,
    ) -> HttpAnswer:
        """Raises `OutcomeUncertain` once a byte may have left and no complete answer came back."""
        trip, late, ours = _Trip(), False, None
        try:
            async with asyncio.timeout(timeout_seconds):
                return await self._exchange(method, url, body, headers or {}, trip, most_bytes)
        except TimeoutError:
            late = True
        except (aiohttp.ClientError, OSError) as error:
            ours = None if trip.left else refused_as_private(error, self._service) or out_of_descriptors(error)
        if trip.refusal:
            return trip.refusal
        raise ours or self._failure(trip, late)

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _exchange(
        self,
        method: str,
        url: str,
        body: bytes | aiohttp.MultipartWriter | None,
        headers: Mapping[str, str],
        trip: _Trip,
        most_bytes: int,
    ) -> HttpAnswer:
        async with self._open_session().request(
            method, url, data=_paced(body), headers=headers, allow_redirects=False, trace_request_ctx=trip
        ) as response:
            if not 200 <= response.status < 300:
                # the status alone is a complete refusal, even if its explanation is cut off
                trip.refusal = HttpAnswer(status=response.status, headers=response.headers, body=b"")
            content = await whole_answer(response.content, most_bytes)
            return HttpAnswer(status=response.status, headers=response.headers, body=content)

    def _failure(self, trip: _Trip, late: bool) -> PostroomError:
        if trip.left:
            return OutcomeUncertain(f"{self._service} received the request but no complete answer came back")
        if late:
            return DeliveryTimeout(f"{self._service} could not be reached before the deadline")
        return TargetUnavailable(f"{self._service} could not be reached")

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=self._connector and self._connector(),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
                trace_configs=[_departure()],
            )
            # else the library repeats GET, PUT and DELETE by itself when a kept connection breaks
            self._session._retry_connection = False
        return self._session


def _paced(body: bytes | aiohttp.MultipartWriter | None) -> bytes | aiohttp.MultipartWriter | io.BytesIO | None:
    return io.BytesIO(body) if isinstance(body, bytes) and len(body) > _MUCH_BYTES else body


def _departure() -> aiohttp.TraceConfig:
    """The signals come just before the bytes are written, so `left` never errs towards "not sent"."""
    config = aiohttp.TraceConfig()
    config.on_request_chunk_sent.append(_mark_left)
    config.on_request_headers_sent.append(_mark_left)
    return config


async def _mark_left(session: aiohttp.ClientSession, context: SimpleNamespace, sent: object) -> None:
    context.trace_request_ctx.left = True


# Whether a call failed because this process had no file descriptor left: our trouble, not the provider's.

_OURS: Final = (errno.EMFILE, errno.ENFILE)


def out_of_descriptors(error: BaseException | None) -> OutOfDescriptors | None:
    """Libraries wrap what the system said, and a name that could not be looked up does not say why at all."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _OURS:
            return OutOfDescriptors()
        error = error.__cause__ or error.__context__
    return OutOfDescriptors() if _none_left() else None


def _none_left() -> bool:
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in _OURS
    return False


# Which addresses belong to the open internet, asked again for every connection that is made.


# What Python counts as global and is not, or leads to an address of the old kind that nothing here can judge.
_NOT_OPEN: Final = tuple(
    ip_network(text)
    for text in (
        "192.0.0.0/24",
        "192.88.99.0/24",
        "168.63.129.16/32",  # the inside of a cloud: metadata, served under a global address
        "100::/64",
        "64:ff9b:1::/48",
        "2001::/23",
        "2002::/16",
        "3fff::/20",
        "5f00::/16",
        "fec0::/10",
    )
)
_EMBEDDING: Final = (IPv6Network("::/96"), IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))


class PrivateAddress(OSError):
    """Raised instead of connecting; its words are always the same, so that they name no host."""

    def __init__(self) -> None:
        super().__init__("the address is not on the open internet")


def is_public(text: str) -> bool:
    """An address of the old kind that is written inside a new one is judged as what it is."""
    try:
        address = ip_address(text)
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and any(address in network for network in _EMBEDDING):
        return is_public(str(IPv4Address(int(address) & 0xFFFFFFFF)))
    if address.is_multicast or not address.is_global:
        return False
    return not any(address in network for network in _NOT_OPEN)


def is_plainly_private(host: str) -> bool:
    """Without asking anybody: what is written as an address, or means this machine by its name."""
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        ip_address(name)
    except ValueError:
        return False
    return not is_public(name)


def public_only(resolver: AbstractResolver | None = None) -> aiohttp.TCPConnector:
    """Looks at the very address it is about to connect to, so a name that changes gains nothing."""
    return aiohttp.TCPConnector(socket_factory=_open, resolver=resolver)


def refused_as_private(error: BaseException | None, service: str) -> TargetUnavailable | None:
    while error is not None:
        if isinstance(error, PrivateAddress):
            return private_refusal(service)
        error = error.__cause__ or error.__context__
    return None


def private_refusal(service: str) -> TargetUnavailable:
    return TargetUnavailable(f"{service} leads to a private address, which needs allow_private = true")


def _open(info: tuple[Any, ...]) -> socket.socket:
    family, kind, protocol, _, address = info
    if not is_public(address[0]):
        raise PrivateAddress
    return socket.socket(family=family, type=kind, proto=protocol)
