"""What people write in rooms of Matrix, as a homeserver's /sync tells it, and how far we have heard."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

from postroom.channels.matrix.api import MEDIA, V3, MatrixApi, below_room
from postroom.channels.matrix.building import MESSAGE, address, is_event, is_user
from postroom.channels.matrix.rooms import MatrixRooms
from postroom.kernel.http.answers import JsonObject, as_object, json_object, objects_in
from postroom.kernel.running.files import replace_file
from postroom.kernel.values.errors import PostroomError, TargetUnavailable
from postroom.message.inbound import Flag, InboundFile, InboundMessage, Listened

_DAY_US: Final = 24 * 3600 * 1_000_000
_MARGIN_SECONDS: Final = 10.0
_MOST_A_LOOK: Final = 50
_MOST_PAGES: Final = 20
_MOST_JOINS: Final = 20
_MEMBER: Final = "m.room.member"
_TYPES: Final = [MESSAGE, _MEMBER]
_NOTHING: Final = {"not_types": ["*"]}
_FILTER: Final = json.dumps(
    {
        "presence": _NOTHING,
        "account_data": _NOTHING,
        "room": {
            "account_data": _NOTHING,
            "ephemeral": _NOTHING,
            "state": _NOTHING,
            "timeline": {"types": _TYPES, "limit": _MOST_A_LOOK},
        },
    }
)
_FILES: Final = ("m.file", "m.image", "m.audio", "m.video")
_NO_WORDS: Final = frozenset({"m.notice"})
_BEHIND_ANOTHER_NAME: Final = ("com.beeper.per_message_profile", "m.per_message_profile")
_QUOTE: Final = re.compile(r"(?:> [^\n]*\n)+\n")  # how clients of old repeat, before the words, what is answered


def heard_in(channel: str, room: str, me: str, event: JsonObject, *, is_alone: bool) -> InboundMessage | None:
    """None for what says nothing: our own, an edit of something said before, what was taken back or no words at all."""
    content, sender, name = as_object(event.get("content")), event.get("sender"), event.get("event_id")
    relation = as_object(content.get("m.relates_to"))
    if event.get("type") != MESSAGE or "state_key" in event or sender == me or not is_user(sender):
        return None
    if not is_event(name) or not isinstance(content.get("body"), str) or relation.get("rel_type") == "m.replace":
        return None
    answered = as_object(relation.get("m.in_reply_to")).get("event_id")
    flags = _flags(content)
    at_ms = event.get("origin_server_ts")
    return InboundMessage(
        channel=channel,
        number=0,
        message_id=str(name),
        places=(room, str(sender)) if is_alone else (room,),
        sender=None if Flag.BOT in flags else str(sender),
        text=_words(content, is_answer=is_event(answered)),
        replies_to=answered if is_event(answered) else None,
        alone=is_alone and not flags,
        addressed=me in _mentioned(content),
        said_at_us=at_ms * 1_000 if isinstance(at_ms, int) else None,
        flags=flags,
        offers=_offers(content),
    )


def _words(content: JsonObject, *, is_answer: bool) -> str | None:
    """Of a file the body is its name and nobody's words, unless the name stands beside it."""
    body, kind = str(content["body"]), content.get("msgtype")
    if kind in _FILES and content.get("filename") in (None, body):
        return None
    if kind not in ("m.text", "m.emote", *_NO_WORDS, *_FILES):
        return None
    return _QUOTE.sub("", body, count=1) if is_answer and _QUOTE.match(body) else body


def _offers(content: JsonObject) -> tuple[InboundFile, ...]:
    if content.get("msgtype") not in _FILES:
        return ()
    url, size = content.get("url"), as_object(content.get("info")).get("size")
    is_there = isinstance(url, str) and MEDIA.fullmatch(url) is not None
    return (
        InboundFile(
            reference=str(url) if is_there else "",
            name=str(content.get("filename") or content["body"]),
            size=size if isinstance(size, int) else None,
            problem="" if is_there else "it is encrypted, or nobody said where it lies",
        ),
    )


def _flags(content: JsonObject) -> frozenset[Flag]:
    marks = {
        Flag.BOT: content.get("msgtype") in _NO_WORDS,
        Flag.ANONYMOUS: any(name in content for name in _BEHIND_ANOTHER_NAME),
    }
    return frozenset(flag for flag, is_so in marks.items() if is_so)


def _mentioned(content: JsonObject) -> list[object]:
    named = as_object(content.get("m.mentions")).get("user_ids")
    return named if isinstance(named, list) else []


# How far we have heard: a homeserver names each place by a text of its own, and we by the time we were there.


class SyncPlaces:
    """
    Kept in a file as well, so that a restart goes on where it was.

    Where it is lost, or another machine listens now, the last day is read anew: each event has its id, so what was
    heard before is known.
    """

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._known: dict[int | None, str] = {}
        if file is not None and file.exists():
            kept = json_object(file.read_bytes())
            self._known = {int(name): token for name, token in kept.items() if name.isdecimal()}

    def token(self, position: int | None) -> str | None:
        return self._known.get(position)

    def reached(self, position: int | None, token: str, *, asked: int | None) -> None:
        """What was asked for stays known until somebody asks for more: until then it may be asked for again."""
        self._known = {name: one for name, one in self._known.items() if name == asked} | {position: token}
        if self._file is None or position is None or position == asked:
            return
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        kept = {str(name): one for name, one in self._known.items() if name is not None}
        replace_file(self._file, json.dumps(kept).encode())


class MatrixListening:
    def __init__(
        self,
        channel: str,
        api: MatrixApi,
        rooms: MatrixRooms,
        places: SyncPlaces,
        now_us: Callable[[], int],
        *,
        join_invited: bool,
    ) -> None:
        self._channel, self._api, self._rooms, self._places = channel, api, rooms, places
        self._now_us, self._join_invited = now_us, join_invited

    async def listen(self, position: int | None, timeout_seconds: float) -> Listened:
        since, now_us = self._places.token(position), self._now_us()
        ends_at = time.monotonic() + timeout_seconds + _MARGIN_SECONDS
        told = await self._synced(since, timeout_seconds)
        me = await self._api.own_user(ends_at - time.monotonic())
        oldest_us = min(now_us, position or now_us) - _DAY_US
        events = [
            event
            for room, timeline in _timelines(told)
            for event in await self._room(room, timeline, since, me, oldest_us, ends_at)
        ]
        await self._join(told, me, ends_at)
        token = str(told["next_batch"])
        if not events:
            self._places.reached(position, token, asked=position)
            return Listened()
        reached = max(now_us, (position or 0) + 1)
        self._places.reached(reached, token, asked=position)
        events.sort(key=lambda event: event.said_at_us or 0)
        return Listened(events=events, position=reached)

    async def _synced(self, since: str | None, timeout_seconds: float) -> JsonObject:
        wait_ms = 0 if since is None else int(timeout_seconds * 1_000)
        query = {"filter": _FILTER, "timeout": str(wait_ms), "set_presence": "offline"}
        query |= {"since": since} if since else {}
        told = (await self._api.ask("GET", f"{V3}/sync", timeout_seconds + _MARGIN_SECONDS, query=query)).told
        if not isinstance(told.get("next_batch"), str):
            raise TargetUnavailable("Matrix did not say where we are in its events")
        return told

    async def _room(
        self, room: str, timeline: JsonObject, since: str | None, me: str, oldest_us: int, ends_at: float
    ) -> list[InboundMessage]:
        told = await self._whole(room, timeline, since, oldest_us, ends_at)
        if any(event.get("type") == _MEMBER for event in told):
            self._rooms.forget_members(room)
        found: list[InboundMessage] = []
        for event in told:
            if _said_at_us(event) < oldest_us or event.get("type") != MESSAGE:
                continue
            is_alone = await self._rooms.members(room, ends_at) == {me, event.get("sender")}
            if (one := heard_in(self._channel, room, me, event, is_alone=is_alone)) is not None:
                found.append(one)
        return found

    async def _whole(
        self, room: str, timeline: JsonObject, since: str | None, oldest_us: int, ends_at: float
    ) -> list[JsonObject]:
        """A homeserver shows the last few events of a room; those before them are asked for page by page."""
        told, before = objects_in(timeline.get("events")), timeline.get("prev_batch")
        for _ in range(_MOST_PAGES):
            if timeline.get("limited") is not True or not isinstance(before, str) or not told:
                break
            if _said_at_us(told[0]) < oldest_us:
                break
            query = {"dir": "b", "from": before, "limit": "100", "filter": json.dumps({"types": _TYPES})}
            query |= {"to": since} if since else {}
            left = ends_at - time.monotonic()
            page = (await self._api.ask("GET", below_room(room, "messages"), left, query=query)).told
            earlier, before = objects_in(page.get("chunk")), page.get("end")
            if not earlier:
                break
            told = [*reversed(earlier), *told]
        return told

    async def _join(self, told: JsonObject, me: str, ends_at: float) -> None:
        """An invitation that cannot be followed any more is nobody's loss."""
        invited = as_object(as_object(told.get("rooms")).get("invite"))
        for room in list(invited)[:_MOST_JOINS] if self._join_invited else []:
            if address(room) == room:
                with suppress(PostroomError):
                    await self._api.ask("POST", f"{V3}/join/{quote(room, safe='')}", ends_at - time.monotonic(), {})
                    if (person := _alone_with(as_object(invited[room]), me)) is not None:
                        await self._rooms.remember_direct(person, room, ends_at)


def _alone_with(invitation: JsonObject, me: str) -> str | None:
    """Who has invited us for the two of us alone."""
    for event in objects_in(as_object(invitation.get("invite_state")).get("events")):
        is_ours = event.get("type") == _MEMBER and event.get("state_key") == me
        if is_ours and as_object(event.get("content")).get("is_direct") is True and is_user(event.get("sender")):
            return str(event["sender"])
    return None


def _timelines(told: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    for room, one in as_object(as_object(told.get("rooms")).get("join")).items():
        if address(room) == room:
            yield room, as_object(as_object(one).get("timeline"))


def _said_at_us(event: JsonObject) -> int:
    at_ms = event.get("origin_server_ts")
    return at_ms * 1_000 if isinstance(at_ms, int) else 0
