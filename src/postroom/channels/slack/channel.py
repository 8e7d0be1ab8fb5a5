"""Slack by its Web API and Socket Mode: build the call, make it once, read the answer; find what arrived; listen."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from postroom.channels.provider import asked, blameless, press_answered
from postroom.channels.shared import check_files, read_file
from postroom.channels.slack.building import PART_LIMIT, build, marking_key, section, shortened
from postroom.channels.slack.kind import SLACK, SlackAccount
from postroom.channels.slack.listening import (
    CONNECT_SECONDS,
    PressedIn,
    SlackListening,
    SlackThreads,
    SlackWorkSign,
    SocketMode,
    inbound_event,
    offer,
    pressed_in,
)
from postroom.channels.slack.web_api import (
    DELETE,
    DELETE_FILE,
    FILE_ID,
    POST,
    REACT,
    SHARED,
    MessageGone,
    ReactionStands,
    SlackCall,
    SlackSearch,
    SlackUploads,
    SlackWebApi,
    address,
    is_message_id,
    is_place,
    is_user,
)
from postroom.kernel.http.answers import JsonBody, JsonObject, as_object
from postroom.kernel.values.errors import OutcomeUncertain, TargetUnavailable
from postroom.message.attachment import FileContents
from postroom.message.delivery import Message, Receipt, ReceiptKind
from postroom.message.inbound import InboundEvent, InboundFile, InboundMessage
from postroom.settings.accounts import Surroundings

API_BASE_URL: Final = "https://slack.com/api"
_BOT_TOKEN = re.compile(r"(xoxe\.)?xoxb-[A-Za-z0-9-]+")
_APP_TOKEN = re.compile(r"xapp-[A-Za-z0-9-]+")


class Slack:
    address = staticmethod(address)

    def __init__(
        self,
        name: str,
        bot_token: str,
        app_token: str = "",
        api_base_url: str = API_BASE_URL,
        *,
        files: FileContents | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        if not _BOT_TOKEN.fullmatch(bot_token):
            raise ValueError("the Slack bot token is malformed: it begins with xoxb-")
        if app_token and not _APP_TOKEN.fullmatch(app_token):
            raise ValueError("the Slack app token is malformed: it begins with xapp-")
        self.name = name
        self.capabilities = SLACK if app_token else replace(SLACK, inbound=False)
        self._app_token = app_token
        self._key = marking_key(bot_token)
        self._api = SlackWebApi(api_base_url, bot_token, now, app_token)
        self._files = files
        self._uploads = SlackUploads(api=self._api)
        self._finding = SlackSearch(api=self._api)
        self._threads = SlackThreads()
        self._sign = SlackWorkSign(self._api)
        self._direct: dict[str, str] = {}
        self._sockets = SocketMode(self._socket_url)
        self._listening = SlackListening(self._sockets, self._event, lambda: int(now().timestamp() * 1_000_000))
        if app_token:  # without one there is nothing to listen to, and then it is no `Listen`
            self.listen = self._listening.listen

    @classmethod
    def of(cls, name: str, options: SlackAccount, given: Surroundings) -> Slack:
        bot, app = options.bot_token.reveal(), options.app_token.reveal()
        return cls(name, bot, app, options.api_base_url, files=given.files)

    def __repr__(self) -> str:
        return f"Slack(name={self.name!r}, api_base_url={self._api.base_url!r}, token=***)"

    def prepare(self, message: Message) -> Sequence[SlackCall]:
        check_files(message, SLACK, self._files)
        return build(message, self._key)

    async def send(self, part: SlackCall, timeout_seconds: float) -> Receipt:
        if part.shared:
            return Receipt(f"{SHARED}{part.channel}")
        if part.files:
            return await self._publish(part, timeout_seconds)
        call = await self._ready(part, timeout_seconds)
        about = str(part.body.get("ts", ""))
        try:
            return _receipt(call, await self._api.call(call.method, call.body, timeout_seconds), about)
        except ReactionStands:
            return _receipt(call, {}, about)
        except MessageGone:
            if call.method not in (DELETE, DELETE_FILE):
                raise
            return _receipt(call, {}, about)

    async def find(self, part: SlackCall, since: datetime, timeout_seconds: float) -> Receipt | None:
        """
        Edits and reactions change nothing when they are made twice, so they are not looked for.

        A file carries no mark of ours, and another of the same name may stand there.
        """
        if part.files or part.shared:
            raise TargetUnavailable("Slack cannot say whether this very file arrived")
        return (
            await blameless(self._find(self._in_thread(part), since, timeout_seconds)) if part.method == POST else None
        )

    async def bring_files(self, message: InboundMessage, timeout_seconds: float) -> Sequence[InboundFile]:
        ends_at = time.monotonic() + timeout_seconds
        return [await self._brought(one, ends_at) for one in message.offers]

    async def _brought(self, file: InboundFile, ends_at: float) -> InboundFile:
        """In a shared channel Slack tells no more than the id."""
        if file.problem:
            return file
        if file.reference.startswith("id:"):
            query = {"file": file.reference.removeprefix("id:")}
            told = await blameless(self._api.look("files.info", query, ends_at - time.monotonic()))
            file = offer(as_object(told.get("file")))
        return await self._api.fetch(file, ends_at - time.monotonic())

    async def answer_press(
        self, callback_id: str, text: str = "", *, alert: bool = False, timeout_seconds: float = 5.0
    ) -> bool:
        """Only what must be seen is shown, to the one who pressed and to them alone; the card itself shows the rest."""
        where = pressed_in(callback_id)
        if not alert or not text or where is None:
            return where is not None
        showing = self._api.call("chat.postEphemeral", _aside(where, text), timeout_seconds)
        return await press_answered("slack", showing)

    async def show_work(self, place: str, message_id: str, timeout_seconds: float) -> bool:
        return await self._sign.show(place, message_id, self._threads.root(place, message_id), timeout_seconds)

    async def hide_work(self, place: str, message_id: str, timeout_seconds: float) -> None:
        await self._sign.hide(place, message_id, self._threads.root(place, message_id), timeout_seconds)

    async def probe(self, timeout_seconds: float) -> str:
        told = await blameless(self._api.call("auth.test", {}, timeout_seconds))
        user, team = (self._api.shown(told.get(one)) for one in ("user", "team"))
        if self._app_token:
            await self._would_listen()
        return f"@{user} in {team}"

    async def close(self) -> None:
        await self._sockets.close()
        await self._api.close()

    async def _would_listen(self) -> None:
        """Messages may leave while no answer is heard: that takes another token. No connection is opened."""
        try:
            await self._socket_url()
        except TargetUnavailable as error:
            reason = error.message
        else:
            return
        raise TargetUnavailable(f"messages can be sent, but no answers are heard with app_token: {reason}")

    def _event(self, envelope: JsonObject) -> InboundEvent | None:
        event = inbound_event(self.name, envelope)
        self._threads.heard(event)
        return event

    async def _socket_url(self) -> str:
        opening = self._api.call("apps.connections.open", {}, CONNECT_SECONDS, token=self._app_token)
        url = (await blameless(opening)).get("url")
        wanted = ("wss://",) if self._api.is_encrypted else ("ws://", "wss://")
        if not isinstance(url, str) or not url.startswith(wanted):
            raise TargetUnavailable("Slack named no event connection that can be trusted")
        return url

    async def _find(self, call: SlackCall, since: datetime, timeout_seconds: float) -> Receipt | None:
        channel = await self._conversation(call.channel, timeout_seconds)
        return await self._finding.find(call, channel, since, timeout_seconds)

    async def _publish(self, part: SlackCall, timeout_seconds: float) -> Receipt:
        ends_at = time.monotonic() + timeout_seconds
        contents = [await read_file(self._files, one, ends_at - time.monotonic()) for one in part.files]
        channel = await self._conversation(part.channel, ends_at - time.monotonic())
        call = self._in_thread(part)
        call = replace(call, body={**call.body, "channel": channel})
        return await self._uploads.publish(call, contents, ends_at - time.monotonic())

    async def _ready(self, call: SlackCall, timeout_seconds: float) -> SlackCall:
        """The few calls that need to know more than the message says."""
        if call.method == DELETE_FILE:
            return call
        if call.method == POST and not (call.thread or "").startswith(FILE_ID):
            return self._in_thread(call)
        channel = await self._conversation(call.channel, timeout_seconds)
        call = replace(call, body={**call.body, "channel": channel})
        for name in ("ts", "thread_ts"):
            if str(call.body.get(name, "")).startswith(FILE_ID):
                finding = self._uploads.message_of(call.body[name].removeprefix(FILE_ID), channel, timeout_seconds)
                call = replace(call, body={**call.body, name: await blameless(finding)})
        return await self._with_its_text(call, timeout_seconds) if call.keeps_text else call

    def _in_thread(self, call: SlackCall) -> SlackCall:
        if call.thread is None:
            return call
        return replace(call, body={**call.body, "thread_ts": self._threads.root(call.channel, call.thread)})

    async def _with_its_text(self, call: SlackCall, timeout_seconds: float) -> SlackCall:
        """An edit replaces all blocks, so those that hold the text are sent along as they stand there."""
        there = await self._finding.message(call.channel, call.body["ts"], timeout_seconds)
        blocks = [
            {name: value for name, value in block.items() if name != "block_id"}
            for block in there.get("blocks") or [section("…")]
            if block.get("type") != "actions"
        ]
        return replace(call, body={**call.body, "text": there.get("text", ""), "blocks": blocks + call.body["blocks"]})

    async def _conversation(self, place: str, timeout_seconds: float) -> str:
        """A person is read, edited and reacted to in the direct message with them, which has its own id."""
        if not is_user(place):
            return place
        if place not in self._direct:
            told = await asked(self._api.call("conversations.open", {"users": place}, timeout_seconds))
            found = as_object(told.get("channel")).get("id")
            if not is_place(found):
                raise TargetUnavailable("Slack named no direct message with this person")
            self._direct[place] = str(found)
        return self._direct[place]


_CHANGES: Final = {REACT: ReceiptKind.REACTION, DELETE: ReceiptKind.DELETE}


def _receipt(call: SlackCall, told: JsonObject, about: str) -> Receipt:
    """`about` is the message that was changed, as the receipt of its sending called it."""
    if call.method == DELETE_FILE:
        file = f"{FILE_ID}{call.body['file']}"
        return Receipt(f"{ReceiptKind.DELETE}:{file}", kind=ReceiptKind.DELETE, about=file)
    if call.method != POST:
        kind = _CHANGES.get(call.method, ReceiptKind.EDIT)
        about = call.body["timestamp"] if kind is ReceiptKind.REACTION else about
        return Receipt.of_change(kind, call.channel, about, call.channel)
    stamp, channel = told.get("ts"), told.get("channel")
    if not is_message_id(stamp):
        raise OutcomeUncertain("Slack accepted the request but named no message")
    return Receipt(str(stamp), conversation=str(channel) if is_place(channel) else None)


def _aside(where: PressedIn, text: str) -> JsonBody:
    words = shortened(text, PART_LIMIT)
    body = {"channel": where.channel, "user": where.user, "text": words, "parse": "none"}
    block = {"type": "section", "text": {"type": "plain_text", "text": words, "emoji": True}}
    return body | {"blocks": [block]} | ({"thread_ts": where.thread} if where.thread else {})
