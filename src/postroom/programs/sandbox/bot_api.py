"""The Bot API's own routes: `/bot<token>/<method>`, answered like Telegram, spoiled by armed faults."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, assert_never

from aiohttp import web

from postroom.domain.clock import Clock
from postroom.domain.time import seconds
from postroom.programs.sandbox.arguments import ApiError, Arguments, read_arguments
from postroom.programs.sandbox.bot_files import BotFiles
from postroom.programs.sandbox.bot_methods import BotMethods
from postroom.programs.sandbox.bot_name import bot_name
from postroom.programs.sandbox.faults import HANG_LIMIT_SECONDS, ArmedFaults, Fault, FaultChannel, Mode
from postroom.programs.sandbox.kept_files import FileShelf, picture_type, shown
from postroom.programs.sandbox.telegram_ledger import TelegramLedger
from postroom.system.signal import Signal

MAX_POLL_SECONDS = 50
ANOTHER_READER = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
DEFAULT_KINDS: tuple[str, ...] = ("message", "edited_message", "callback_query", "my_chat_member")
_KINDS = (*DEFAULT_KINDS, "message_reaction")
_TOKEN = re.compile(r"[0-9]{1,18}:[A-Za-z0-9_-]{1,128}")

Method = Callable[[Arguments, str], dict[str, Any] | list[dict[str, Any]] | bool]


class BotApi:
    def __init__(
        self,
        *,
        ledger: TelegramLedger,
        files: FileShelf,
        faults: ArmedFaults,
        clock: Clock,
        news: Signal,
        stopping: asyncio.Event,
        token: str | None = None,
    ) -> None:
        self._ledger = ledger
        self._faults = faults
        self._clock = clock
        self._news = news
        self._stopping = stopping
        self._token = token
        self._kinds = DEFAULT_KINDS
        self._readers: dict[str, object] = {}
        methods = BotMethods(ledger, clock)
        self._files = BotFiles(ledger, files, methods, clock)
        self._reading: dict[str, Method] = {"getme": methods.get_me, "getfile": self._files.get_file}
        self._reading["sendchataction"] = methods.send_chat_action  # shows for a moment, and leaves nothing
        self._sending: dict[str, Method] = {
            "sendmessage": methods.send_message,
            "sendphoto": self._files.send_photo,
            "senddocument": self._files.send_document,
            "sendmediagroup": self._files.send_media_group,
            "editmessagecaption": methods.edit_message_caption,
            "editmessagetext": methods.edit_message_text,
            "deletemessage": methods.delete_message,
            "deletemessages": methods.delete_messages,
            "editmessagereplymarkup": methods.edit_message_reply_markup,
            "setmessagereaction": methods.set_message_reaction,
            "answercallbackquery": methods.answer_callback_query,
        }

    def routes(self) -> list[web.RouteDef]:
        calls = [web.route(verb, "/bot{token}/{method}", self.call) for verb in ("GET", "POST")]
        return [*calls, web.get("/file/bot{token}/{path:.+}", self.file)]

    async def call(self, request: web.Request) -> web.Response:
        try:
            return await self._answer(request, self._checked_token(request), request.match_info["method"].lower())
        except ApiError as error:
            return refusal(error)

    async def file(self, request: web.Request) -> web.Response:
        try:
            self._checked_token(request)
        except ApiError as error:
            return refusal(error)
        content = self._files.content(request.match_info["path"])
        return refusal(ApiError(404, "Not Found")) if content is None else shown(content, picture_type(content))

    async def _answer(self, request: web.Request, token: str, method: str) -> web.Response:
        # the whole request is read before a fault shows: a client that was cut off has truly sent it
        arguments = await read_arguments(request)
        if method == "getupdates":
            return success(await self._updates(arguments, bot_name(token)))
        if read := self._reading.get(method):
            return success(read(arguments, token))
        if send := self._sending.get(method):
            return await self._send(request, send, arguments, token)
        raise ApiError(404, "Not Found")

    async def _send(self, request: web.Request, send: Method, arguments: Arguments, token: str) -> web.Response:
        fault = self._faults.take(FaultChannel.TELEGRAM)
        if fault is None:
            return success(send(arguments, token))
        if fault.mode is not None:
            return await self._misbehave(request, fault.mode, lambda: send(arguments, token))
        if fault.status is not None:
            raise spoiled(fault, fault.status)
        result = send(arguments, token)
        await self._pause(fault.delay_seconds or 0.0)
        return success(result)

    async def _misbehave(self, request: web.Request, mode: Mode, send: Callable[[], object]) -> web.Response:
        match mode:
            case Mode.ACCEPT_THEN_CUT:
                send()
            case Mode.HANG:
                await self._pause(HANG_LIMIT_SECONDS)
            case Mode.REFUSE:
                pass
            case _:
                assert_never(mode)
        return cut(request)

    async def _updates(self, arguments: Arguments, bot: str) -> list[dict[str, Any]]:
        offset = arguments.integer("offset", 0)
        limit = min(max(arguments.integer("limit", 100), 1), 100)
        timeout = min(max(arguments.integer("timeout", 0), 0), MAX_POLL_SECONDS)
        self._kinds = kinds = _wanted_kinds(arguments, self._kinds)
        deadline_us = self._clock.now_us() + seconds(timeout)
        me = self._readers[bot] = object()
        self._news.ring()  # a reader who still waits learns that there is another
        while True:
            news = self._news.news()
            if self._readers[bot] is not me:
                raise ApiError(409, ANOTHER_READER)
            now_us = self._clock.now_us()
            found = self._ledger.updates(offset=offset, limit=limit, kinds=kinds, now_us=now_us, bot=bot)
            if found or self._stopping.is_set() or self._clock.now_us() >= deadline_us:
                return found
            await self._clock.wait(news, deadline_us)

    async def _pause(self, pause_seconds: float) -> None:
        await self._clock.wait(self._stopping, self._clock.now_us() + seconds(pause_seconds))

    def _checked_token(self, request: web.Request) -> str:
        token = request.match_info["token"]
        if not _TOKEN.fullmatch(token) or (self._token is not None and token != self._token):
            raise ApiError(401, "Unauthorized")
        return token


def success(result: object) -> web.Response:
    return web.json_response({"ok": True, "result": result})


def refusal(error: ApiError) -> web.Response:
    body: dict[str, Any] = {"ok": False, "error_code": error.status, "description": error.description}
    headers = {}
    if error.retry_after is not None:
        body["parameters"] = {"retry_after": error.retry_after}
        headers["Retry-After"] = str(error.retry_after)
    return web.json_response(body, status=error.status, headers=headers)


def spoiled(fault: Fault, status: int) -> ApiError:
    """Telegram always says how long to wait after a 429."""
    retry_after = 1 if status == 429 and fault.retry_after is None else fault.retry_after
    if status == 429:
        return ApiError(status, f"Too Many Requests: retry after {retry_after}", retry_after=retry_after)
    return ApiError(status, f"{_phrase(status)}: sandbox fault", retry_after=retry_after)


def cut(request: web.Request) -> web.Response:
    """Nothing more reaches the client; aiohttp only wants something to return."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"


def _wanted_kinds(arguments: Arguments, before: tuple[str, ...]) -> tuple[str, ...]:
    """Telegram sends reactions only to those who ask for them, and remembers what was asked for last."""
    asked = arguments.structure("allowed_updates")
    if not isinstance(asked, list):
        return before
    if not asked:
        return DEFAULT_KINDS
    return tuple(kind for kind in _KINDS if kind in asked)
