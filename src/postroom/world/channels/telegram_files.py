"""Files for Telegram: with a short text as the caption of a single file, otherwise after the text, one call each."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from postroom.domain.attachment import Attachment
from postroom.domain.delivery import REPEAT_MARK, Message
from postroom.domain.errors import ValidationError
from postroom.world.channels.carried_files import plain_name, plain_type
from postroom.world.channels.telegram_call import TelegramCall
from postroom.world.channels.telegram_text import TEXT_LIMIT, utf16_length
from postroom.world.http.form_data import FormFile, MultipartForm, form_of

CAPTION_LIMIT: Final = 1024
PHOTO_BYTES: Final = 10_000_000
PHOTO, DOCUMENT = "sendPhoto", "sendDocument"
_PHOTO_TYPES: Final = frozenset({"image/png", "image/jpeg"})
_UNFIT_PHOTO: Final = ("PHOTO_INVALID_DIMENSIONS", "IMAGE_PROCESS_FAILED", "PHOTO_SAVE_FILE_INVALID")
_AS_CAPTION: Final = {"text": "caption", "entities": "caption_entities"}

Shown = dict[str, Any]
Show = Callable[[Message, int], list[Shown]]
"""The text in parts of at most so many units, each as the part of a call's body that shows it."""


class PhotoUnfit(ValidationError):
    """Telegram makes no picture of it, and takes it as a document."""


def calls_with_files(message: Message, show: Show) -> list[TelegramCall]:
    """The calls in order, still without the chat; how they are cut never depends on `repeated`."""
    first = show(replace(message, repeated=False), TEXT_LIMIT)
    if len(message.attachments) == 1 and len(first) == 1 and utf16_length(first[0]["text"]) <= CAPTION_LIMIT:
        caption, *mark = show(message, CAPTION_LIMIT)
        return [_file_call(message.attachments[0], _caption(caption)), *_text_calls(mark)]
    texts = show(message, TEXT_LIMIT)
    *before, last = message.attachments
    said = {"caption": REPEAT_MARK} if message.repeated else {}
    return [
        *_text_calls(texts if len(texts) == len(first) else first),
        *(_file_call(one, {}) for one in before),
        _file_call(last, said),
    ]


def last_words(calls: Sequence[TelegramCall]) -> int:
    """The place of the call that the buttons stand under: the last text, or the caption."""
    return max((place for place, call in enumerate(calls) if call.file is None), default=0)


def as_document(call: TelegramCall) -> TelegramCall:
    return replace(call, method=DOCUMENT, body={**call.body, **_AS_IT_IS})


def is_unfit_photo(call: TelegramCall, status: int, told: Mapping[str, Any]) -> bool:
    words = str(told.get("description"))
    return call.method == PHOTO and status == 400 and any(code in words for code in _UNFIT_PHOTO)


def form(call: TelegramCall, file: Attachment, content: bytes) -> MultipartForm:
    """Telegram's own reader ends a name at a semicolon, even between quotes."""
    fields = {name: value if isinstance(value, str) else json.dumps(value) for name, value in call.body.items()}
    carried = FormFile(
        form_field="photo" if call.method == PHOTO else "document",
        name=plain_name(file).replace(";", ","),
        media_type=plain_type(file),
        sha256=file.sha256,
        content=content,
    )
    return form_of(fields, [carried])


_AS_IT_IS: Final = {"disable_content_type_detection": True}


def _file_call(file: Attachment, said: Shown) -> TelegramCall:
    if file.media_type.lower() in _PHOTO_TYPES and file.size <= PHOTO_BYTES:
        return TelegramCall(method=PHOTO, body=said, file=file)
    return TelegramCall(method=DOCUMENT, body=said | _AS_IT_IS, file=file)


def _text_calls(shown: Sequence[Shown]) -> list[TelegramCall]:
    return [TelegramCall(method="sendMessage", body=one) for one in shown]


def _caption(shown: Shown) -> Shown:
    """A caption shows no preview of a link, so there is none to forbid."""
    return {_AS_CAPTION[name]: value for name, value in shown.items() if name in _AS_CAPTION}
