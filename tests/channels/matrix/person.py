"""A person who writes to an account in a room of Matrix, as a homeserver's /sync tells of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from postroom.message.channel import Channel
from postroom.testing import HttpProvider, Place, Reply, TakenRequest, raw_reply, reply

US = "@postroom:example.org"
PERSON = "@ada:example.org"
ROOM = "!kitchen:example.org"
AT_MS = 1_772_366_400_000


def event_named(number: int) -> str:
    return f"$event{number:04d}-abcdefghijklmnopqrstuvwxyz0123456789"


class Homeserver:
    """Two accounts, one room between them, and whatever else a test puts there."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.rooms: dict[str, set[str]] = {ROOM: {US, PERSON}}
        self.invited: dict[str, set[str]] = {}
        self.encrypted: set[str] = set()
        self.direct: dict[str, list[str]] = {PERSON: [ROOM]}
        self.asked: list[TakenRequest] = []
        self.is_away = False
        self.shows = 100
        """So many of the newest events of a room are shown by a /sync."""
        self.acknowledged = 0

    def say(self, content: dict[str, Any], *, sender: str = PERSON, room: str = ROOM, at_ms: int = AT_MS) -> str:
        name = event_named(len(self.events) + 1)
        self.events.append(
            {
                "type": "m.room.message",
                "room": room,
                "event_id": name,
                "sender": sender,
                "origin_server_ts": at_ms + len(self.events),
                "content": content,
            }
        )
        return name

    def answer(self, request: TakenRequest) -> Reply | None:
        """None for what is a message."""
        url = urlsplit(request.path)
        path = unquote(url.path.removeprefix("/_matrix/client/v3/"))
        if request.method == "PUT" and (path.startswith("rooms/") and ("/send/" in path or "/redact/" in path)):
            return None
        self.asked.append(request)
        if self.is_away:
            return raw_reply(503, b"later")
        given = {name: values[0] for name, values in parse_qs(url.query).items()}
        told = self._told(request, path, given)
        return reply(404, {"errcode": "M_NOT_FOUND", "error": "not here"}) if told is None else reply(200, told)

    def _told(self, request: TakenRequest, path: str, given: dict[str, str]) -> dict[str, Any] | None:
        match [request.method, *path.split("/")]:
            case ["GET", "account", "whoami"]:
                return {"user_id": US}
            case ["GET", "sync"]:
                return self._sync(int(given["since"].removeprefix("s")) if "since" in given else None)
            case ["GET", "rooms", room, "messages"]:
                return self._page(room, given)
            case ["GET", "rooms", room, "joined_members"] if room in self.rooms:
                return {"joined": {one: {} for one in self.rooms[room]}}
            case ["GET", "rooms", room, "state", "m.room.encryption"] if room in self.encrypted:
                return {"algorithm": "m.megolm.v1.aes-sha2"}
            case ["GET", "rooms", room, "state", "m.room.member", person] if person in self.invited.get(room, set()):
                return {"membership": "invite"}
            case ["GET", "user", _, "account_data", "m.direct"] if self.direct:
                return dict(self.direct)
            case ["PUT", "user", _, "account_data", "m.direct"]:
                self.direct = request.body
                return {}
            case ["POST", "createRoom"]:
                room = f"!made{len(self.rooms)}:example.org"
                self.rooms[room], self.invited[room] = {US}, set(request.body["invite"])
                return {"room_id": room}
            case ["POST", "join", room] if room in self.invited:
                self.rooms.setdefault(room, set()).add(US)
                return {"room_id": room}
            case ["PUT", "rooms", _, "typing", _]:
                return {}
        return None

    def _sync(self, since: int | None) -> dict[str, Any]:
        self.acknowledged = max(self.acknowledged, since or 0)
        new = list(enumerate(self.events))[since or 0 :]
        joined: dict[str, Any] = {}
        for room in self.rooms:
            told = [(number, one) for number, one in new if one["room"] == room]
            shown = told[-self.shows :]
            if shown:
                limited = len(shown) < len(told)
                timeline = {"events": [one for _, one in shown], "limited": limited, "prev_batch": f"p{shown[0][0]}"}
                joined[room] = {"timeline": timeline}
        waiting = {
            room: {"invite_state": {"events": [_invitation(PERSON)]}}
            for room in self.invited
            if US not in self.rooms.get(room, set())
        }
        return {"next_batch": f"s{len(self.events)}", "rooms": {"join": joined, "invite": waiting}}

    def _page(self, room: str, given: dict[str, str]) -> dict[str, Any]:
        """Backwards, two at a time, so that more than one page is needed."""
        end, least = int(given["from"][1:]), int(given.get("to", "s0")[1:])
        told = [
            (number, one) for number, one in enumerate(self.events) if one["room"] == room and least <= number < end
        ]
        page = told[-2:]
        more = {"end": f"p{page[0][0]}"} if len(page) < len(told) else {}
        return {"chunk": [one for _, one in reversed(page)], **more}


def _invitation(by: str) -> dict[str, Any]:
    content = {"membership": "invite", "is_direct": True}
    return {"type": "m.room.member", "state_key": US, "sender": by, "content": content}


class MatrixPerson:
    """What was said stays in the room; a /sync tells what came after the place it is given."""

    sender = PERSON

    def __init__(self, server: HttpProvider, connect: Callable[[Place], Channel]) -> None:
        self._server, self._connect = server, connect
        self.home = Homeserver()
        server.aside = self.home.answer

    @property
    def acknowledged(self) -> int:
        return self.home.acknowledged

    def connect(self) -> Any:
        return self._connect(Place(port=self._server.port))

    async def write(self, text: str, *, by_bot: bool = False, forged: bool = False) -> None:
        content: dict[str, Any] = {"msgtype": "m.notice" if by_bot else "m.text", "body": text}
        if forged:
            content["com.beeper.per_message_profile"] = {"id": "eve", "displayname": "Eve"}
        self.home.say(content)

    async def press(self, token: str) -> None:
        raise AssertionError("nothing can be pressed there")

    async def show_again(self) -> None:
        """It does so by itself until a later place is asked from."""

    async def leave(self) -> None:
        self.home.is_away = True


def person_on(connect: Callable[[Place], Channel]) -> Callable[[], Any]:
    @asynccontextmanager
    async def person() -> AsyncIterator[MatrixPerson]:
        async with HttpProvider() as server:
            yield MatrixPerson(server, connect)

    return person
