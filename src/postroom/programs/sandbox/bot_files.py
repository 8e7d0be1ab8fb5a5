"""Telegram's methods for files: photos and documents with captions, and getting them back."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any, Final

from postroom.domain.clock import Clock
from postroom.programs.sandbox.arguments import ApiError, Arguments, bad_request
from postroom.programs.sandbox.bot_methods import BotMethods, caption_of, chat_of
from postroom.programs.sandbox.bot_name import bot_name
from postroom.programs.sandbox.kept_files import ArrivedFile, FileShelf, SandboxFile, picture_type
from postroom.programs.sandbox.keyboards import read_markup
from postroom.programs.sandbox.telegram_ledger import TelegramLedger
from postroom.programs.sandbox.telegram_objects import FILE_ID, message_object
from postroom.programs.sandbox.text_entities import read_entities

PHOTO_BYTES: Final = 10 * 1_048_576
FILE_BYTES: Final = 50 * 1_048_576
DOWNLOAD_BYTES: Final = 20 * 1_048_576
_MOST_PIXELS: Final = 10_000  # of width and height together
_MOST_RATIO: Final = 20


class BotFiles:
    def __init__(self, ledger: TelegramLedger, shelf: FileShelf, methods: BotMethods, clock: Clock) -> None:
        self._ledger = ledger
        self._shelf = shelf
        self._methods = methods
        self._clock = clock

    def send_photo(self, arguments: Arguments, token: str) -> dict[str, Any]:
        given = _file(arguments, "photo")
        _check_photo(given.content)
        return self._send(arguments, token, given, is_photo=True)

    def send_document(self, arguments: Arguments, token: str) -> dict[str, Any]:
        return self._send(arguments, token, _file(arguments, "document"), is_photo=False)

    def send_media_group(self, arguments: Arguments, token: str) -> list[dict[str, Any]]:
        """Photos, or documents: Telegram mixes neither with the other. All of them arrive, or none."""
        media = arguments.structure("media")
        if not isinstance(media, list) or not 2 <= len(media) <= 10 or not all(isinstance(one, dict) for one in media):
            raise bad_request("media must be an array of 2 to 10 objects")
        kinds = {one.get("type") for one in media}
        if kinds not in ({"photo"}, {"document"}):
            raise bad_request("MEDIA_INVALID")
        calls = [_of_album(arguments, one) for one in media]
        given = [_file(call, "document") for call in calls]
        for call, file in zip(calls, given, strict=True):
            caption_of(call)
            if kinds == {"photo"}:
                _check_photo(file.content)
        pairs = zip(calls, given, strict=True)
        sent = [self._send(call, token, file, is_photo=kinds == {"photo"}) for call, file in pairs]
        return [{**one, "media_group_id": str(sent[0]["message_id"])} for one in sent]

    def get_file(self, arguments: Arguments, token: str) -> dict[str, Any]:
        sha256 = arguments.text("file_id").removeprefix(FILE_ID)
        content = self._shelf.content(sha256)
        if content is None:
            raise bad_request("wrong file_id or the file is temporarily unavailable")
        if len(content) > DOWNLOAD_BYTES:
            raise bad_request("file is too big")
        return {
            "file_id": f"{FILE_ID}{sha256}",
            "file_unique_id": sha256[:16],
            "file_size": len(content),
            "file_path": f"documents/{sha256}",
        }

    def content(self, path: str) -> bytes | None:
        folder, _, sha256 = path.partition("/")
        return self._shelf.content(sha256) if folder == "documents" else None

    def _send(self, arguments: Arguments, token: str, given: ArrivedFile, *, is_photo: bool) -> dict[str, Any]:
        chat_id, caption = chat_of(arguments), caption_of(arguments)
        replied = self._methods.replied(arguments, chat_id)
        message = self._ledger.keep(
            chat_id=chat_id,
            text=caption,
            now_us=self._clock.now_us(),
            reply_to=replied.message_id if replied else None,
            parse_mode=arguments.text("parse_mode") or None,
            reply_markup=read_markup(arguments),
            bot=bot_name(token),
            entities=read_entities(arguments, "caption_entities"),
            files=(self._kept(given, is_photo=is_photo),),
        )
        return message_object(message, token, replied)

    def _kept(self, given: ArrivedFile, *, is_photo: bool) -> SandboxFile:
        """A photo loses its name at Telegram; here it is kept, for whoever looks."""
        kind = picture_type(given.content) if is_photo else given.media_type
        kept = self._shelf.keep(ArrivedFile(name=given.name, media_type=kind, content=given.content))
        return replace(kept, is_photo=is_photo)


def _of_album(arguments: Arguments, one: dict[str, Any]) -> Arguments:
    """As if it were sent alone."""
    place = str(one.get("media", ""))
    found = arguments.files.get(place.removeprefix("attach://")) if place.startswith("attach://") else None
    if found is None:
        raise bad_request("wrong file identifier/HTTP URL specified")
    return Arguments({**arguments.values, "media": None, **one}, {"document": found})


def _file(arguments: Arguments, name: str) -> ArrivedFile:
    given = arguments.files.get(name)
    if given is None:
        raise bad_request(f"there is no {name} in the request")
    if not given.content:
        raise bad_request("file must be non-empty")
    if len(given.content) > FILE_BYTES:
        raise ApiError(413, "Request Entity Too Large")
    return given


def _check_photo(content: bytes) -> None:
    if len(content) > PHOTO_BYTES:
        raise bad_request("file is too big for a photo")
    if not picture_type(content):
        raise bad_request("IMAGE_PROCESS_FAILED")
    if picture_type(content) == "image/png" and len(content) >= 24:
        width, height = struct.unpack(">II", content[16:24])
        if width + height > _MOST_PIXELS or max(width, height) > _MOST_RATIO * max(min(width, height), 1):
            raise bad_request("PHOTO_INVALID_DIMENSIONS")
