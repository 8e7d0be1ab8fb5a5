"""Discord's Gateway: what people write and press there, and the connection that brings it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from typing import Any, Final

import aiohttp

from postroom.channels.discord.building import BAD_TOKEN, USER, made_at_us, snowflake
from postroom.channels.provider import HeardEvents
from postroom.kernel.http.answers import JsonBody, JsonObject, as_object, objects_in
from postroom.kernel.values.errors import TargetUnavailable
from postroom.message.inbound import Flag, InboundEvent, InboundFile, InboundMessage, Listened, Press

# Events, as what people wrote and pressed; one that is neither, or nonsense, says nothing.

_WRITTEN: Final = frozenset({0, 19})  # by somebody: a message, a reply; the rest are notes by Discord itself
_FORWARD: Final = 1
_COMPONENT: Final = 3
_BUTTON: Final = 2
_DIRECT: Final = 1  # the type of a channel with one person
_WITH_THE_BOT: Final = 1  # the context of an interaction there


def inbound_event(channel: str, name: object, told: object, bot_id: str) -> InboundEvent | None:
    if not isinstance(told, Mapping):
        return None
    if name == "MESSAGE_CREATE":
        return _message(channel, told, bot_id)
    return _press(channel, told) if name == "INTERACTION_CREATE" else None


def _message(channel: str, told: JsonObject, bot_id: str) -> InboundMessage | None:
    number, place, writer = snowflake(told.get("id")), snowflake(told.get("channel_id")), _id_of(told.get("author"))
    about = as_object(told.get("message_reference")).get("message_id")
    text, replies_to = _text(told, bot_id), None if _is_forward(told) else snowflake(about)
    if number is None or place is None or told.get("type", 0) not in _WRITTEN:
        return None
    if writer == bot_id:
        return None  # Discord tells a bot of its own messages; to hear them would make its own words a conversation
    is_direct = told.get("guild_id") is None and told.get("channel_type", _DIRECT) == _DIRECT
    flags, alone = _flags(told), is_direct and writer is not None and not _is_bot(told)
    if not alone and text is None and replies_to is None:
        return None  # Discord hides from a bot what is not for it, so there is nothing to hear
    return InboundMessage(
        channel=channel,
        number=int(number),
        message_id=number,
        places=(place, f"{USER}{writer}") if alone else (place,),
        sender=None if _is_bot(told) or writer is None else f"{USER}{writer}",
        text=text,
        replies_to=replies_to,
        alone=alone,
        addressed=bool(bot_id) and re.search(rf"<@!?{bot_id}>", str(told.get("content"))) is not None,
        said_at_us=made_at_us(number),
        flags=flags,
        offers=_offers(told.get("attachments")),
    )


def _offers(listed: object) -> tuple[InboundFile, ...]:
    return tuple(
        InboundFile(
            reference=str(one.get("url") or ""),
            name=str(one.get("filename") or "file"),
            size=size if isinstance(size := one.get("size"), int) else None,
        )
        for one in objects_in(listed)
    )


def _press(channel: str, told: JsonObject) -> Press | None:
    data, number, token = as_object(told.get("data")), snowflake(told.get("id")), told.get("token")
    if told.get("type") != _COMPONENT or data.get("component_type") != _BUTTON:
        return None
    pressed, place, by = data.get("custom_id"), snowflake(told.get("channel_id")), _presser(told)
    if not isinstance(pressed, str) or not isinstance(token, str) or number is None:
        return None
    presser = _id_of(by)
    direct = [f"{USER}{presser}"] if presser and _is_direct_press(told) else []
    return Press(
        channel=channel,
        event_id=f"press:{number}",
        callback_id=f"{number}:{token}",
        places=(place, *direct) if place else (),
        sender=f"{USER}{presser}" if presser and not _is_marked_bot(by) else None,
        token=pressed,
        message_id=_id_of(told.get("message")),
        flags=frozenset({Flag.BOT}) if _is_marked_bot(by) else frozenset(),
    )


def _presser(told: JsonObject) -> object:
    """In a server the user stands inside the member."""
    member = told.get("member")
    return member.get("user") if isinstance(member, Mapping) else told.get("user")


def _text(told: JsonObject, bot_id: str) -> str | None:
    """Without the bot's own name before it, by which it is called in a server."""
    content = told.get("content")
    if not isinstance(content, str) or not content:
        return None
    return re.sub(rf"^\s*<@!?{bot_id}>\s*", "", content) if bot_id else content


def _flags(told: JsonObject) -> frozenset[Flag]:
    marks = {Flag.FORWARDED: _is_forward(told), Flag.BOT: _is_bot(told)}
    return frozenset(flag for flag, is_so in marks.items() if is_so)


def _is_forward(told: JsonObject) -> bool:
    about = as_object(told.get("message_reference"))
    return bool(told.get("message_snapshots")) or about.get("type") == _FORWARD


def _is_bot(told: JsonObject) -> bool:
    """The author of a message from a webhook is the webhook."""
    return told.get("webhook_id") is not None or _is_marked_bot(told.get("author"))


def _is_marked_bot(user: object) -> bool:
    """Discord leaves the mark out for people."""
    return not isinstance(user, Mapping) or user.get("bot", False) is not False or user.get("system") is True


def _is_direct_press(told: JsonObject) -> bool:
    """Two people may use a bot in their own direct channel, where it is not one of the two."""
    if told.get("guild_id") is not None or told.get("member") is not None:
        return False
    kind = as_object(told.get("channel")).get("type", _DIRECT)
    return bool(told.get("context", _WITH_THE_BOT) == _WITH_THE_BOT and kind == _DIRECT)


def _id_of(one: object) -> str | None:
    return snowflake(as_object(one).get("id"))


# What a bot has to know of its session with Discord's Gateway, and the frames it sends there.


class _Op(IntEnum):
    DISPATCH = 0
    HEARTBEAT = 1
    IDENTIFY = 2
    RESUME = 6
    RECONNECT = 7
    INVALID_SESSION = 9
    HELLO = 10
    HEARTBEAT_ACK = 11


class GatewayIntent(IntFlag):
    GUILD_MESSAGES = 1 << 9
    DIRECT_MESSAGES = 1 << 12
    MESSAGE_CONTENT = 1 << 15


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayStart:
    """Where to connect, and how many new sessions Discord allows until when."""

    url: str
    sessions_left: int | None = None
    reset_after_seconds: float = 0.0


@dataclass(slots=True, kw_only=True)
class _GatewaySession:
    """`sequence` is the last event we have; Discord sends what came after it when the session is taken up again."""

    id: str = field(default="", repr=False)
    resume_url: str = ""
    bot_id: str = ""
    sequence: int | None = None

    def begin(self, ready: object) -> None:
        told = as_object(ready)
        self.id = _as_text(told.get("session_id"))
        self.resume_url = _as_text(told.get("resume_gateway_url"))
        self.bot_id = _id_of(told.get("user")) or ""

    def forget(self) -> None:
        self.id, self.resume_url, self.sequence = "", "", None


def _heartbeat(session: _GatewaySession) -> JsonBody:
    return {"op": _Op.HEARTBEAT, "d": session.sequence}


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else ""


# How a connection to Discord's Gateway ended, and what may be done after it.

_FOR_GOOD: Final[Mapping[int, str]] = {
    4004: BAD_TOKEN,
    4010: "Discord refuses our shard",
    4011: "this bot is in so many servers that Discord wants its connection divided (sharding)",
    4012: "Discord no longer speaks this version of its Gateway",
    4013: "Discord does not know an intent that this bot asks for",
    4014: (
        "Discord does not allow this bot to read message content: turn on Message Content Intent"
        " in the developer portal, or leave message_content off"
    ),
}
_ANOTHER_SESSION: Final = frozenset({4003, 4007, 4009})


class _Cut(Exception):
    """The connection is gone; `resumes`: the same session may be taken up again, and nothing is lost."""

    def __init__(self, words: str, *, resumes: bool = True) -> None:
        super().__init__(words)
        self.resumes = resumes


class _Barred(TargetUnavailable):
    """It makes no sense to knock again until somebody has changed something."""


def _farewell(code: int | None) -> _Cut | _Barred:
    if code is not None and code in _FOR_GOOD:
        return _Barred(_FOR_GOOD[code])
    words = f"Discord's gateway closed the connection ({code})" if code else "the connection to Discord's gateway broke"
    return _Cut(words, resumes=code not in _ANOTHER_SESSION)


# The connection to Discord's Gateway: opened when somebody listens, kept alive while events are handled.
#
# One task reads and sends heartbeats until the channel is closed. A cut is mended at once, once for each look, by
# taking the session up again; after that `listen` says that Discord is away, and the next call connects anew. New
# sessions are counted by Discord, which takes a bot's token away after a thousand in a day, so a start that fails is
# followed by a growing pause.

MOST_WAITING: Final = 10_000
_CONNECT_SECONDS: Final = 20.0
_LARGEST_FRAME: Final = 16 * 1024 * 1024
_CLOSE_SECONDS: Final = 1.0
_LEAVES, _COMES_BACK = 1000, 4000  # after the first, Discord forgets the session
_KEPT_STARTS: Final = 50  # of the thousand a day, for people who restart things
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 5.0, 300.0
_QUERY: Final = "?v=10&encoding=json"
_AWAY: Final = "Discord's gateway could not be reached"


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayNeeds:
    """`secure`: only an encrypted connection is given the token."""

    token: str
    intents: int
    user_agent: str
    secure: bool
    start: Callable[[float], Awaitable[GatewayStart]]
    event: Callable[[object, object, str], InboundEvent | None]
    now_us: Callable[[], int]
    dice: Callable[[], float]
    monotonic: Callable[[], float]


class Gateway:
    def __init__(self, parts: GatewayNeeds) -> None:
        self._parts = parts
        self._session = _GatewaySession()
        self._heard = HeardEvents(parts.now_us)
        self._task: asyncio.Task[None] | None = None
        self._http: aiohttp.ClientSession | None = None
        self._up = asyncio.Event()
        self._acknowledged = True
        self._mends = 0
        self._failed_starts = 0
        self._not_before = 0.0
        self._why = ""
        self._unreached = 0
        self._goodbye = _COMES_BACK

    async def listen(self, position: int | None, timeout_seconds: float) -> Listened:
        self._heard.handled_before(position)
        if not (heard := self._heard.listened()).events:
            self._mends = 1
            await self._until(self._up.wait(), _CONNECT_SECONDS)
            if not self._up.is_set():
                raise TargetUnavailable("Discord's gateway has not let us in yet")
            await self._until(self._heard.some(), timeout_seconds)
            heard = self._heard.listened()
        return heard

    async def close(self) -> None:
        self._goodbye = _LEAVES
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        session, self._http = self._http, None
        if session is not None:
            await session.close()

    async def _until(self, news: Coroutine[Any, Any, Any], timeout_seconds: float) -> None:
        """Raises what ended the connection, if that comes first."""
        hoped = asyncio.ensure_future(news)
        try:
            task = self._running()
            await asyncio.wait({task, hoped}, timeout=timeout_seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            hoped.cancel()
        if task.done() and not (hoped.done() and not hoped.cancelled()):
            self._task = None
            task.result()

    def _running(self) -> asyncio.Task[None]:
        if self._task is None or (self._task.done() and self._task.exception()):
            self._task = asyncio.create_task(self._live())
        return self._task

    async def _live(self) -> None:
        """Ends only by an error."""
        while True:
            try:
                await self._converse()
            except _Cut as cut:
                words = str(cut)
                if not cut.resumes:
                    self._session.forget()
            finally:
                self._up.clear()
            if not self._mends or self._pause_seconds() > 0:
                raise TargetUnavailable(words)
            self._mends -= 1

    async def _converse(self) -> None:
        knows_us = bool(self._session.id)
        url = await self._url(knows_us)
        async with self._connected(url) as socket:
            interval = _interval(await self._frame(socket, _CONNECT_SECONDS))
            await self._send(socket, self._greeting(knows_us))
            try:
                await _first_of(self._read(socket), self._beat(socket, interval))
            except (_Cut, _Barred) as end:
                self._count(knows_us, end)
                raise

    async def _url(self, knows_us: bool) -> str:
        if knows_us and self._session.resume_url and self._unreached < 2:
            return self._session.resume_url
        if wait := self._pause_seconds():
            raise TargetUnavailable(f"{self._why}; asked again in {wait:.0f} s", retry_after_seconds=wait)
        start = await self._parts.start(_CONNECT_SECONDS)
        if not knows_us and start.sessions_left is not None and start.sessions_left < _KEPT_STARTS:
            raise TargetUnavailable(
                f"Discord allows this bot only {start.sessions_left} more connections for now",
                retry_after_seconds=start.reset_after_seconds,
            )
        return start.url

    def _greeting(self, knows_us: bool) -> JsonObject:
        token, session = self._parts.token, self._session
        if knows_us:
            return {"op": _Op.RESUME, "d": {"token": token, "session_id": session.id, "seq": session.sequence}}
        properties = {"os": "linux", "browser": "postroom", "device": "postroom"}
        return {"op": _Op.IDENTIFY, "d": {"token": token, "intents": self._parts.intents, "properties": properties}}

    def _pause_seconds(self) -> float:
        return 0.0 if self._session.id else max(self._not_before - self._parts.monotonic(), 0.0)

    def _count(self, knew_us: bool, end: _Cut | _Barred) -> None:
        """A new session that never began costs one of the thousand."""
        barred = isinstance(end, _Barred)
        if not barred and (knew_us or self._up.is_set()):
            return
        if barred:
            self._session.forget()
        self._why = str(end)
        self._failed_starts += 1
        pause = _LONGEST_PAUSE_SECONDS if barred else _FIRST_PAUSE_SECONDS * 2.0 ** min(self._failed_starts - 1, 10)
        self._not_before = self._parts.monotonic() + min(pause, _LONGEST_PAUSE_SECONDS)

    async def _read(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        while True:
            await self._take(socket, await self._frame(socket))

    async def _take(self, socket: aiohttp.ClientWebSocketResponse, frame: JsonObject) -> None:
        match frame.get("op"):
            case _Op.DISPATCH:
                self._dispatch(frame)
            case _Op.HEARTBEAT:
                await self._send(socket, _heartbeat(self._session))
            case _Op.HEARTBEAT_ACK:
                self._acknowledged = True
            case _Op.RECONNECT:
                raise _Cut("Discord's gateway asks for another connection")
            case _Op.INVALID_SESSION:
                raise _Cut("Discord's gateway has ended the session", resumes=frame.get("d") is True)

    def _dispatch(self, frame: JsonObject) -> None:
        """What we cannot keep is not counted as received, so it comes again."""
        name, told, sequence = frame.get("t"), frame.get("d"), frame.get("s")
        if name == "READY":
            self._session.begin(told)
        if name in ("READY", "RESUMED"):
            self._failed_starts, self._unreached = 0, 0
            self._up.set()
        if event := self._parts.event(name, told, self._session.bot_id):
            if self._heard.count >= MOST_WAITING:
                raise _Cut("more has come over Discord's gateway than can be handled")
            self._heard.add(event)
        if isinstance(sequence, int):
            self._session.sequence = sequence

    async def _beat(self, socket: aiohttp.ClientWebSocketResponse, interval: float) -> None:
        self._acknowledged = True
        await asyncio.sleep(interval * self._parts.dice())
        while self._acknowledged:
            self._acknowledged = False
            await self._send(socket, _heartbeat(self._session))
            await asyncio.sleep(interval)
        raise _Cut("Discord's gateway no longer answers")

    async def _send(self, socket: aiohttp.ClientWebSocketResponse, frame: JsonObject) -> None:
        try:
            await socket.send_str(json.dumps(frame))
        except (aiohttp.ClientError, OSError):
            raise _farewell(socket.close_code) from None

    async def _frame(self, socket: aiohttp.ClientWebSocketResponse, timeout_seconds: float | None = None) -> JsonObject:
        try:
            received = await socket.receive(timeout_seconds)
        except TimeoutError:
            raise _Cut("Discord's gateway says nothing") from None
        if received.type is not aiohttp.WSMsgType.TEXT:
            raise _farewell(socket.close_code)
        try:
            frame = json.loads(received.data)
        except (ValueError, RecursionError):
            raise _Cut("Discord's gateway said something unreadable") from None
        return as_object(frame)

    @asynccontextmanager
    async def _connected(self, url: str) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        socket = await self._open(url)
        try:
            yield socket
        finally:
            await socket.close(code=self._goodbye)

    async def _open(self, url: str) -> aiohttp.ClientWebSocketResponse:
        scheme, _, rest = url.partition("://")
        if scheme != "wss" and (self._parts.secure or scheme != "ws"):
            raise TargetUnavailable("Discord's gateway is not at an encrypted address")
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                return await self._client().ws_connect(
                    f"{scheme}://{rest.partition('?')[0]}{_QUERY}",
                    headers={"User-Agent": self._parts.user_agent},
                    max_msg_size=_LARGEST_FRAME,
                    timeout=aiohttp.ClientWSTimeout(ws_close=_CLOSE_SECONDS),
                )
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError):
            self._unreached += 1
        raise TargetUnavailable(_AWAY)

    def _client(self) -> aiohttp.ClientSession:
        if self._http is None:
            self._http = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar())
        return self._http


def _interval(hello: JsonObject) -> float:
    milliseconds = as_object(hello.get("d")).get("heartbeat_interval")
    if hello.get("op") != _Op.HELLO or isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        raise _Cut("Discord's gateway did not greet us")
    return max(float(milliseconds), 1.0) / 1000


async def _first_of(*work: Coroutine[Any, Any, None]) -> None:
    """Raises what ends the first of them; the others end with it."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        done.pop().result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
