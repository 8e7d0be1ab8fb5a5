"""Files for Telegram: one album with a short text as its caption; after a longer text, and one by one with buttons."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from postroom.domain.attachment import Attachment
from postroom.domain.delivery import REPEAT_MARK, Message, Receipt
from postroom.domain.errors import OutcomeUncertain, ValidationError
from postroom.world.channels.carried_files import plain_name, plain_type
from postroom.world.channels.telegram_call import TelegramCall
from postroom.world.channels.telegram_text import TEXT_LIMIT, utf16_length
from postroom.world.http.form_data import FormFile, MultipartForm, form_of

CAPTION_LIMIT: Final = 1024
PHOTO_BYTES: Final = 10_000_000
ALBUM_FILES: Final = 10
ALBUM_BYTES: Final = 50_000_000  # of one request, as far as Telegram's own server takes them
PHOTO, DOCUMENT, ALBUM = "sendPhoto", "sendDocument", "sendMediaGroup"
_PHOTO_TYPES: Final = frozenset({"image/png", "image/jpeg"})
_UNFIT_PHOTO: Final = ("PHOTO_INVALID_DIMENSIONS", "IMAGE_PROCESS_FAILED", "PHOTO_SAVE_FILE_INVALID")
_AS_CAPTION: Final = {"text": "caption", "entities": "caption_entities"}

BROUGHT: Final = "album:"

Shown = dict[str, Any]
Show = Callable[[Message, int], list[Shown]]
"""The text in parts of at most so many units, each as the part of a call's body that shows it."""


class PhotoUnfit(ValidationError):
    """Telegram makes no picture of it, and takes it as a document."""


def calls_with_files(message: Message, show: Show, *, buttons: bool = False) -> list[TelegramCall]:
    """The calls in order, still without the chat; how they are cut never depends on `repeated`."""
    first = show(replace(message, repeated=False), TEXT_LIMIT)
    album = not buttons and _is_album(message.attachments)
    is_caption = len(first) == 1 and utf16_length(first[0]["text"]) <= CAPTION_LIMIT
    if is_caption and (album or len(message.attachments) == 1):
        caption, *mark = show(message, CAPTION_LIMIT)
        return [*_file_calls(message.attachments, _caption(caption), album=album), *_text_calls(mark)]
    shown = show(message, TEXT_LIMIT)
    texts = _text_calls(shown if len(shown) == len(first) else first)
    said = {"caption": REPEAT_MARK} if message.repeated else {}
    if album:
        return [*texts, *_file_calls(message.attachments, said, album=True)]
    *before, last = message.attachments
    return [*texts, *(_file_call(one, {}) for one in before), _file_call(last, said)]


def last_words(calls: Sequence[TelegramCall]) -> int:
    """The place of the call that the buttons stand under: the last text, or the caption."""
    return max((place for place, call in enumerate(calls) if not call.files), default=0)


def as_document(call: TelegramCall) -> TelegramCall:
    if call.method == ALBUM:
        return replace(call, body={**call.body, "media": [one | _DOCUMENT for one in call.body["media"]]})
    return replace(call, method=DOCUMENT, body={**call.body, **_AS_IT_IS})


def is_unfit_photo(call: TelegramCall, status: int, told: Mapping[str, Any]) -> bool:
    words = str(told.get("description"))
    photo = call.method == PHOTO or any(one["type"] == "photo" for one in call.body.get("media", []))
    return photo and status == 400 and any(code in words for code in _UNFIT_PHOTO)


def album_receipt(told: Mapping[str, Any]) -> Receipt:
    """An album is as many messages as it has files, and arrives as a whole; the first has the words."""
    result = told.get("result")
    listed = result if isinstance(result, list) else [result]
    numbers = [one.get("message_id") for one in listed if isinstance(one, Mapping)]
    if not numbers or not all(type(one) is int for one in numbers):
        raise OutcomeUncertain("Telegram accepted the files and did not name their messages")
    first, *more = map(str, numbers)
    return Receipt(first, also=tuple(more))


def form(call: TelegramCall, contents: Sequence[bytes]) -> MultipartForm:
    """Telegram's own reader ends a name at a semicolon, even between quotes."""
    fields = {name: value if isinstance(value, str) else json.dumps(value) for name, value in call.body.items()}
    single = "photo" if call.method == PHOTO else "document"
    carried = [
        FormFile(
            form_field=f"file{place}" if call.method == ALBUM else single,
            name=plain_name(one).replace(";", ","),
            media_type=plain_type(one),
            sha256=one.sha256,
            content=content,
        )
        for place, (one, content) in enumerate(zip(call.files, contents, strict=True))
    ]
    return form_of(fields, carried)


_AS_IT_IS: Final = {"disable_content_type_detection": True}
_DOCUMENT: Final = {"type": "document", **_AS_IT_IS}


def _is_album(files: Sequence[Attachment]) -> bool:
    return 1 < len(files) <= ALBUM_FILES and sum(one.size for one in files) <= ALBUM_BYTES


def _file_calls(files: Sequence[Attachment], said: Shown, *, album: bool) -> list[TelegramCall]:
    """Photos and documents do not mix in an album: beside other files a photo is a document, too."""
    if not album:
        return [_file_call(one, said) for one in files]
    kind = {"type": "photo"} if all(map(_is_photo, files)) else _DOCUMENT
    media = [{**kind, "media": f"attach://file{place}"} for place in range(len(files))]
    media[0] |= said
    brought = TelegramCall(method=ALBUM, body={}, brought=True)
    return [TelegramCall(method=ALBUM, body={"media": media}, files=tuple(files)), *[brought] * (len(files) - 1)]


def _is_photo(file: Attachment) -> bool:
    return file.media_type.lower() in _PHOTO_TYPES and file.size <= PHOTO_BYTES


def _file_call(file: Attachment, said: Shown) -> TelegramCall:
    if _is_photo(file):
        return TelegramCall(method=PHOTO, body=said, files=(file,))
    return TelegramCall(method=DOCUMENT, body=said | _AS_IT_IS, files=(file,))


def _text_calls(shown: Sequence[Shown]) -> list[TelegramCall]:
    return [TelegramCall(method="sendMessage", body=one) for one in shown]


def _caption(shown: Shown) -> Shown:
    """A caption shows no preview of a link, so there is none to forbid."""
    return {_AS_CAPTION[name]: value for name, value in shown.items() if name in _AS_CAPTION}
