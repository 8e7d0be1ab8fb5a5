"""The calls of the Bot API that a message takes, with its looks, keyboard and files; and its edits."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import accumulate
from typing import Final

from postroom.channels.shared import (
    MultipartForm,
    before_files,
    edited,
    fits_a_button,
    form_files,
    form_of,
    linked,
    one_line,
    token_of,
    utf8_length,
    web_links,
    with_links,
)
from postroom.kernel.http.answers import (
    JsonBody,
    JsonObject,
    as_object,
    asked_seconds,
    by_status,
    objects_in,
    throttled,
)
from postroom.kernel.http.call import HttpAnswer
from postroom.kernel.text.rich import (
    MISSING,
    TEXT_LIMIT,
    RichText,
    SpanStyle,
    TextSpan,
    cut,
    fitting,
    readable,
    split,
    utf16_length,
    with_mark,
)
from postroom.kernel.values.errors import (
    CredentialsRefused,
    OutcomeUncertain,
    PostroomError,
    ValidationError,
)
from postroom.message.attachment import Attachment
from postroom.message.delivery import REPEAT_MARK, Message, Receipt, ReceiptKind
from postroom.message.markup import Button, Markup, Revision

# One call, ready to be made, and what a refusal of it means.


@dataclass(frozen=True, slots=True, kw_only=True)
class TelegramCall:
    """
    One Bot API method with its arguments; the arguments hold the message and stay out of `repr`.

    With `files` it goes as a form, and their bytes are read when it is made. `instead` is called where Telegram
    refuses this one. `brought`: the call before it brought this part along.
    """

    method: str
    body: JsonObject = field(repr=False)
    files: tuple[Attachment, ...] = field(default=(), repr=False)
    brought: bool = False
    instead: TelegramCall | None = field(default=None, repr=False)

    @property
    def private(self) -> list[str]:
        """What no error may quote: the text, a file's name, and links and tokens that are as good as an answer."""
        said = [self.body, *self.body.get("media", [])]
        spans = [span for one in said for name in ("entities", "caption_entities") for span in one.get(name, [])]
        targets = [entity["url"] for entity in spans if "url" in entity]
        words = [str(one.get(name, "")) for one in said for name in ("text", "caption")]
        named = [one.name for one in self.files]
        return [*words, *named, *targets, *_behind_buttons(self.body.get("reply_markup", {}))]


def _behind_buttons(markup: JsonObject) -> Iterator[str]:
    for row in markup.get("inline_keyboard", []):
        for key in row:
            yield key.get("url") or key["callback_data"]


def read_refusal(answer: HttpAnswer, words: str, now: datetime) -> PostroomError:
    said = f"Telegram answered {answer.status}" + (f": {words}" if words else "")
    match answer.status:
        case 429:
            number = as_object(answer.told.get("parameters")).get("retry_after")
            return throttled(said, asked_seconds(number, answer.retry_after, now))
        case 401:
            return CredentialsRefused("Telegram does not accept our bot token")
        case 413:
            return ValidationError("Telegram takes no file of this size (413)")
        case status:
            return by_status(said, status)


# Markdown for Telegram: the text, and entities that say how parts of it look; never `parse_mode`.

MOST_ENTITIES: Final = 100  # Telegram silently leaves out the others
_MOST_MORE: Final = 5  # messages for the sake of looks: a chat takes one in a second, and others wait for theirs
_NO_PREVIEW: Final[JsonBody] = {"link_preview_options": {"is_disabled": True}}
_TYPES: Final = {
    SpanStyle.BOLD: "bold",
    SpanStyle.HEADING: "bold",
    SpanStyle.ITALIC: "italic",
    SpanStyle.STRIKE: "strikethrough",
    SpanStyle.CODE: "code",
    SpanStyle.PRE: "pre",
    SpanStyle.LINK: "text_link",
    SpanStyle.QUOTE: "blockquote",
}
_RANK: Final = {style: place for place, style in enumerate((SpanStyle.LINK, SpanStyle.PRE, SpanStyle.CODE))}
_CODE: Final = frozenset({SpanStyle.CODE, SpanStyle.PRE})


def rich_of(message: Message) -> RichText:
    """Telegram opens only the web from a text; where a mailbox or a telephone is meant, it is shown."""
    rich = web_links(message.text)
    return rich.followed_by(with_links(rich.text, linked(message.markup)))


def bodies(message: Message, limit: int = TEXT_LIMIT) -> list[JsonBody]:
    parts = _parts(rich_of(message), limit)
    if message.repeated:
        parts = with_mark(parts, REPEAT_MARK, lambda part: utf16_length(part.text) <= limit)
    return [_body(part) for part in parts]


def _parts(rich: RichText, limit: int) -> list[RichText]:
    """Looks that would take many more messages are left out, and links that would are text."""
    most = len(split(rich.text, limit)) + _MOST_MORE
    for counted in (_lawful, lambda part: part.links):
        parts = list(fitting(rich, limit, lambda part: len(counted(part)) <= MOST_ENTITIES))  # noqa: B023  # at once
        if len(parts) <= most:
            return parts
    return [RichText(text) for text in split(readable(rich), limit)]


def _body(part: RichText) -> JsonBody:
    found = _entities(part)
    return {"text": part.text, **_NO_PREVIEW} | ({"entities": found} if found else {})


def _entities(part: RichText) -> list[JsonBody]:
    """What matters most when there are too many: where links lead, then code, then the looks."""
    spans = _lawful(part)
    kept = frozenset(sorted(spans, key=lambda span: _RANK.get(span.style, len(_RANK)))[:MOST_ENTITIES])
    units = [0, *accumulate(2 if character > "\uffff" else 1 for character in part.text)]
    return [_entity(span, units) for span in spans if span in kept]


def _lawful(part: RichText) -> list[TextSpan]:
    """Code has nothing in it and stands in nothing but a quote; a quote has no quote in it; a link wins over code."""
    done: list[TextSpan] = []
    around: list[TextSpan] = []  # few, however many spans there are
    for span in part.spans:
        done += [outer for outer in around if outer.end <= span.start]
        around = [outer for outer in around if outer.end > span.start]
        styles = {outer.style for outer in around}
        if (span.style is SpanStyle.QUOTE and SpanStyle.QUOTE in styles) or styles & _CODE:
            continue
        if span.style in _CODE and SpanStyle.LINK in styles:
            continue
        if span.style in _CODE:
            around = [piece for outer in around for piece in _around(outer, span)]
        around.append(span)
    return sorted(done + around, key=lambda span: (span.start, -span.end))


def _around(outer: TextSpan, code: TextSpan) -> list[TextSpan]:
    if outer.style is SpanStyle.QUOTE:
        return [outer]
    before = TextSpan(outer.start, code.start, outer.style, outer.detail)
    after = TextSpan(code.end, outer.end, outer.style, outer.detail)
    return [piece for piece in (before, after) if piece.start < piece.end]


def _entity(span: TextSpan, units: Sequence[int]) -> JsonBody:
    entity: JsonBody = {"type": _TYPES[span.style], "offset": units[span.start]}
    entity["length"] = units[span.end] - units[span.start]
    if span.style is SpanStyle.LINK:
        entity["url"] = span.detail
    if span.style is SpanStyle.PRE and span.detail:
        entity["language"] = span.detail
    return entity


# What stands under a Telegram message: an inline keyboard, or a box to reply in.

_TOKEN_BYTES: Final = 64
MOST_BUTTONS: Final = 100
LONGEST_LABEL: Final = 64
_LONGEST_PLACEHOLDER: Final = 64
_NO_KEYBOARD: Final[JsonBody] = {"inline_keyboard": []}


def reply_markup(markup: Markup, *, selective: bool = False) -> JsonBody | None:
    """`selective`: in a group, only the one who is answered is asked to reply."""
    if markup.force_reply:
        return _reply_box(markup, selective)
    return keyboard(markup) if any(map(fits_a_button, markup.every_button)) else None


def keyboard(markup: Markup) -> JsonBody:
    if len(markup.every_button) > MOST_BUTTONS:
        raise ValidationError(f"a Telegram message has at most {MOST_BUTTONS} buttons")
    rows = [[_key(button) for button in row if fits_a_button(button)] for row in markup.buttons]
    return {"inline_keyboard": [row for row in rows if row]}


def _reply_box(markup: Markup, selective: bool) -> JsonBody:
    box: JsonBody = {"force_reply": True}
    if selective:
        box["selective"] = True
    if markup.placeholder:
        box["input_field_placeholder"] = cut(one_line(markup.placeholder), _LONGEST_PLACEHOLDER)
    return box


def _key(button: Button) -> JsonBody:
    key: JsonBody = {"text": cut(one_line(button.label), LONGEST_LABEL), **_action(button)}
    return key | ({"style": str(button.style)} if button.style else {})


def _action(button: Button) -> dict[str, str]:
    if button.url is not None:
        return {"url": button.url}
    return {"callback_data": token_of(button, _TOKEN_BYTES, "bytes", utf8_length)}


# Files for Telegram: one album with a short text as its caption; after a longer text, and one by one with buttons.

_CAPTION_LIMIT: Final = 1024
_PHOTO_BYTES: Final = 10_000_000
_ALBUM_FILES: Final = 10
_ALBUM_BYTES: Final = 50_000_000  # of one request, as far as Telegram's own server takes them
_PHOTO, DOCUMENT, ALBUM = "sendPhoto", "sendDocument", "sendMediaGroup"
_PHOTO_TYPES: Final = frozenset({"image/png", "image/jpeg"})
_UNFIT_PHOTO: Final = ("PHOTO_INVALID_DIMENSIONS", "IMAGE_PROCESS_FAILED", "PHOTO_SAVE_FILE_INVALID")
_AS_CAPTION: Final = {"text": "caption", "entities": "caption_entities"}

BROUGHT: Final = "album:"

_Show = Callable[[Message, int], list[JsonBody]]
"""The text in parts of at most so many units, each as the part of a call's body that shows it."""


class PhotoUnfit(ValidationError):
    """Telegram makes no picture of it, and takes it as a document."""


def calls_with_files(message: Message, show: _Show, *, buttons: bool = False) -> list[TelegramCall]:
    """The calls in order, still without the chat; how they are cut never depends on `repeated`."""
    first = show(replace(message, repeated=False), TEXT_LIMIT)
    album = not buttons and 1 < len(message.attachments) <= _ALBUM_FILES
    album = album and sum(one.size for one in message.attachments) <= _ALBUM_BYTES
    is_caption = len(first) == 1 and utf16_length(first[0]["text"]) <= _CAPTION_LIMIT
    if is_caption and (album or len(message.attachments) == 1):
        shown, *mark = show(message, _CAPTION_LIMIT)
        # A caption shows no preview of a link, so there is none to forbid.
        caption = {_AS_CAPTION[name]: value for name, value in shown.items() if name in _AS_CAPTION}
        return [*_file_calls(message.attachments, caption, album=album), *text_calls(mark)]
    texts = text_calls(before_files(message, lambda marked: show(replace(message, repeated=marked), TEXT_LIMIT)))
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


def is_unfit_photo(call: TelegramCall, status: int, told: JsonObject) -> bool:
    words = str(told.get("description"))
    photo = call.method == _PHOTO or any(one["type"] == "photo" for one in call.body.get("media", []))
    return photo and status == 400 and any(code in words for code in _UNFIT_PHOTO)


def album_receipt(told: JsonObject) -> Receipt:
    """An album is as many messages as it has files, and arrives as a whole; the first has the words."""
    result = told.get("result")
    numbers = [one.get("message_id") for one in objects_in(result if isinstance(result, list) else [result])]
    if not numbers or not all(type(one) is int for one in numbers):
        raise OutcomeUncertain("Telegram accepted the files and did not name their messages")
    first, *more = map(str, numbers)
    return Receipt(first, also=tuple(more))


def form(call: TelegramCall, contents: Sequence[bytes]) -> MultipartForm:
    """Telegram's own reader ends a name at a semicolon, even between quotes."""
    fields = {name: value if isinstance(value, str) else json.dumps(value) for name, value in call.body.items()}
    single = "photo" if call.method == _PHOTO else "document"
    carried = form_files(call.files, contents, lambda place: f"file{place}" if call.method == ALBUM else single)
    return form_of(fields, [replace(one, name=one.name.replace(";", ",")) for one in carried])


_AS_IT_IS: Final = {"disable_content_type_detection": True}
_DOCUMENT: Final = {"type": "document", **_AS_IT_IS}


def _file_calls(files: Sequence[Attachment], said: JsonBody, *, album: bool) -> list[TelegramCall]:
    """Photos and documents do not mix in an album: beside other files a photo is a document, too."""
    if not album:
        return [_file_call(one, said) for one in files]
    kind = {"type": "photo"} if all(map(_is_photo, files)) else _DOCUMENT
    media = [{**kind, "media": f"attach://file{place}"} for place in range(len(files))]
    media[0] |= said
    brought = TelegramCall(method=ALBUM, body={}, brought=True)
    return [TelegramCall(method=ALBUM, body={"media": media}, files=tuple(files)), *[brought] * (len(files) - 1)]


def _is_photo(file: Attachment) -> bool:
    return file.media_type.lower() in _PHOTO_TYPES and file.size <= _PHOTO_BYTES


def _file_call(file: Attachment, said: JsonBody) -> TelegramCall:
    if _is_photo(file):
        return TelegramCall(method=_PHOTO, body=said, files=(file,))
    return TelegramCall(method=DOCUMENT, body=said | _AS_IT_IS, files=(file,))


def text_calls(shown: Sequence[JsonBody]) -> list[TelegramCall]:
    return [TelegramCall(method="sendMessage", body=one) for one in shown]


# Edits of what was sent to a Telegram chat before: over as many messages as the text needs, or the buttons alone.

_DELETE: Final = "deleteMessage"
METHODS: Final = frozenset({"editMessageText", "editMessageCaption", "editMessageReplyMarkup", _DELETE})
_MESSAGE_ID = re.compile(r"[1-9][0-9]{0,17}")
_NOT_MODIFIED: Final = "message is not modified"
_ALREADY_GONE: Final = "message to delete not found"
_NO_TEXT: Final = "there is no text in the message to edit"
_IN_NO_CAPTION: Final = "link_preview_options"


class AlreadySo(ValidationError):
    """The message says just that or is gone, so it was done before, or there was nothing to do."""


class HasCaption(ValidationError):
    """The words to edit stand under a file."""


def edits(message: Message, revises: Revision, chat_id: int | str, show: _Show) -> Sequence[TelegramCall]:
    """A text that needs more messages than stand there goes on in answers to the first."""
    if revises.deletes:
        known = [one for one in revises.standing if not one.startswith(BROUGHT)]
        return [_delete(chat_id, number) for number in _numbers(known)]
    numbers, markup = _numbers(revises.worded), _keyboard(message.markup)
    if not message.text:
        body = {"chat_id": chat_id, "message_id": numbers[-1], "reply_markup": markup}
        return [TelegramCall(method="editMessageReplyMarkup", body=body)]
    shown = show(message, _CAPTION_LIMIT if revises.files == len(revises.provider_ids) else TEXT_LIMIT)
    if message.markup or len(shown) <= len(numbers):
        shown[-1] = shown[-1] | {"reply_markup": markup}
    changed = [_edit(chat_id, number, one) for number, one in zip(numbers, shown, strict=False)]
    surplus = [_delete(chat_id, number, or_say=MISSING) for number in numbers[len(shown) :]]
    return edited(changed, surplus, [_answer(chat_id, numbers[0], one) for one in shown[len(numbers) :]])


def _edit(chat_id: int | str, number: int, shown: JsonBody) -> TelegramCall:
    return TelegramCall(method="editMessageText", body={"chat_id": chat_id, "message_id": number, **shown})


def _delete(chat_id: int | str, number: int, or_say: str = "") -> TelegramCall:
    """Telegram deletes only what is young; what is in the way then says as little as can be."""
    instead = _edit(chat_id, number, {"text": or_say, "reply_markup": dict(_NO_KEYBOARD)}) if or_say else None
    return TelegramCall(method=_DELETE, body={"chat_id": chat_id, "message_id": number}, instead=instead)


def _answer(chat_id: int | str, to: int, shown: JsonBody) -> TelegramCall:
    about = {"message_id": to, "allow_sending_without_reply": True}
    return TelegramCall(method="sendMessage", body={"chat_id": chat_id, "reply_parameters": about, **shown})


def is_captioned(call: TelegramCall, status: int, told: JsonObject) -> bool:
    return call.method == "editMessageText" and status == 400 and _NO_TEXT in str(told.get("description"))


def of_caption(call: TelegramCall) -> TelegramCall:
    body = {_AS_CAPTION.get(name, name): value for name, value in call.body.items() if name != _IN_NO_CAPTION}
    return TelegramCall(method="editMessageCaption", body=body)


def edit_receipt(call: TelegramCall) -> Receipt:
    kind = ReceiptKind.DELETE if call.method == _DELETE else ReceiptKind.EDIT
    return Receipt.of_change(kind, call.body["chat_id"], call.body["message_id"])


def is_unchanged(status: int, told: JsonObject) -> bool:
    said = str(told.get("description", "")).lower()
    return status == 400 and (_NOT_MODIFIED in said or _ALREADY_GONE in said)


def _keyboard(markup: Markup | None) -> JsonBody:
    if markup is None:
        return dict(_NO_KEYBOARD)
    if markup.force_reply:
        raise ValidationError("an edit cannot ask for a reply")
    return keyboard(markup)


def _numbers(provider_ids: Sequence[str]) -> list[int]:
    if not provider_ids or not all(_MESSAGE_ID.fullmatch(one) for one in provider_ids):
        raise ValidationError("only a Telegram message can be edited")
    return [int(one) for one in provider_ids]
