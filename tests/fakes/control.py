"""The person's side of every face, under /sandbox/NAME/: read what arrived, write, press a button."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from aiohttp import web

from postroom.kernel.values.ids import to_text
from postroom.sandbox.records import ArrivedFile, answer, asked_window, picture_type, read_json
from tests.fakes.face import SandboxFace
from tests.fakes.record import KEPT_FILES, FaceButton, FaceMessage, PressedKey, Wrote


class FaceControl:
    """A place is a channel, a person or a topic, as the service names it."""

    def __init__(self, face: SandboxFace) -> None:
        self._face = face

    def routes(self) -> Sequence[web.RouteDef]:
        root = f"/sandbox/{self._face.name}"
        return (
            web.get(f"{root}/messages", self.messages),
            web.post(f"{root}/inbound", self.write),
            web.post(f"{root}/press", self.press),
        )

    async def messages(self, request: web.Request) -> web.StreamResponse:
        window, place = asked_window(request), request.query.get("place")
        found = self._face.ledger.messages(from_person=False, place=place, since=window.since, limit=window.limit)
        listed = [face_listing(one, self._face.buttons(one)) for one in found]
        return answer({"messages": listed, "count": len(listed)})

    async def write(self, request: web.Request) -> web.StreamResponse:
        given: Any = await read_json(request)
        wrote = Wrote(
            place=given["place"],
            text=given["text"],
            author=given.get("from_id"),
            reply_to=given.get("reply_to_message_id"),
            files=[_file(one) for one in given.get("files", ())],
            host=request.host,
        )
        return answer({"message_id": (await self._face.written(wrote)).message_id})

    async def press(self, request: web.Request) -> web.StreamResponse:
        """A button is named by its label or by what it says to the bot."""
        given: Any = await read_json(request)
        message = self._face.ledger.find(given["message_id"])
        assert message is not None, "there is no such message"
        button = next(one for one in self._face.buttons(message) if given["button"] in (one.label, one.data))
        pressed = PressedKey(message=message, button=button, author=given.get("from_id"))
        return answer({"press": await self._face.pressed(pressed)})


def _file(given: dict[str, str]) -> ArrivedFile:
    content = base64.b64decode(given["data"])
    return ArrivedFile(
        name=given["name"], media_type=picture_type(content) or "application/octet-stream", content=content
    )


def face_listing(message: FaceMessage, buttons: Sequence[FaceButton]) -> dict[str, Any]:
    """`id` counts; `message_id` is the service's own name for it."""
    return {
        "id": message.number,
        "message_id": message.message_id,
        "place": message.place,
        "text": message.text,
        "from_id": message.author or None,
        "thread": message.thread,
        "buttons": [{"label": one.label, "data": one.data, "url": one.url} for one in buttons],
        "earlier_texts": list(message.earlier),
        "reactions": list(message.reactions),
        "deleted": message.is_deleted,
        "attachments": [one.listing() for one in message.files],
        "body": {name: value for name, value in message.body.items() if name != KEPT_FILES},
        "received_at": to_text(message.at_us),
    }
