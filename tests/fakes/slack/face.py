"""Slack's face: `/api/METHOD` and `/slack/socket` for the app, and what a person writes and presses."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any, Final

from aiohttp import web

from postroom.sandbox.faults import cut
from tests.fakes.face import FaceParts
from tests.fakes.ledger import FaceLedger
from tests.fakes.record import KEPT_FILES, FaceButton, FaceMessage, PressedKey, Wrote
from tests.fakes.slack.arguments import SlackArguments, read_slack_arguments
from tests.fakes.slack.block_kit import buttons
from tests.fakes.slack.envelopes import SlackEnvelopes
from tests.fakes.slack.methods import SlackMethods, stamp
from tests.fakes.slack.objects import event_payload, press_payload, shared_file
from tests.fakes.slack.socket import SlackSocket
from tests.fakes.slack.uploads import ASK, PUBLISH, ROUTE, OpenUploads
from tests.fakes.slack.workspace import (
    BOT_NAME,
    BOT_USER,
    SlackError,
    person_in,
    writable,
)

_OPENS_SOCKETS: Final = "apps.connections.open"

Method = Callable[[SlackArguments], dict[str, Any]]


class SlackFace:
    name = "slack"

    def __init__(self, parts: FaceParts) -> None:
        self._parts = parts
        self._envelopes = SlackEnvelopes()
        self._socket = SlackSocket(self._envelopes, parts.stopping)
        self._uploads = OpenUploads(parts)
        self._methods = methods = SlackMethods(parts.ledger, parts.clock)
        self._reading: dict[str, Method] = {
            "auth.test": methods.auth_test,
            "conversations.open": methods.open_conversation,
            "conversations.history": methods.history,
            "conversations.replies": methods.replies,
            "files.info": self._uploads.info,
            "assistant.threads.setStatus": methods.set_status,  # shows for a moment, and leaves nothing
        }
        self._sending: dict[str, Method] = {
            "chat.postMessage": methods.post,
            "chat.postEphemeral": methods.post_ephemeral,
            "chat.update": methods.update,
            "chat.delete": methods.delete,
            "reactions.add": methods.react,
            "reactions.remove": methods.unreact,
            PUBLISH: self._uploads.publish,
            "files.delete": self._uploads.delete,
        }

    @property
    def ledger(self) -> FaceLedger:
        return self._parts.ledger

    def routes(self) -> Sequence[web.RouteDef]:
        calls = [web.route(verb, "/api/{method}", self.call) for verb in ("GET", "POST")]
        seen = web.get("/sandbox/slack/statuses", self.statuses)
        return (*calls, seen, web.get("/slack/socket", self._socket.serve), web.post(ROUTE, self._uploads.take))

    def buttons(self, message: FaceMessage) -> Sequence[FaceButton]:
        return () if message.from_person or message.is_deleted else buttons(message.body.get("blocks") or ())

    async def call(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        try:
            arguments = await read_slack_arguments(request)
            _check_token(request, method)
            return await self._answer(request, method, arguments)
        except SlackError as error:
            return refused(error.code)

    async def statuses(self, _: web.Request) -> web.StreamResponse:
        """What people saw of the app for a moment: that it works on an answer."""
        seen = list(self._methods.statuses)
        return web.json_response({"statuses": seen, "count": len(seen)})

    async def written(self, wrote: Wrote) -> FaceMessage:
        """A mention is announced twice, as it is at Slack."""
        place = writable(wrote.place)
        kept = self._typed(wrote, place, _author(wrote.author, place))
        mentioned = f"<@{BOT_USER}>" in kept.body["text"]
        for kind in ("message", "app_mention") if mentioned else ("message",):
            self._envelopes.put("events_api", event_payload(kept, kind, f"Ev{uuid.uuid4().hex[:9].upper()}"))
        return kept

    async def pressed(self, pressed: PressedKey) -> dict[str, Any]:
        """Slack gives the app three seconds to be there, and repeats nothing."""
        message, now_us = pressed.message, self._parts.clock.now_us()
        user = _author(pressed.author, message.place)
        self._envelopes.put("interactive", press_payload(message, pressed.button, user, now_us))
        told = {"channel": message.place, "message_ts": message.message_id, "user": user, "value": pressed.button.data}
        return told | {"is_listened_to": self._socket.connections > 0}

    async def _answer(self, request: web.Request, method: str, arguments: SlackArguments) -> web.StreamResponse:
        if method == _OPENS_SOCKETS:
            return accepted({"url": self._socket.address(request.host)})
        if method == ASK:
            return accepted(self._uploads.ask(arguments, request.host))
        if read := self._reading.get(method):
            return accepted(read(arguments))
        if send := self._sending.get(method):
            return await self._send(request, send, arguments)
        raise SlackError("unknown_method")

    async def _send(self, request: web.Request, send: Method, arguments: SlackArguments) -> web.StreamResponse:
        spoiled = self._parts.spoiled("slack")
        if spoiled.status is not None:
            return _fault(spoiled.status, spoiled.retry_after)
        if not await spoiled.before():
            return cut(request)
        told = send(arguments)
        return accepted(told) if await spoiled.after() else cut(request)

    def _typed(self, wrote: Wrote, place: str, author: str) -> FaceMessage:
        """As Slack hands it on: escaped, and with our name as a mention."""
        text = wrote.text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        body: dict[str, Any] = {"text": text.replace(f"@{BOT_NAME}", f"<@{BOT_USER}>")}
        if kept := [self._parts.files.keep(one) for one in wrote.files]:
            body |= {"subtype": "file_share", "files": [shared_file(one, wrote.host) for one in kept]}
            body[KEPT_FILES] = [one.listing() for one in kept]
        now_us, replied = self._parts.clock.now_us(), self._parts.ledger.find(wrote.reply_to or "", place)
        return self._parts.ledger.keep(
            place=place,
            text=wrote.text,
            body=body,
            name=lambda number: stamp(now_us, number),
            now_us=now_us,
            from_person=True,
            author=author,
            thread=(replied.thread or replied.message_id) if replied else None,
        )


def accepted(told: dict[str, Any]) -> web.Response:
    return web.json_response({"ok": True, **told})


def refused(code: str, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    return web.json_response({"ok": False, "error": code}, status=status, headers=headers)


def _fault(status: int, retry_after: int | None) -> web.Response:
    """Slack always says how long to wait after a 429."""
    if status == 429:
        return refused("ratelimited", status, {"Retry-After": str(1 if retry_after is None else retry_after)})
    code = "service_unavailable" if status == 503 else "sandbox_fault"
    return refused(code, status, {} if retry_after is None else {"Retry-After": str(retry_after)})


def _check_token(request: web.Request, method: str) -> None:
    bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
    if not bearer.startswith("xapp-" if method == _OPENS_SOCKETS else "xoxb-"):
        raise SlackError("invalid_auth")


def _author(author: str | None, place: str) -> str:
    """In a channel it is to be said who does it; in a direct message there is only one."""
    person = author or person_in(place)
    assert person is not None
    return person
