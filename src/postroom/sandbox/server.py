"""The sandbox's HTTP application behind one guard, and all its servers, started and stopped together."""

from __future__ import annotations

import logging
import socket
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from postroom.kernel.running.clock import Clock, SystemClock
from postroom.kernel.values.errors import ValidationError, error_object
from postroom.kernel.values.fields import is_loopback, web_address
from postroom.sandbox.control import Control
from postroom.sandbox.faults import ArmedFaults, SandboxParts
from postroom.sandbox.imap import ImapServer
from postroom.sandbox.ledger import SandboxLedger
from postroom.sandbox.mail import Mailroom, SmtpServer
from postroom.sandbox.page import SandboxPage
from postroom.sandbox.person import SandboxPerson
from postroom.sandbox.records import SANDBOX_TOKEN, answer
from postroom.sandbox.telegram import BotApi

MAX_BODY_BYTES = 1_048_576
_SIGN = {"X-Postroom-Sandbox": "nothing leaves this machine", "Cache-Control": "no-store"}


def only_from_here(hosts: Collection[str]) -> Middleware:
    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        if reason := refusal_reason(request.headers, request.method, request.path, hosts):
            return error_answer(request, 403, reason)
        return await handler(request)

    return guard


@web.middleware
async def in_json(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Programs read every answer, so a refusal by the framework is JSON too."""
    try:
        return await handler(request)
    except ValidationError as error:
        return answer({"status": "error", "error": {"fields": []} | error_object(error)}, status=422)
    except web.HTTPRedirection:
        raise
    except web.HTTPException as error:
        return error_answer(request, error.status, error.reason)


def error_answer(request: web.Request, status: int, words: str) -> web.Response:
    if request.path.startswith("/bot"):
        return web.json_response({"ok": False, "error_code": status, "description": words}, status=status)
    return answer({"status": "error", "error": {"class": "http_error", "message": words}}, status=status)


async def _sign(request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(_SIGN)


# Only this machine's own pages and programs may talk to the sandbox.
#
# A web page anywhere can make a browser call 127.0.0.1. It cannot hide its Origin, nor the Host name it used, so both
# are checked. A plain image or link carries no Origin; for those the browser's Sec-Fetch-Site tells.


def refusal_reason(headers: Mapping[str, str], method: str, path: str, hosts: Collection[str]) -> str | None:
    host = headers.get("Host", "")
    if not _is_ours(hostname(host), hosts):
        return "this Host is not served by the sandbox"
    origin = headers.get("Origin")
    if origin is not None and origin.lower() != f"http://{host.lower()}":
        return "requests from other origins are refused"
    site = headers.get("Sec-Fetch-Site", "none")
    if site not in {"none", "same-origin"} and not _opens_the_page(headers, method, path):
        return "requests from other sites are refused"
    return None


def hostname(host: str) -> str:
    """Without the port and the brackets of an IPv6 address."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def _is_ours(name: str, hosts: Collection[str]) -> bool:
    return name in hosts or is_loopback(name)


def _opens_the_page(headers: Mapping[str, str], method: str, path: str) -> bool:
    """A link from another page, such as the console's, may open the phone and the mailbox."""
    return method == "GET" and headers.get("Sec-Fetch-Mode") == "navigate" and path in {"/", "/sandbox", "/sandbox/"}


# All sandbox servers, started and stopped together in the running loop.

DEFAULT_BOT_API_PORT = 40290
DEFAULT_SMTP_PORT = 40225
DEFAULT_IMAP_PORT = 40243
_STOP_SECONDS = 2.0
_ANY_ADDRESS = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - listed to keep them out of the allowed names


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxOptions:
    """
    Port 0 takes any free port; a bound socket wins over host and port.

    With a token, only that one opens the Bot API; without, any that looks like one.
    """

    host: str = "127.0.0.1"
    bot_api_port: int = 0
    smtp_port: int = 0
    imap_port: int = 0
    ledger_path: Path | None = None
    token: str | None = None
    bot_api_socket: socket.socket | None = None
    smtp_socket: socket.socket | None = None
    imap_socket: socket.socket | None = None
    household: str | None = None  # whose sandbox this is, for those who ask /health
    zone: str | None = None  # in which its page tells the hours


class Sandbox:
    def __init__(self, options: SandboxOptions, clock: Clock | None = None) -> None:
        self.options = options
        self.ledger = SandboxLedger(options.ledger_path)
        self.faults = ArmedFaults()
        self.parts = parts = SandboxParts(ledger=self.ledger, faults=self.faults, clock=clock or SystemClock())
        self.bot_api_port = self.smtp_port = self.imap_port = 0
        person = SandboxPerson(parts=parts, token=options.token or SANDBOX_TOKEN)
        self.page = SandboxPage(parts=parts, person=person, zone=options.zone)
        hosts = {options.host.lower()} - _ANY_ADDRESS
        self.application = web.Application(middlewares=[in_json, only_from_here(hosts)], client_max_size=MAX_BODY_BYTES)
        self.application.add_routes(self.page.routes())
        self.application.add_routes(Control(parts, person, options.household).routes())
        self.application.add_routes(BotApi(parts, options.token).routes())
        self.application.on_response_prepare.append(_sign)
        self._runner = web.AppRunner(
            self.application,
            access_log=None,  # the bot token is part of every URL
            logger=http_logger(),
            handler_cancellation=True,
            auto_decompress=False,
            shutdown_timeout=_STOP_SECONDS,
        )
        self._smtp = SmtpServer(Mailroom(parts))
        self._imap = ImapServer(self.ledger, parts.news)

    @property
    def bot_api_url(self) -> str:
        return web_address(self.options.host, self.bot_api_port)

    async def start(self) -> None:
        options = self.options
        try:
            await self._runner.setup()
            await self._http_site().start()
            self.bot_api_port = int(self._runner.addresses[0][1])
            self.smtp_port = await self._smtp.start(**_where(options, options.smtp_socket, options.smtp_port))
            self.imap_port = await self._imap.start(**_where(options, options.imap_socket, options.imap_port))
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Long polls, delays and hanging calls end at once."""
        self.parts.stopping.set()
        self.parts.news.ring()
        self.ledger.changes.ring()
        await self._smtp.stop()
        await self._imap.stop()
        await self._runner.cleanup()
        self.ledger.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def _http_site(self) -> web.BaseSite:
        options = self.options
        if options.bot_api_socket is not None:
            return web.SockSite(self._runner, options.bot_api_socket)
        return web.TCPSite(self._runner, options.host, options.bot_api_port)


def _where(options: SandboxOptions, bound: socket.socket | None, port: int) -> dict[str, Any]:
    return {"host": options.host, "port": port} if bound is None else {"sock": bound}


def http_logger() -> logging.Logger:
    """For aiohttp, whose errors quote the request line and with it the bot token."""
    logger = logging.getLogger("postroom.sandbox.http")
    if not logger.filters:
        logger.addFilter(_name_the_error_only)
    return logger


def _name_the_error_only(record: logging.LogRecord) -> bool:
    if record.exc_info and record.exc_info[0] is not None:
        record.msg, record.args = "sandbox request failed: %s", (record.exc_info[0].__name__,)
        record.exc_info = record.exc_text = None
    return True
