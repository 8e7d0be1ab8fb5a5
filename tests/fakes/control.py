"""The person's side of every face, under /sandbox/NAME/: read what arrived, write, press a button."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, Final

from aiohttp import web

from postroom.kernel.values.fields import Fields
from postroom.kernel.values.ids import to_text
from postroom.sandbox.records import ArrivedFile, answer, asked_window, invalid, picture_type, read_json
from tests.fakes.face import SandboxFace
from tests.fakes.record import KEPT_FILES, FaceButton, FaceMessage, PressedKey, Wrote

_MAX_TEXT: Final = 100_000
_MAX_ID: Final = 256


class FaceControl:
    """`place` may also be called `channel`, `channel_id`, `chat_id` or `topic`, as the services say."""

    def __init__(self, face: SandboxFace) -> None:
        self._face = face

    def routes(self) -> Sequence[web.RouteDef]:
        root = f"/sandbox/{self._face.name}"
        return (
            web.get(f"{root}/messages", self.messages),
            web.get(f"{root}/inbound", self.inbound),
            web.post(f"{root}/inbound", self.write),
            web.post(f"{root}/press", self.press),
        )

    async def messages(self, request: web.Request) -> web.StreamResponse:
        return self._listing(request, from_person=False)

    async def inbound(self, request: web.Request) -> web.StreamResponse:
        return self._listing(request, from_person=True)

    async def write(self, request: web.Request) -> web.StreamResponse:
        kept = await self._face.written(read_wrote(await read_json(request), request.host))
        return answer({"message": face_listing(kept, ()), "message_id": kept.message_id})

    async def press(self, request: web.Request) -> web.StreamResponse:
        fields = Fields(await read_json(request))
        fields.refuse_unknown({"message_id", "button", "from_id", *_PLACES})
        message_id, label = _identity(fields, "message_id"), fields.text("button", maximum=_MAX_TEXT)
        author, place = _identity(fields, "from_id", required=False), _place(fields, required=False)
        fields.finish()
        message = self._face.ledger.find(message_id or "", place)
        if message is None:
            raise invalid("message_id", "no such message", "not_found")
        button = self._button(message, label)
        return answer({"press": await self._face.pressed(PressedKey(message=message, button=button, author=author))})

    def _button(self, message: FaceMessage, label: str) -> FaceButton:
        found = [one for one in self._face.buttons(message) if label in (one.label, one.data)]
        if not found:
            raise invalid("button", "no such button under this message", "not_found")
        if len(found) > 1:
            raise invalid("button", "names more than one button: give its data", "ambiguous")
        if found[0].data is None:
            raise invalid("button", "opens a link and says nothing to the bot", "is_a_link")
        return found[0]

    def _listing(self, request: web.Request, *, from_person: bool) -> web.Response:
        window = asked_window(request)
        place = next((request.query[name] for name in _PLACES if name in request.query), None)
        ledger = self._face.ledger
        found = ledger.messages(from_person=from_person, place=place, since=window.since, limit=window.limit)
        listed = [face_listing(one, self._face.buttons(one)) for one in found]
        return answer({"messages": listed, "count": len(listed)})


_PLACES: Final = ("place", "channel", "channel_id", "chat_id", "topic")


def read_wrote(payload: object, host: str) -> Wrote:
    fields = Fields(payload)
    fields.refuse_unknown({"text", "files", "from_id", "reply_to_message_id", "from_is_bot", *_PLACES})
    is_bot = fields.raw("from_is_bot")
    if is_bot not in (None, True, False):
        fields.complain("from_is_bot", "must be true or false", "boolean_required")
    read = Wrote(
        place=_place(fields) or "",
        text=fields.text("text", maximum=_MAX_TEXT),
        author=_identity(fields, "from_id", required=False),
        reply_to=_identity(fields, "reply_to_message_id", required=False),
        is_bot=is_bot is True,
        files=[_file(one) for one in fields.raw("files") or ()],
        host=host,
    )
    fields.finish()
    return read


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


def _place(fields: Fields, *, required: bool = True) -> str | None:
    named = [name for name in _PLACES if fields.has(name)]
    return _identity(fields, named[0] if named else _PLACES[0], required=required)


def _identity(fields: Fields, name: str, *, required: bool = True) -> str | None:
    """A number or a text."""
    value = fields.raw(name)
    if type(value) is int:
        value = str(value)
    if isinstance(value, str) and 0 < len(value) <= _MAX_ID:
        return value
    if value is not None or required:
        fields.complain(name, "must be a number or a text", "required" if value is None else "string_required")
    return None
