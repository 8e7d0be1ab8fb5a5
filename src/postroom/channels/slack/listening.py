"""What people do at Slack, heard over Socket Mode; the thread it was in, and the sign that it is worked on."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import aiohttp
import structlog

from postroom.channels.provider import HeardEvents, worked
from postroom.channels.slack.building import typed
from postroom.channels.slack.web_api import (
    ReactionStands,
    SlackWebApi,
    is_message_id,
    is_place,
    is_user,
)
from postroom.kernel.http.answers import JsonObject, as_object, json_object, objects_in
from postroom.kernel.values.errors import (
    CredentialsRefused,
    PostroomError,
    TargetUnavailable,
    ValidationError,
)
from postroom.message.inbound import Flag, InboundEvent, InboundFile, InboundMessage, Listened, Press

# Slack's envelopes, as what people wrote and pressed; one that is neither, or nonsense, says nothing.

_HEARD: Final = frozenset(["message", "app_mention"])
_BY_HAND: Final = frozenset([None, "file_share", "thread_broadcast", "me_message"])
_ABOUT_OTHERS: Final = frozenset(["message_changed", "message_deleted", "message_replied", "ekm_access_denied"])
_NOT_THERE: Final = frozenset(["tombstone", "hidden_by_limit"])
_SLACKBOT: Final = "USLACKBOT"


@dataclass(frozen=True, slots=True, kw_only=True)
class PressedIn:
    """Where a press is answered, and whom; it travels as the press's `callback_id`."""

    channel: str
    user: str
    thread: str | None = None

    @property
    def callback_id(self) -> str:
        return ":".join([self.channel, self.user, self.thread or ""])


def pressed_in(callback_id: str) -> PressedIn | None:
    channel, user, thread = (*callback_id.split(":"), "", "")[:3]
    if not is_place(channel) or not is_user(user):
        return None
    return PressedIn(channel=channel, user=user, thread=thread if is_message_id(thread) else None)


def inbound_event(channel: str, envelope: JsonObject) -> InboundEvent | None:
    payload = as_object(envelope.get("payload"))
    match envelope.get("type"):
        case "events_api":
            return _message(channel, as_object(payload.get("event")), _own_user(payload))
        case "interactive":
            return _press(channel, payload) if payload.get("type") == "block_actions" else None
        case _:
            return None


def _message(channel: str, event: JsonObject, bot: str | None) -> InboundMessage | None:
    """A mention in a channel comes twice, as itself and as a message; both have the same name."""
    place, stamp, text = event.get("channel"), event.get("ts"), event.get("text")
    if event.get("type") not in _HEARD or event.get("subtype") in _ABOUT_OTHERS or event.get("hidden"):
        return None
    if not is_place(place) or not is_message_id(stamp):
        return None
    sender, flags = _sender(event), _flags(event)
    is_alone = event.get("channel_type") == "im"
    return InboundMessage(
        channel=channel,
        number=0,
        message_id=str(stamp),
        places=_places(str(place), sender, is_alone),
        sender=sender,
        text=typed(text, bot) if isinstance(text, str) else None,
        replies_to=_root(event),
        alone=is_alone and sender is not None and not flags,
        addressed=event.get("type") == "app_mention" or (bot is not None and f"<@{bot}>" in str(text)),
        said_at_us=_microseconds(str(stamp)),
        flags=flags,
        offers=tuple(offer(one) for one in objects_in(event.get("files"))),
    )


def offer(told: JsonObject) -> InboundFile:
    """Of a file that is only known by its id Slack tells the rest when it is asked."""
    url, size = told.get("url_private_download") or told.get("url_private"), told.get("size")
    name, gone = told.get("name") or told.get("title"), told.get("mode") in _NOT_THERE
    return InboundFile(
        reference=str(url or f"id:{told.get('id')}"),
        name=str(name or "file"),
        size=size if isinstance(size, int) else None,
        problem="Slack does not have it any more" if gone else "",
    )


def _press(channel: str, payload: JsonObject) -> Press | None:
    """A button that opens a link is announced as well, without a value; that is for nobody to hear."""
    pressed = next((one for one in objects_in(payload.get("actions")) if isinstance(one.get("value"), str)), None)
    place, user = _pressed_place(payload), as_object(payload.get("user")).get("id")
    if pressed is None or place is None:
        return None
    sender = user if is_user(user) else None
    message, container = as_object(payload.get("message")), as_object(payload.get("container"))
    where = PressedIn(channel=place, user=sender or "", thread=message.get("thread_ts"))
    stamp = message.get("ts") or container.get("message_ts")
    return Press(
        channel=channel,
        event_id=f"press:{place}:{stamp}:{sender}:{pressed.get('action_ts')}",
        callback_id=where.callback_id,
        places=_places(place, sender, place.startswith("D")),
        sender=sender,
        token=pressed["value"],
        message_id=str(stamp) if stamp else None,
    )


def _pressed_place(payload: JsonObject) -> str | None:
    named = as_object(payload.get("channel")).get("id") or as_object(payload.get("container")).get("channel_id")
    return named if is_place(named) else None


def _places(place: str, sender: str | None, is_alone: bool) -> tuple[str, ...]:
    """A direct message is also known by whom it is with."""
    return (place, sender) if is_alone and sender is not None else (place,)


def _sender(event: JsonObject) -> str | None:
    user = event.get("user")
    return user if is_user(user) and not _is_bot(event) else None


def _flags(event: JsonObject) -> frozenset[Flag]:
    marks = {
        Flag.BOT: _is_bot(event),
        Flag.AUTOMATIC: event.get("subtype") not in _BY_HAND,
        Flag.FORWARDED: any(one.get("is_share") for one in objects_in(event.get("attachments"))),
    }
    return frozenset(flag for flag, is_so in marks.items() if is_so)


def _is_bot(event: JsonObject) -> bool:
    return bool(event.get("bot_id") or event.get("bot_profile")) or event.get("user") == _SLACKBOT


def _root(event: JsonObject) -> str | None:
    root = event.get("thread_ts")
    return root if is_message_id(root) and root != event.get("ts") else None


def _own_user(payload: JsonObject) -> str | None:
    named = next((one.get("user_id") for one in objects_in(payload.get("authorizations")) if one.get("is_bot")), None)
    return named if is_user(named) else None


def _microseconds(stamp: str) -> int:
    whole, _, fraction = stamp.partition(".")
    return int(whole) * 1_000_000 + int(fraction.ljust(6, "0"))


# Which thread a message was heard in: an answer to it goes to the thread's first message, as Slack wants.

_MOST_THREADS: Final = 10_000


class SlackThreads:
    """Of what this process heard; an answer to anything else names the message itself, which then begins a thread."""

    def __init__(self) -> None:
        self._roots: OrderedDict[tuple[str, str], str] = OrderedDict()

    def heard(self, event: InboundEvent | None) -> None:
        if not isinstance(event, InboundMessage) or event.replies_to is None:
            return
        for place in event.places:
            self._roots[place, event.message_id] = event.replies_to
        while len(self._roots) > _MOST_THREADS:
            self._roots.popitem(last=False)

    def root(self, place: str, message_id: str) -> str:
        return self._roots.get((place, message_id), message_id)


# Slack's Socket Mode: websockets that Slack renews from time to time, read as one stream of frames.

CONNECT_SECONDS: Final = 10.0
_ACK_SECONDS: Final = 5.0
_HEARTBEAT_SECONDS: Final = 20.0
_GOODBYE: Final = aiohttp.ClientWSTimeout(ws_close=1.0)
_MOST_UNREAD: Final = 1000
_MOST_LEAVING: Final = 2
_log = structlog.get_logger("postroom.slack")


@dataclass(slots=True, eq=False)
class _SlackConnection:
    """`is_leaving`: Slack will close it soon, and until then it may still bring something."""

    socket: aiohttp.ClientWebSocketResponse
    is_leaving: bool = False
    reader: asyncio.Task[None] | None = field(default=None, repr=False)

    async def close(self) -> None:
        await self.socket.close()
        if self.reader is not None:
            self.reader.cancel()
            await asyncio.gather(self.reader, return_exceptions=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _SlackFrame:
    """What one connection brought; None says that it has ended."""

    connection: _SlackConnection
    content: JsonObject | None


class SocketMode:
    """`open_url` asks Slack where to connect; the address it gives is good once, and a secret."""

    def __init__(self, open_url: Callable[[], Awaitable[str]]) -> None:
        self._open_url = open_url
        self._session: aiohttp.ClientSession | None = None
        self._connections: list[_SlackConnection] = []  # the leaving ones, too
        self._frames: asyncio.Queue[_SlackFrame] = asyncio.Queue(_MOST_UNREAD)

    async def connect(self) -> bool:
        """Unless there is a connection that will stay; returns whether one had to be opened."""
        if any(not one.is_leaving for one in self._connections):
            return False
        url = await self._open_url()
        connection = _SlackConnection(await self._dial(url))
        connection.reader = asyncio.create_task(self._read(connection))
        self._connections.append(connection)
        return True

    async def renew(self, connection: _SlackConnection) -> bool:
        """A new one is opened before the old one ends."""
        connection.is_leaving = True
        opened = await self.connect()
        leaving = [one for one in self._connections if one.is_leaving]
        for old in leaving[:-_MOST_LEAVING]:
            await self.drop(old)
        return opened

    async def drop(self, connection: _SlackConnection) -> None:
        self._connections = [one for one in self._connections if one is not connection]
        await connection.close()

    async def next(self, timeout_seconds: float) -> _SlackFrame | None:
        """None when nothing came in time."""
        if not self._frames.empty():
            return self._frames.get_nowait()
        if timeout_seconds <= 0:
            return None
        try:
            async with asyncio.timeout(timeout_seconds):
                return await self._frames.get()
        except TimeoutError:
            return None

    @property
    def is_empty(self) -> bool:
        return self._frames.empty()

    async def acknowledge(self, connection: _SlackConnection, envelope_id: str) -> None:
        """Where the envelope came from, or else where we are connected now. What gets lost is sent again by Slack."""
        for one in (connection, *self._connections):
            if not one.socket.closed and await _said(one.socket, {"envelope_id": envelope_id}):
                return
        _log.info("slack.unacknowledged")

    async def close(self) -> None:
        for connection in tuple(self._connections):
            await self.drop(connection)
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _dial(self, url: str) -> aiohttp.ClientWebSocketResponse:
        """The library's own errors name the address, so none of them gets out."""
        if self._session is None:
            self._session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar())
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                return await self._session.ws_connect(url, heartbeat=_HEARTBEAT_SECONDS, timeout=_GOODBYE)
        except (aiohttp.ClientError, OSError, ValueError):  # a TimeoutError is an OSError
            pass
        raise TargetUnavailable("Slack's event connection could not be opened")

    async def _read(self, connection: _SlackConnection) -> None:
        try:
            async for message in connection.socket:
                if message.type is aiohttp.WSMsgType.TEXT and (content := json_object(message.data)):
                    await self._frames.put(_SlackFrame(connection=connection, content=content))
        finally:
            if connection in self._connections:
                await self._frames.put(_SlackFrame(connection=connection, content=None))


async def _said(socket: aiohttp.ClientWebSocketResponse, words: Mapping[str, str]) -> bool:
    try:
        async with asyncio.timeout(_ACK_SECONDS):
            await socket.send_json(words)
    except (aiohttp.ClientError, OSError, RuntimeError):
        return False
    return True


# Hear what people do at Slack; an envelope is acknowledged once what it brought has been handled, and not before.

_MOST_AT_ONCE: Final = 20  # they are handled one after the other, and Slack waits three seconds for each
_MOST_RENEWALS: Final = 3
_FOR_GOOD: Final[Mapping[str, str]] = {
    "link_disabled": "Socket Mode is turned off for this Slack app",
    "too_many_websockets": "too many programs listen for this Slack app",
}


class SlackListening:
    def __init__(
        self, sockets: SocketMode, read: Callable[[JsonObject], InboundEvent | None], now_us: Callable[[], int]
    ) -> None:
        self._sockets = sockets
        self._read = read
        self._heard = HeardEvents(now_us)

    async def listen(self, position: int | None, timeout_seconds: float) -> Listened:
        for connection, envelope_id in self._heard.handled_before(position):
            await self._sockets.acknowledge(connection, envelope_id)
        if not self._heard.count:
            await self._sockets.connect()
            await self._wait(timeout_seconds)
        return self._heard.listened(everything=self._sockets.is_empty)

    async def _wait(self, timeout_seconds: float) -> None:
        """Until something came; then whatever came with it."""
        clock = asyncio.get_running_loop().time
        deadline, renewals = clock() + timeout_seconds, 0
        while self._heard.count < _MOST_AT_ONCE:
            frame = await self._sockets.next(0.0 if self._heard.count else deadline - clock())
            if frame is None:
                return
            renewals += await self._take(frame)
            if renewals > _MOST_RENEWALS:
                raise TargetUnavailable("Slack closes its event connection again and again")

    async def _take(self, frame: _SlackFrame) -> bool:
        """Whether another connection had to be opened."""
        content = frame.content
        if content is None:
            await self._sockets.drop(frame.connection)
            return await self._sockets.connect()
        if content.get("type") == "disconnect":
            return await self._renew(frame.connection, str(content.get("reason")))
        await self._keep(frame.connection, content)
        return False

    async def _renew(self, connection: _SlackConnection, reason: str) -> bool:
        if words := _FOR_GOOD.get(reason):
            await self._sockets.drop(connection)
            raise TargetUnavailable(words)
        return await self._sockets.renew(connection)

    async def _keep(self, connection: _SlackConnection, content: JsonObject) -> None:
        """What is for nobody to handle is done with at once, such as a command or somebody's edit."""
        envelope_id = content.get("envelope_id")
        if not isinstance(envelope_id, str):
            return
        event = self._read(content)
        if event is None:
            await self._sockets.acknowledge(connection, envelope_id)
        else:
            self._heard.add(event, (connection, envelope_id))


# How Slack shows that an answer is being worked on: a status in the thread, or where that is refused a reaction.

STATUS: Final = "assistant.threads.setStatus"
WORDS: Final = "is working on it…"
_EMOJI: Final = "eyes"
_MOST_SIGNS: Final = 1_000


class SlackWorkSign:
    """
    The status takes no scope but `chat:write`, and Slack lets it go when the answer comes or after two minutes.

    A reaction takes `reactions:write` and has to be removed; without that scope nothing is shown.
    """

    def __init__(self, api: SlackWebApi) -> None:
        self._api = api
        self._reacted: dict[tuple[str, str], bool] = {}  # False: this message can be given no sign

    async def show(self, channel: str, message_id: str, thread: str, timeout_seconds: float) -> bool:
        try:
            if (channel, message_id) not in self._reacted:
                return await self._say(channel, message_id, thread, timeout_seconds)
        except PostroomError:
            return False
        return self._reacted[channel, message_id]

    async def hide(self, channel: str, message_id: str, thread: str, timeout_seconds: float) -> None:
        """An answer elsewhere, as to /stop, takes no status away."""
        reacted = self._reacted.pop((channel, message_id), None)
        if reacted is None:
            await worked(self._status(channel, thread, "", timeout_seconds))
        elif reacted:
            await worked(self._api.call("reactions.remove", _reaction(channel, message_id), timeout_seconds))

    async def _say(self, channel: str, message_id: str, thread: str, timeout_seconds: float) -> bool:
        try:
            await self._status(channel, thread, WORDS, timeout_seconds)
        except (ValidationError, CredentialsRefused, TargetUnavailable):  # the last where it has no such method
            return await self._react(channel, message_id, timeout_seconds)
        return True

    async def _react(self, channel: str, message_id: str, timeout_seconds: float) -> bool:
        stands = True
        try:
            await self._api.call("reactions.add", _reaction(channel, message_id), timeout_seconds)
        except ReactionStands:
            pass
        except (ValidationError, CredentialsRefused):
            stands = False
        if len(self._reacted) >= _MOST_SIGNS:
            self._reacted.clear()
        self._reacted[channel, message_id] = stands
        return stands

    async def _status(self, channel: str, thread: str, words: str, timeout_seconds: float) -> None:
        body = {"channel_id": channel, "thread_ts": thread, "status": words}
        await self._api.call(STATUS, body, timeout_seconds)


def _reaction(channel: str, message_id: str) -> dict[str, str]:
    return {"channel": channel, "timestamp": message_id, "name": _EMOJI}
