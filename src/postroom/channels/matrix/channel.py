"""Matrix by its client API: find the room, make the call once, read the answer; hear what people write."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

from postroom.channels.matrix.api import DUPLICATE_REACTION, MatrixApi, below_room
from postroom.channels.matrix.building import MatrixCall, address, build, is_event
from postroom.channels.matrix.kind import MATRIX, MatrixAccount
from postroom.channels.matrix.listening import MatrixListening, SyncPlaces
from postroom.channels.matrix.rooms import MatrixRooms
from postroom.channels.provider import worked
from postroom.channels.shared import check_files
from postroom.kernel.http.answers import JsonObject
from postroom.kernel.values.errors import OutcomeUncertain
from postroom.kernel.values.ids import to_us
from postroom.message.channel import Capabilities
from postroom.message.delivery import Message, Receipt, ReceiptKind
from postroom.message.inbound import InboundFile, InboundMessage, Listened
from postroom.settings.accounts import Surroundings

_TYPING_SECONDS = 30


class Matrix:
    """`places` is a file in which it remembers how far it has heard."""

    address = staticmethod(address)
    capabilities: ClassVar[Capabilities] = MATRIX

    def __init__(
        self,
        name: str,
        homeserver: str,
        token: str,
        *,
        join_invited: bool = True,
        places: Path | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.name = name
        self._api = MatrixApi(homeserver, token, now)
        self._rooms = MatrixRooms(self._api)
        self._listening = MatrixListening(
            name, self._api, self._rooms, SyncPlaces(places), lambda: to_us(now()), join_invited=join_invited
        )

    @classmethod
    def of(cls, name: str, options: MatrixAccount, given: Surroundings) -> Matrix:
        places = given.home / "matrix" / f"{name}.json"
        return cls(name, options.homeserver, options.token.reveal(), join_invited=options.join_invited, places=places)

    def __repr__(self) -> str:
        return f"Matrix(name={self.name!r}, homeserver={self._api.base_url!r}, token=***)"

    def prepare(self, message: Message) -> Sequence[MatrixCall]:
        check_files(message, MATRIX, None)
        return build(message)

    async def send(self, part: MatrixCall, timeout_seconds: float) -> Receipt:
        ends_at = time.monotonic() + timeout_seconds
        room = await self._rooms.written_to(part.place, ends_at)
        path, left = below_room(room, part.path), ends_at - time.monotonic()
        answer = await self._api.request("PUT", path, left, {} if part.act is ReceiptKind.DELETE else part.content)
        is_there = part.act is ReceiptKind.REACTION and answer.told.get("errcode") == DUPLICATE_REACTION
        if not is_there:
            self._api.checked(answer, part.private)
        name = answer.told.get("event_id")
        if not is_event(name) and not is_there:
            raise OutcomeUncertain("Matrix took the request and named no event")
        if part.act is ReceiptKind.SENT:
            return Receipt(str(name), conversation=room)
        return Receipt.of_change(part.act, room, part.about, room)

    async def listen(self, position: int | None, timeout_seconds: float) -> Listened:
        return await self._listening.listen(position, timeout_seconds)

    async def bring_files(self, message: InboundMessage, timeout_seconds: float) -> Sequence[InboundFile]:
        ends_at = time.monotonic() + timeout_seconds
        return [await self._api.bring(one, ends_at - time.monotonic()) for one in message.offers]

    async def show_work(self, place: str, message_id: str, timeout_seconds: float) -> bool:
        typing = {"typing": True, "timeout": _TYPING_SECONDS * 1_000}
        return await worked(self._typing(place, timeout_seconds, typing))

    async def hide_work(self, place: str, message_id: str, timeout_seconds: float) -> None:
        await worked(self._typing(place, timeout_seconds, {"typing": False}))

    async def probe(self, timeout_seconds: float) -> str:
        return await self._api.own_user(timeout_seconds)

    async def close(self) -> None:
        await self._api.close()

    async def _typing(self, place: str, timeout_seconds: float, body: JsonObject) -> None:
        me = await self._api.own_user(timeout_seconds)
        await self._api.ask("PUT", below_room(place, f"typing/{quote(me, safe='')}"), timeout_seconds, body)
