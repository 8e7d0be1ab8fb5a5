"""Where on Matrix somebody is written to: their direct room, who else is in a room, and whether it is encrypted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final
from urllib.parse import quote

from postroom.channels.matrix.api import V3, MatrixApi, below_room
from postroom.channels.matrix.building import address, is_user
from postroom.kernel.http.answers import JsonObject, as_object
from postroom.kernel.values.errors import TargetUnavailable, ValidationError

_KNOWN_SECONDS: Final = 600.0
_DIRECT: Final = "m.direct"


class MatrixRooms:
    """What was found is believed for ten minutes: people leave, and rooms become encrypted."""

    def __init__(self, api: MatrixApi, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._api, self._monotonic = api, monotonic
        self._direct: dict[str, tuple[str, float]] = {}
        self._open: dict[str, float] = {}
        self._members: dict[str, tuple[frozenset[str], float]] = {}
        self._listing = asyncio.Lock()  # the account's list of direct rooms is read and written whole

    async def written_to(self, place: str, ends_at: float) -> str:
        """Raises ValidationError for an encrypted room: what we say there would be for everybody's eyes."""
        room = await self._direct_room(place, ends_at) if is_user(place) else place
        if await self._is_encrypted(room, ends_at):
            raise ValidationError(
                "this room on Matrix is end-to-end encrypted, which this channel is not: use a room without encryption"
            )
        return room

    async def members(self, room: str, ends_at: float) -> frozenset[str]:
        found, known_until = self._members.get(room, (frozenset(), 0.0))
        if known_until > self._monotonic():
            return found
        told = await self._api.look(below_room(room, "joined_members"), ends_at - self._monotonic())
        found = frozenset(as_object((told or {}).get("joined")))
        self._members[room] = (found, self._until())
        return found

    def forget_members(self, room: str) -> None:
        self._members.pop(room, None)

    async def remember_direct(self, person: str, room: str, ends_at: float) -> None:
        """A room to which a person has invited us for the two of us alone."""
        async with self._listing:
            me, listed = await self._listed(ends_at)
            await self._list(me, person, room, listed, ends_at)

    async def _direct_room(self, person: str, ends_at: float) -> str:
        async with self._listing:
            room, known_until = self._direct.get(person, ("", 0.0))
            if known_until <= self._monotonic():
                room = await self._found(person, ends_at)
                self._direct[person] = (room, self._until())
            return room

    async def _found(self, person: str, ends_at: float) -> str:
        me, listed = await self._listed(ends_at)
        for room in _rooms_of(person, listed):
            if await self._is_between(me, person, room, ends_at):
                return room
        wish = {"preset": "trusted_private_chat", "is_direct": True, "invite": [person]}
        made = (await self._api.ask("POST", f"{V3}/createRoom", ends_at - self._monotonic(), wish)).told.get("room_id")
        if not isinstance(made, str) or address(made) != made:
            raise TargetUnavailable("Matrix named no direct room with this person")
        await self._list(me, person, made, listed, ends_at)  # where this fails, an empty room is left, and no message
        return made

    async def _listed(self, ends_at: float) -> tuple[str, JsonObject]:
        """Who we are, and the direct rooms that our account remembers, by person."""
        me = await self._api.own_user(ends_at - self._monotonic())
        return me, await self._api.look(_account_data(me), ends_at - self._monotonic()) or {}

    async def _list(self, me: str, person: str, room: str, listed: JsonObject, ends_at: float) -> None:
        before = [one for one in _rooms_of(person, listed) if one != room]
        await self._api.ask("PUT", _account_data(me), ends_at - self._monotonic(), {**listed, person: [room, *before]})

    async def _is_between(self, me: str, person: str, room: str, ends_at: float) -> bool:
        """Nobody else is there, they can read it, and so can we."""
        self.forget_members(room)
        joined = await self.members(room, ends_at)
        if me not in joined or not joined <= {me, person} or await self._is_encrypted(room, ends_at):
            return False
        return person in joined or await self._is_invited(person, room, ends_at)

    async def _is_invited(self, person: str, room: str, ends_at: float) -> bool:
        path = below_room(room, f"state/m.room.member/{quote(person, safe='')}")
        told = await self._api.look(path, ends_at - self._monotonic())
        return (told or {}).get("membership") == "invite"

    async def _is_encrypted(self, room: str, ends_at: float) -> bool:
        if self._open.get(room, 0.0) > self._monotonic():
            return False
        if await self._api.look(below_room(room, "state/m.room.encryption"), ends_at - self._monotonic()) is not None:
            return True
        self._open[room] = self._until()  # whoever may not ask may not write either, and is told so then
        return False

    def _until(self) -> float:
        return self._monotonic() + _KNOWN_SECONDS


def _rooms_of(person: str, listed: JsonObject) -> list[str]:
    named = listed.get(person)
    return [one for one in named if isinstance(one, str) and address(one) == one] if isinstance(named, list) else []


def _account_data(me: str) -> str:
    return f"{V3}/user/{quote(me, safe='')}/account_data/{_DIRECT}"
