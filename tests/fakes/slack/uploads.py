"""Files on their way into Slack: an address for each, the bytes that came there, and who sees them when."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from aiohttp import web

from postroom.sandbox.records import ArrivedFile, SandboxFile, picture_type, with_room
from tests.fakes.face import FaceParts
from tests.fakes.record import KEPT_FILES, FaceMessage
from tests.fakes.slack.arguments import SlackArguments
from tests.fakes.slack.block_kit import checked, seen
from tests.fakes.slack.methods import stamp
from tests.fakes.slack.workspace import SlackError, conversation

ASK: Final = "files.getUploadURLExternal"
PUBLISH: Final = "files.completeUploadExternal"
ROUTE: Final = "/slack/upload/{ticket}"
MOST_BYTES: Final = 128 * 1_048_576
_MOST_LOOKED_THROUGH: Final = 500


@dataclass(slots=True, kw_only=True)
class _Upload:
    file_id: str
    name: str
    length: int
    content: bytes | None = None


class OpenUploads:
    def __init__(self, parts: FaceParts) -> None:
        self._parts = parts
        self._open: dict[str, _Upload] = {}

    def ask(self, given: SlackArguments, host: str) -> dict[str, Any]:
        name, length = given.text("filename"), int(given.text("length"))
        if not 0 < length <= MOST_BYTES:
            raise SlackError("file_upload_size_restricted")
        ticket, file_id = secrets.token_urlsafe(16), f"F{secrets.token_hex(5).upper()}"
        self._open[ticket] = _Upload(file_id=file_id, name=name, length=length)
        return {"upload_url": f"http://{host}{ROUTE.format(ticket=ticket)}", "file_id": file_id}

    async def take(self, request: web.Request) -> web.Response:
        upload, content = self._open.get(request.match_info["ticket"]), await with_room(request).read()
        if upload is None or len(content) != upload.length:
            return web.Response(status=404 if upload is None else 400, text="Not taken")
        upload.content = content
        return web.Response(text=f"OK - {len(content)}")

    def publish(self, given: SlackArguments) -> dict[str, Any]:
        """Slack fills in later where a file is shown; its answer does not say."""
        named = given.structure("files")
        place = conversation(given.text("channel_id"))
        uploads = [self._uploaded(one["id"]) for one in named]
        files = [self._kept(upload) for upload in uploads]
        told = [{"id": one["id"], "title": str(one.get("title") or one["id"])} for one in named]
        self._show(place, given, told, files)
        self._open = {ticket: one for ticket, one in self._open.items() if one not in uploads}
        return {"files": told}

    def _show(
        self, place: str, given: SlackArguments, told: Sequence[Mapping[str, str]], files: Sequence[SandboxFile]
    ) -> FaceMessage:
        now_us = self._parts.clock.now_us()
        blocks = checked(given.structure("blocks"))
        listed = [
            dict(one) | {"name": file.name, "mimetype": file.media_type, "size": file.size}
            for one, file in zip(told, files, strict=True)
        ]
        kept = [one.listing() for one in files]
        return self._parts.ledger.keep(
            place=place,
            text=seen("", blocks),
            body={"text": "", "blocks": blocks, "subtype": "file_share", "files": listed, KEPT_FILES: kept},
            name=lambda number: stamp(now_us, number),
            now_us=now_us,
            thread=given.text("thread_ts") or None,
        )

    def info(self, given: SlackArguments) -> dict[str, Any]:
        shown = self._shown(given.text("file"))
        return {"file": {"id": given.text("file"), "shares": {"private": {shown.place: [{"ts": shown.message_id}]}}}}

    def delete(self, given: SlackArguments) -> dict[str, Any]:
        """What is said beside the file stays."""
        found = self._shown(given.text("file"))
        left = [
            (one, kept)
            for one, kept in zip(found.body["files"], found.body[KEPT_FILES], strict=True)
            if one["id"] != given.text("file")
        ]
        if not left and not found.text:
            self._parts.ledger.delete(found)
        else:
            files = {"files": [one for one, _ in left], KEPT_FILES: [kept for _, kept in left]}
            self._parts.ledger.edit(found, found.text, {**found.body, **files})
        return {}

    def _shown(self, file_id: str) -> FaceMessage:
        for message in self._parts.ledger.messages(limit=_MOST_LOOKED_THROUGH):
            if not message.is_deleted and any(one["id"] == file_id for one in message.body.get("files") or ()):
                return message
        raise SlackError("file_not_found")

    def _uploaded(self, file_id: str) -> _Upload:
        found = next((one for one in self._open.values() if one.file_id == file_id), None)
        if found is None or found.content is None:
            raise SlackError("file_not_found")
        return found

    def _kept(self, upload: _Upload) -> SandboxFile:
        content = upload.content or b""
        kind = picture_type(content) or "application/octet-stream"
        return self._parts.files.keep(ArrivedFile(name=upload.name, media_type=kind, content=content))
