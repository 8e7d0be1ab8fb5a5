"""Discord's REST API, as far as a bot that writes to people needs it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from aiohttp import web

from postroom.sandbox.faults import cut
from tests.fakes.discord.gateway import PATH
from tests.fakes.discord.objects import BOT
from tests.fakes.discord.places import direct_channel
from tests.fakes.discord.presses import DiscordPresses
from tests.fakes.discord.refusal import DiscordRefusal, by_status
from tests.fakes.discord.room import Room
from tests.fakes.discord.uploads import read_form, read_json
from tests.fakes.face import FaceParts

ROOT: Final = "/api/v10"
_MESSAGES: Final = ROOT + "/channels/{channel}/messages"
_MESSAGE: Final = _MESSAGES + "/{message}"
_REACTION: Final = _MESSAGE + "/reactions/{emoji}/@me"
_EVERY_START: Final = {"total": 1000, "remaining": 1000, "reset_after": 0, "max_concurrency": 1}
Handle = Callable[[web.Request, Mapping[str, Any]], Awaitable[web.Response]]


class DiscordRest:
    def __init__(self, parts: FaceParts, room: Room, presses: DiscordPresses) -> None:
        self._parts = parts
        self._room = room
        self._presses = presses
        self.full_seconds = 0.0  # what each answer says while it is set: no more for so long

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get(f"{ROOT}/users/@me", self._known(self._me)),
            web.post(f"{ROOT}/users/@me/channels", self._known(self._open)),
            web.get(f"{ROOT}/gateway/bot", self._known(self._gateway_bot)),
            web.post(_MESSAGES, self._sent(self._write)),
            web.post(f"{ROOT}/channels/{{channel}}/typing", self._known(self._typing)),
            web.patch(_MESSAGE, self._sent(self._edit)),
            web.delete(_MESSAGE, self._sent(self._delete)),
            web.put(_REACTION, self._sent(self._react)),
            web.delete(_REACTION, self._sent(self._unreact)),
            web.post(f"{ROOT}/interactions/{{interaction}}/{{token}}/callback", self._answer),
            web.route("*", ROOT + "/{rest:.*}", self._nothing),
        ]

    async def _me(self, request: web.Request, body: Mapping[str, Any]) -> web.Response:
        return web.json_response(BOT)

    async def _typing(self, request: web.Request, body: Mapping[str, Any]) -> web.Response:
        return web.Response(status=204)

    async def _open(self, request: web.Request, body: Mapping[str, Any]) -> web.Response:
        person = body["recipient_id"]
        if person == "50033":
            raise DiscordRefusal(50033)
        recipient = {"id": person, "username": f"person{person}", "discriminator": "0"}
        return web.json_response({"id": direct_channel(person), "type": 1, "recipients": [recipient]})

    async def _gateway_bot(self, request: web.Request, body: Mapping[str, Any]) -> web.Response:
        return web.json_response(
            {"url": f"ws://{request.host}{PATH}", "shards": 1, "session_start_limit": _EVERY_START}
        )

    async def _write(self, request: web.Request, body: Mapping[str, Any]) -> web.Response:
        return web.json_response(await self._room.write(request.match_info["channel"], body))

    async def _edit(self, request: web.Request, body: Mapping[str, Any]) -> web.Response:
        return web.json_response(self._room.edit(*_named(request), body))

    async def _delete(self, request: web.Request, body: Mapping[str, Any]) -> web.Response:
        self._room.delete(*_named(request))
        return web.Response(status=204)

    async def _react(self, request: web.Request, body: Mapping[str, Any]) -> web.Response:
        self._room.react(*_named(request), request.match_info["emoji"])
        return web.Response(status=204)

    async def _unreact(self, request: web.Request, body: Mapping[str, Any]) -> web.Response:
        self._room.react(*_named(request), request.match_info["emoji"], takes_back=True)
        return web.Response(status=204)

    async def _answer(self, request: web.Request) -> web.Response:
        """The token in the path is all the bot has to show."""
        try:
            told = await self._body(request)
            press = self._presses.answer(request.match_info["interaction"], request.match_info["token"], told)
        except DiscordRefusal as refusal:
            return refusal.answer()
        if press.words is not None and not press.only_for_one:
            await self._room.say(press.pressed.message.place, press.words)
        return web.Response(status=204)

    async def _nothing(self, request: web.Request) -> web.Response:
        return by_status(404, None)

    def _known(self, handle: Handle) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def checked(request: web.Request) -> web.Response:
            return await self._checked(request, handle)

        return checked

    def _sent(self, handle: Handle) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def spoiled(request: web.Request, body: Mapping[str, Any]) -> web.Response:
            fault = self._parts.spoiled("discord")
            if fault.status is not None:
                return by_status(fault.status, fault.retry_after)
            if not await fault.before():
                return cut(request)
            answer = await handle(request, body)
            return answer if await fault.after() else cut(request)

        return self._known(spoiled)

    async def _checked(self, request: web.Request, handle: Handle) -> web.Response:
        """Who is calling, and what: the whole request is read before anything is made of it."""
        if not request.headers.get("Authorization", "").startswith("Bot "):
            return by_status(401, None)
        try:
            answer = await handle(request, await self._body(request))
        except DiscordRefusal as refusal:
            answer = refusal.answer()
        if self.full_seconds:
            answer.headers.update({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset-After": f"{self.full_seconds:.3f}"})
        return answer

    async def _body(self, request: web.Request) -> Mapping[str, Any]:
        if request.content_type == "multipart/form-data":
            return await read_form(request, self._parts.files)
        content = await request.read()
        return read_json(content) if content else {}


def _named(request: web.Request) -> tuple[str, str]:
    return request.match_info["channel"], request.match_info["message"]
