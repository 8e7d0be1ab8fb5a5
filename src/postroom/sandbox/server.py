"""The sandbox's HTTP application: the page, the Bot API and the control routes behind one guard."""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import json
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import urlencode

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from postroom.kernel.running.clock import Clock, SystemClock
from postroom.kernel.running.loop import Signal
from postroom.kernel.values.errors import ValidationError, error_object
from postroom.kernel.values.fields import web_address
from postroom.kernel.values.ids import to_datetime
from postroom.kernel.values.zones import known_zone, zone_word
from postroom.sandbox.control import Control
from postroom.sandbox.faults import ArmedFaults
from postroom.sandbox.imap import ImapServer
from postroom.sandbox.ledger import SandboxLedger
from postroom.sandbox.mail import Mailroom, SmtpServer
from postroom.sandbox.person import SandboxPerson
from postroom.sandbox.records import (
    SANDBOX_TOKEN,
    SHOWN_TYPES,
    StoredMail,
    TelegramMessage,
    answer,
    given_file,
    with_room,
)
from postroom.sandbox.telegram import BotApi
from postroom.sandbox.telegram_objects import canonical_chat, keys, linked, looks, web_only

if TYPE_CHECKING:
    from jinja2 import Template

# The page at which a person plays the person: a phone and a mailbox, which show by themselves what arrives.


NOTICE: Final = "SANDBOX: nothing leaves this machine"
_EMOJI: Final = ("👍", "❤", "🎉", "😢")
_OWNER_CHAT: Final = "1000"
_MOST_CHATS, _MOST_SHOWN = 50, 200
_STATIC: Final = Path(__file__).parent / "static"
_POLICY: Final = (
    *("default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'"),
    *("form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"),
)
_HEADERS: Final = {
    "Content-Security-Policy": "; ".join(_POLICY),
    "X-Content-Type-Options": "nosniff",
    # Not no-referrer: with it a browser hides the origin of the page's own forms, and the guard refuses them.
    "Referrer-Policy": "same-origin",
}

_Form = Mapping[str, str | web.FileField | bytes | bytearray]


@dataclass(frozen=True, kw_only=True)
class SandboxPage:
    ledger: SandboxLedger
    faults: ArmedFaults
    person: SandboxPerson
    stopping: asyncio.Event
    zone: str | None = None

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/", self.to_page),
            web.get("/sandbox", self.to_page),
            web.get("/sandbox/", self.show),
            web.get("/sandbox/{name:page\\.(?:css|js)}", self.static),
            web.get("/sandbox/changes", self.changes),
            web.post("/sandbox/phone/message", self.type_message),
            web.post("/sandbox/phone/press", self.press),
            web.post("/sandbox/phone/reaction", self.tap),
            web.post("/sandbox/mailbox", self.write),
        ]

    async def to_page(self, request: web.Request) -> web.StreamResponse:
        raise web.HTTPFound("/sandbox/")

    async def show(self, request: web.Request) -> web.StreamResponse:
        return self.shown(request.query)

    async def static(self, request: web.Request) -> web.StreamResponse:
        return web.FileResponse(_STATIC / request.match_info["name"], headers=_HEADERS)

    async def changes(self, request: web.Request) -> web.StreamResponse:
        """A line to every page that listens, at once and whenever something was kept."""
        told = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await told.prepare(request)
        while not self.stopping.is_set():
            news = self.ledger.changes.news()
            await told.write(b"data: changed\n\n")
            await news.wait()
        return told

    async def type_message(self, request: web.Request) -> web.StreamResponse:
        form = await with_room(request).post()
        body = _given(form, "chat_id", "reply_to_message_id", "from_id") | {"text": _text(form, "text")}
        files = [_file(one) for one in form.getall("files", []) if isinstance(one, web.FileField) and one.filename]
        return self._done(form, self.person.type_message, body | ({"files": files} if files else {}))

    async def press(self, request: web.Request) -> web.StreamResponse:
        form = await request.post()
        return self._done(form, self.person.press_button, _given(form, "message_id", "button"))

    async def tap(self, request: web.Request) -> web.StreamResponse:
        form = await request.post()
        return self._done(form, self.person.tap, _given(form, "chat_id", "message_id", "emoji"))

    async def write(self, request: web.Request) -> web.StreamResponse:
        form = await request.post()
        body = _given(form, "from", "to", "subject", "in_reply_to") | {"body": _text(form, "body")}
        return self._done(form, self.person.write, body)

    def _done(self, form: _Form, act: Callable[[object], object], body: Mapping[str, object]) -> web.Response:
        """What is refused stays in its form."""
        chat = _text(form, "chat_id")
        try:
            act(body)
        except ValidationError as error:
            asked = {
                "chat": chat,
                "reply_to": _text(form, "reply_to_message_id") or "none",
                "mail": _text(form, "mail"),
            }
            return self.shown(asked, form, error)
        raise web.HTTPSeeOther("/sandbox/?" + urlencode({"chat": chat}))

    def shown(
        self, asked: Mapping[str, str], draft: _Form | None = None, refused: ValidationError | None = None
    ) -> web.Response:
        telegram, email = self.ledger.telegram, self.ledger.email
        chats = telegram.chats(_MOST_CHATS)
        chat = canonical_chat(asked.get("chat", "")) or next(iter(chats), _OWNER_CHAT)
        said = telegram.messages(from_person=None, chat_id=chat, since=None, limit=_MOST_SHOWN)
        received = email.mails(from_person=False, since=None, limit=_MOST_SHOWN)
        written = email.mails(from_person=True, since=None, limit=_MOST_SHOWN)
        mails = sorted([(one, False) for one in received] + [(one, True) for one in written], key=_newest_first)
        text = self._template.render(
            notice=NOTICE,
            faults=len(self.faults.listed()),
            problem="" if refused is None else refused.message,
            draft={name: value for name, value in (draft or {}).items() if isinstance(value, str)},
            chat=chat,
            chats=chats if chat in chats else [chat, *chats],
            said=said,
            texts={one.message_id: one.text for one in said},
            reply_to=_replied(said, asked.get("reply_to")),
            mails=mails[:_MOST_SHOWN],
            answered=next((one for one in received if str(one.email_id) == asked.get("mail")), None),
        )
        status = 200 if refused is None else 422
        return web.Response(text=text, content_type="text/html", status=status, headers=_HEADERS)

    @cached_property
    def _template(self) -> Template:
        """Made for the first who looks: most sandboxes only ever talk to programs."""
        from jinja2 import Environment, PackageLoader, StrictUndefined

        environment = Environment(
            loader=PackageLoader("postroom.sandbox"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        environment.globals |= {
            "emojis": _EMOJI,
            "is_picture": SHOWN_TYPES.__contains__,
            "key_rows": _key_rows,
            "labels": _labels,
            "linked": linked,
            "looks": looks,
            "moment": partial(_moment, zone=self.zone),
            "force_reply": _force_reply,
        }
        return environment.get_template("page.html")


def _text(form: _Form, name: str) -> str:
    """As it was typed; a browser ends lines its own way."""
    value = form.get(name, "")
    return value.replace("\r\n", "\n") if isinstance(value, str) else ""


def _given(form: _Form, *names: str) -> dict[str, object]:
    return {name: text for name in names if (text := _text(form, name).strip())}


def _file(one: web.FileField) -> dict[str, str]:
    given = given_file(one)
    return {"name": given.name, "media_type": given.media_type, "data": base64.b64encode(given.content).decode()}


def _newest_first(mail: tuple[StoredMail, bool]) -> int:
    return -mail[0].email_id


def _moment(us: int, zone: str | None) -> str:
    """By the household's clock, or the machine's where there is none."""
    at = to_datetime(us).astimezone(known_zone(zone) if zone else None)
    return f"{at:%d %b, %H:%M} {zone_word(at)}"


def _markup(message: TelegramMessage) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(message.reply_markup or "{}")
    return found


def _force_reply(message: TelegramMessage) -> str | None:
    """What the box to reply in is to say, which may be nothing; None when no reply is asked for."""
    markup = _markup(message)
    return str(markup.get("input_field_placeholder") or "") if markup.get("force_reply") is True else None


def _key_rows(message: TelegramMessage) -> list[list[dict[str, Any]]]:
    """A link that is none of the web is not offered."""
    rows = [
        [key | {"url": web_only(key.get("url"))} for key in row] for row in _markup(message).get("inline_keyboard", [])
    ]
    return [[key for key in row if key["url"] or key.get("callback_data")] for row in rows]


def _labels(message: TelegramMessage) -> dict[str, str]:
    """What stands or stood on the buttons, by what they say to the bot."""
    every = [*(edit.reply_markup for edit in message.edits), message.reply_markup]
    return {
        key["callback_data"]: key["text"]
        for one in every
        if one
        for key in keys(json.loads(one))
        if "callback_data" in key
    }


def _replied(said: Sequence[TelegramMessage], asked: str | None) -> TelegramMessage | None:
    """The message that was chosen; without a choice, the newest when it asks for a reply; `none` is a choice too."""
    if asked is None:
        return next((one for one in said[-1:] if _force_reply(one) is not None), None)
    return next((one for one in said if str(one.message_id) == asked), None)


MAX_BODY_BYTES = 1_048_576
_SIGN = {"X-Postroom-Sandbox": "nothing leaves this machine", "Cache-Control": "no-store"}


def build_application(
    *, bot_api: BotApi, control: Control, page: SandboxPage, hosts: Collection[str]
) -> web.Application:
    application = web.Application(
        middlewares=[in_json, only_from_here(frozenset(host.lower() for host in hosts))],
        client_max_size=MAX_BODY_BYTES,
    )
    application.add_routes([*page.routes(), *control.routes(), *bot_api.routes()])
    application.on_response_prepare.append(_sign)
    return application


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
    if name == "localhost" or name in hosts:
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


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
    allowed_hosts: Sequence[str] = ()
    bot_api_socket: socket.socket | None = None
    smtp_socket: socket.socket | None = None
    imap_socket: socket.socket | None = None
    smtp_starttls: ssl.SSLContext | None = None
    smtp_implicit_tls: ssl.SSLContext | None = None
    household: str | None = None  # whose sandbox this is, for those who ask /health
    zone: str | None = None  # in which its page tells the hours


class Sandbox:
    def __init__(self, options: SandboxOptions, clock: Clock | None = None) -> None:
        self.options = options
        self.ledger = SandboxLedger(options.ledger_path)
        self.faults = ArmedFaults()
        self.bot_api_port = 0
        self.smtp_port = 0
        self.imap_port = 0
        self.clock = clock or SystemClock()
        self.stopping = asyncio.Event()
        self._news = Signal()
        self.application = self._made_application()
        self._runner = self._http()
        self._smtp = self._mail()
        self._imap = ImapServer(self.ledger.email, self._news)

    @property
    def bot_api_url(self) -> str:
        return web_address(self.options.host, self.bot_api_port)

    async def start(self) -> None:
        options = self.options
        try:
            await self._runner.setup()
            await self._http_site().start()
            self.bot_api_port = int(self._runner.addresses[0][1])
            if options.smtp_socket is not None:
                self.smtp_port = await self._smtp.start(sock=options.smtp_socket)
            else:
                self.smtp_port = await self._smtp.start(host=options.host, port=options.smtp_port)
            if options.imap_socket is not None:
                self.imap_port = await self._imap.start(sock=options.imap_socket)
            else:
                self.imap_port = await self._imap.start(host=options.host, port=options.imap_port)
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Long polls, delays and hanging calls end at once."""
        self.stopping.set()
        self._news.ring()
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

    def _made_bot_api(self) -> BotApi:
        return BotApi(
            ledger=self.ledger.telegram,
            files=self.ledger.files,
            faults=self.faults,
            clock=self.clock,
            news=self._news,
            stopping=self.stopping,
            token=self.options.token,
        )

    def _made_application(self) -> web.Application:
        options = self.options
        person = SandboxPerson(
            ledger=self.ledger, clock=self.clock, news=self._news, token=options.token or SANDBOX_TOKEN
        )
        return build_application(
            bot_api=self._made_bot_api(),
            control=Control(ledger=self.ledger, faults=self.faults, person=person, household=options.household),
            page=SandboxPage(
                ledger=self.ledger, faults=self.faults, person=person, stopping=self.stopping, zone=options.zone
            ),
            hosts={*options.allowed_hosts, options.host} - _ANY_ADDRESS,
        )

    def _http(self) -> web.AppRunner:
        return web.AppRunner(
            self.application,
            access_log=None,  # the bot token is part of every URL
            logger=http_logger(),
            handler_cancellation=True,
            auto_decompress=False,
            shutdown_timeout=_STOP_SECONDS,
        )

    def _http_site(self) -> web.BaseSite:
        options = self.options
        if options.bot_api_socket is not None:
            return web.SockSite(self._runner, options.bot_api_socket)
        return web.TCPSite(self._runner, options.host, options.bot_api_port)

    def _mail(self) -> SmtpServer:
        mailroom = Mailroom(ledger=self.ledger.email, faults=self.faults, clock=self.clock, stopping=self.stopping)
        options = self.options
        return SmtpServer(mailroom, starttls=options.smtp_starttls, implicit_tls=options.smtp_implicit_tls)


@asynccontextmanager
async def serve(
    host: str = "127.0.0.1",
    bot_api_port: int = 0,
    smtp_port: int = 0,
    ledger_path: Path | None = None,
    *,
    token: str | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[Sandbox]:
    """The usual sandbox; anything rarer goes through `Sandbox(SandboxOptions(...))`."""
    options = SandboxOptions(
        host=host, bot_api_port=bot_api_port, smtp_port=smtp_port, ledger_path=ledger_path, token=token
    )
    async with Sandbox(options, clock) as sandbox:
        yield sandbox


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
