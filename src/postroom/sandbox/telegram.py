"""The Bot API as Telegram has it: its methods, its files, and the routes that armed faults spoil."""

from __future__ import annotations

import re
import struct
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final

from aiohttp import web

from postroom.kernel.http.answers import JsonBody
from postroom.kernel.running.clock import Clock
from postroom.kernel.text.rich import utf16_length
from postroom.kernel.values.ids import seconds
from postroom.sandbox.faults import FaultChannel, SandboxParts, cut
from postroom.sandbox.ledger import SandboxLedger
from postroom.sandbox.records import (
    ArrivedFile,
    Edit,
    SandboxFile,
    TelegramMessage,
    bot_name,
    picture_type,
    shown,
)
from postroom.sandbox.telegram_objects import (
    FILE_ID,
    ApiError,
    Arguments,
    bad_request,
    bot_user,
    canonical_chat,
    is_editable,
    message_object,
    read_arguments,
    read_entities,
    read_markup,
)

# What each Bot API method does, with Telegram's own refusals.

TEXT_LIMIT_UTF16 = 4096
CAPTION_LIMIT_UTF16 = 1024
_CALLBACK_TEXT_LIMIT = 200
_DELETABLE_US = 48 * 3600 * 1_000_000
_PHOTO_BYTES: Final = 10 * 1_048_576
_FILE_BYTES: Final = 50 * 1_048_576
_DOWNLOAD_BYTES: Final = 20 * 1_048_576
_MOST_PIXELS: Final = 10_000  # of width and height together
_MOST_RATIO: Final = 20
_CHAT_ACTIONS = frozenset(
    [
        *("typing", "upload_photo", "record_video", "upload_video", "record_voice", "upload_voice"),
        *("upload_document", "choose_sticker", "find_location", "record_video_note", "upload_video_note"),
    ]
)
_EMOJI_JOINERS = frozenset("\u200d\ufe0f\u20e3")
_ODD_EMOJI = frozenset("©®‼⁉™ℹ〰〽")
_PICTURES = ("\U0001f000", "\U0001faff")
_TAGS = ("\U000e0020", "\U000e007f")  # spell the flags of regions

_Method = Callable[[Arguments, str], object]
"""Takes the bot's token, and gives the answer in Telegram's JSON."""


class _BotMethods:
    def __init__(self, ledger: SandboxLedger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self.reading = _named(self.get_me, self.get_file, self.send_chat_action)  # the last shows for a moment
        self.sending = _named(
            *(self.send_message, self.send_photo, self.send_document, self.send_media_group),
            *(self.edit_message_text, self.edit_message_caption, self.edit_message_reply_markup),
            *(self.delete_message, self.set_message_reaction, self.answer_callback_query),
        )

    def get_me(self, arguments: Arguments, token: str) -> JsonBody:
        return bot_user(token)

    def send_message(self, arguments: Arguments, token: str) -> JsonBody:
        return self._send(arguments, token, _chat_of(arguments), _message_text(arguments))

    def send_photo(self, arguments: Arguments, token: str) -> JsonBody:
        given = _file(arguments, "photo")
        _check_photo(given.content)
        return self._send_file(arguments, token, given, is_photo=True)

    def send_document(self, arguments: Arguments, token: str) -> JsonBody:
        return self._send_file(arguments, token, _file(arguments, "document"), is_photo=False)

    def send_media_group(self, arguments: Arguments, token: str) -> list[JsonBody]:
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
            _caption_of(call)
            if kinds == {"photo"}:
                _check_photo(file.content)
        pairs = zip(calls, given, strict=True)
        sent = [self._send_file(call, token, file, is_photo=kinds == {"photo"}) for call, file in pairs]
        return [{**one, "media_group_id": str(sent[0]["message_id"])} for one in sent]

    def _send_file(self, arguments: Arguments, token: str, given: ArrivedFile, *, is_photo: bool) -> JsonBody:
        """A photo loses its name at Telegram; here it is kept, for whoever looks."""
        chat_id, caption = _chat_of(arguments), _caption_of(arguments)
        kind = picture_type(given.content) if is_photo else given.media_type
        kept = self._ledger.files.keep(replace(given, media_type=kind))
        return self._send(arguments, token, chat_id, caption, replace(kept, is_photo=is_photo))

    def _send(
        self, arguments: Arguments, token: str, chat_id: str, text: str, file: SandboxFile | None = None
    ) -> JsonBody:
        replied = self._replied(arguments, chat_id)
        message = self._ledger.keep(
            TelegramMessage(
                place=chat_id,
                at_us=self._clock.now_us(),
                text=text,
                bot=bot_name(token),
                reply_to_message_id=replied.number if replied else None,
                parse_mode=arguments.text("parse_mode") or None,
                reply_markup=read_markup(arguments),
                entities=read_entities(arguments, "caption_entities" if file else "entities"),
                files=(file,) if file else (),
            )
        )
        return message_object(message, token, replied)

    def get_file(self, arguments: Arguments, token: str) -> JsonBody:
        sha256 = arguments.text("file_id").removeprefix(FILE_ID)
        content = self._ledger.files.content(sha256)
        if content is None:
            raise bad_request("wrong file_id or the file is temporarily unavailable")
        if len(content) > _DOWNLOAD_BYTES:
            raise bad_request("file is too big")
        return {
            "file_id": f"{FILE_ID}{sha256}",
            "file_unique_id": sha256[:16],
            "file_size": len(content),
            "file_path": f"documents/{sha256}",
        }

    def edit_message_text(self, arguments: Arguments, token: str) -> JsonBody:
        return self._edit(arguments, token, _message_text(arguments, too_long="MESSAGE_TOO_LONG"))

    def edit_message_caption(self, arguments: Arguments, token: str) -> JsonBody:
        return self._edit(arguments, token, _caption_of(arguments), of_files=True)

    def edit_message_reply_markup(self, arguments: Arguments, token: str) -> JsonBody:
        return self._edit(arguments, token, None)

    def _edit(self, arguments: Arguments, token: str, text: str | None, *, of_files: bool = False) -> JsonBody:
        """Without a text the buttons alone are edited; without buttons there are none any more."""
        message, markup = self._message(arguments, "message to edit not found"), read_markup(arguments)
        if text is not None and bool(message.files) is not of_files:
            raise bad_request(f"there is no {'caption' if of_files else 'text'} in the message to edit")
        if message.from_person or not is_editable(message.reply_markup) or not is_editable(markup):
            raise bad_request("message can't be edited")
        edited = replace(message, reply_markup=markup)
        if text is not None:
            entities = read_entities(arguments, "caption_entities" if of_files else "entities")
            edited = replace(edited, text=text, entities=entities)
        if edited == message:
            raise bad_request(
                "message is not modified: specified new message content and reply markup are exactly the same as a"
                " current content and reply markup of the message"
            )
        before = Edit(text=message.text, reply_markup=message.reply_markup, edited_us=self._clock.now_us())
        return message_object(self._ledger.change(replace(edited, edits=(*message.edits, before))), token)

    def set_message_reaction(self, arguments: Arguments, token: str) -> bool:
        message = self._message(arguments, "message to react not found")
        emoji = _one_emoji(arguments.structure("reaction"))
        self._ledger.react(message, emoji, from_person=False, now_us=self._clock.now_us())
        return True

    def send_chat_action(self, arguments: Arguments, token: str) -> bool:
        if arguments.text("action") not in _CHAT_ACTIONS:
            raise bad_request("wrong parameter action in request")
        self._ledger.actions.append((_chat_of(arguments), arguments.text("action")))
        return True

    def answer_callback_query(self, arguments: Arguments, token: str) -> bool:
        text = arguments.text("text")
        if len(text) > _CALLBACK_TEXT_LIMIT:
            raise bad_request("MESSAGE_TOO_LONG")
        number = str(arguments.raw("callback_query_id") or "")
        known = number.isdecimal() and len(number) <= 18
        is_alert = _is_set(arguments.raw("show_alert"))
        now_us = self._clock.now_us()
        if not known or not self._ledger.answer_press(int(number), text, is_alert=is_alert, now_us=now_us):
            raise bad_request("query is too old and response timeout expired or query ID is invalid")
        return True

    def delete_message(self, arguments: Arguments, token: str) -> bool:
        message = self._message(arguments, "message to delete not found")
        if not self._is_deletable(message):
            raise bad_request("message can't be deleted for everyone")
        self._ledger.change(replace(message, is_deleted=True))
        return True

    def _is_deletable(self, message: TelegramMessage) -> bool:
        return self._clock.now_us() - message.at_us <= _DELETABLE_US

    def _message(self, arguments: Arguments, not_found: str) -> TelegramMessage:
        message = self._ledger.one(TelegramMessage, arguments.integer("message_id", 0), _chat_of(arguments))
        if message is None or message.is_deleted:
            raise bad_request(not_found)
        return message

    def _replied(self, arguments: Arguments, chat_id: str) -> TelegramMessage | None:
        number, is_optional = _reply_target(arguments)
        if not number:
            return None
        replied = self._ledger.one(TelegramMessage, number, chat_id)
        replied = None if replied is not None and replied.is_deleted else replied
        if replied is None and not is_optional:
            raise bad_request("message to be replied not found")
        return replied


def _named(*methods: _Method) -> dict[str, _Method]:
    """As a call names them, in small letters."""
    return {method.__name__.replace("_", ""): method for method in methods}


def looks_like_emoji(text: str) -> bool:
    """Symbols only, joined the way emoji are joined; any letter, mark of punctuation or space is something else."""
    symbols = [character for character in text if character not in _EMOJI_JOINERS]
    if "\u20e3" in text:
        return len(symbols) == 1 and symbols[0] in "0123456789#*"
    return 0 < len(symbols) <= 10 and all(_is_symbol(character) for character in symbols)


def _is_symbol(character: str) -> bool:
    if character in _ODD_EMOJI or _PICTURES[0] <= character <= _PICTURES[1] or _TAGS[0] <= character <= _TAGS[1]:
        return True
    return character >= "\u2190" and unicodedata.category(character) in {"So", "Sm"}


def _chat_of(arguments: Arguments) -> str:
    chat_id = canonical_chat(arguments.raw("chat_id"))
    if chat_id is None:
        raise bad_request("chat not found")
    return chat_id


def _message_text(arguments: Arguments, too_long: str = "message is too long") -> str:
    text = arguments.text("text")
    if not text.strip():
        raise bad_request("message text is empty")
    if utf16_length(text) > TEXT_LIMIT_UTF16:
        raise bad_request(too_long)
    return text


def _caption_of(arguments: Arguments) -> str:
    caption = arguments.text("caption")
    if utf16_length(caption) > CAPTION_LIMIT_UTF16:
        raise bad_request("message caption is too long")
    return caption


def _reply_target(arguments: Arguments) -> tuple[int, bool]:
    """Today's `reply_parameters`, or the older two fields."""
    parameters = arguments.structure("reply_parameters")
    if parameters is None:
        parameters = {
            "message_id": arguments.raw("reply_to_message_id"),
            "allow_sending_without_reply": arguments.raw("allow_sending_without_reply"),
        }
    if not isinstance(parameters, dict):
        raise bad_request("can't parse reply parameters JSON object")
    is_optional = _is_set(parameters.get("allow_sending_without_reply"))
    return Arguments(parameters).integer("message_id", 0), is_optional


def _is_set(value: object) -> bool:
    return value in (True, "true", "True", "1")


def _one_emoji(reaction: Any) -> str | None:
    if not reaction:
        return None
    if not isinstance(reaction, list) or not all(isinstance(item, dict) for item in reaction):
        raise bad_request("can't parse reaction types JSON object")
    if len(reaction) > 1:
        raise bad_request("REACTIONS_TOO_MANY")
    emoji = reaction[0].get("emoji")
    if reaction[0].get("type") != "emoji" or not isinstance(emoji, str) or not looks_like_emoji(emoji):
        raise bad_request("REACTION_INVALID")
    return emoji


def _of_album(arguments: Arguments, one: JsonBody) -> Arguments:
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
    if len(given.content) > _FILE_BYTES:
        raise ApiError(413, "Request Entity Too Large")
    return given


def _check_photo(content: bytes) -> None:
    if len(content) > _PHOTO_BYTES:
        raise bad_request("file is too big for a photo")
    if not picture_type(content):
        raise bad_request("IMAGE_PROCESS_FAILED")
    if picture_type(content) == "image/png" and len(content) >= 24:
        width, height = struct.unpack(">II", content[16:24])
        if width + height > _MOST_PIXELS or max(width, height) > _MOST_RATIO * max(min(width, height), 1):
            raise bad_request("PHOTO_INVALID_DIMENSIONS")


# The routes: `/bot<token>/<method>`, answered like Telegram, spoiled by armed faults.

_MAX_POLL_SECONDS = 50
_ANOTHER_READER = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
_DEFAULT_KINDS: tuple[str, ...] = ("message", "edited_message", "callback_query", "my_chat_member")
_KINDS = (*_DEFAULT_KINDS, "message_reaction")
_TOKEN = re.compile(r"[0-9]{1,18}:[A-Za-z0-9_-]{1,128}")


class BotApi:
    def __init__(self, parts: SandboxParts, token: str | None) -> None:
        self._parts = parts
        self._token = token
        self._kinds = _DEFAULT_KINDS
        self._readers: dict[str, object] = {}
        self._methods = _BotMethods(parts.ledger, parts.clock)

    def routes(self) -> list[web.RouteDef]:
        calls = [web.route(verb, "/bot{token}/{method}", self.call) for verb in ("GET", "POST")]
        return [*calls, web.get("/file/bot{token}/{path:.+}", self.file)]

    async def call(self, request: web.Request) -> web.Response:
        try:
            return await self._answer(request, self._checked_token(request), request.match_info["method"].lower())
        except ApiError as error:
            return _refusal(error)
        except RecursionError:
            return _refusal(bad_request("object is nested too deeply"))

    async def file(self, request: web.Request) -> web.Response:
        try:
            self._checked_token(request)
        except ApiError as error:
            return _refusal(error)
        folder, _, sha256 = request.match_info["path"].partition("/")
        content = self._parts.ledger.files.content(sha256) if folder == "documents" else None
        return _refusal(ApiError(404, "Not Found")) if content is None else shown(content, picture_type(content))

    async def _answer(self, request: web.Request, token: str, method: str) -> web.Response:
        # the whole request is read before a fault shows: a client that was cut off has truly sent it
        arguments = await read_arguments(request)
        if method == "getupdates":
            return _success(await self._updates(arguments, bot_name(token)))
        if read := self._methods.reading.get(method):
            return _success(read(arguments, token))
        if send := self._methods.sending.get(method):
            return await self._send(request, send, arguments, token)
        raise ApiError(404, "Not Found")

    async def _send(self, request: web.Request, send: _Method, arguments: Arguments, token: str) -> web.Response:
        spoiled = self._parts.spoiled(FaultChannel.TELEGRAM)
        if spoiled.status is not None:
            raise _refused_by_fault(spoiled.status, spoiled.retry_after)
        if not await spoiled.before():
            return cut(request)
        result = send(arguments, token)
        return _success(result) if await spoiled.after() else cut(request)

    async def _updates(self, arguments: Arguments, bot: str) -> list[JsonBody]:
        offset = arguments.integer("offset", 0)
        limit = min(max(arguments.integer("limit", 100), 1), 100)
        timeout = min(max(arguments.integer("timeout", 0), 0), _MAX_POLL_SECONDS)
        self._kinds = kinds = _wanted_kinds(arguments, self._kinds)
        deadline_us = self._parts.clock.now_us() + seconds(timeout)
        me = self._readers[bot] = object()
        self._parts.news.ring()  # a reader who still waits learns that there is another
        while True:
            news = self._parts.news.news()
            if self._readers[bot] is not me:
                raise ApiError(409, _ANOTHER_READER)
            now_us = self._parts.clock.now_us()
            found = self._parts.ledger.updates.fetch(offset=offset, limit=limit, kinds=kinds, now_us=now_us, bot=bot)
            if found or self._parts.stopping.is_set() or self._parts.clock.now_us() >= deadline_us:
                return found
            await self._parts.clock.wait(news, deadline_us)

    def _checked_token(self, request: web.Request) -> str:
        token = request.match_info["token"]
        if not _TOKEN.fullmatch(token) or (self._token is not None and token != self._token):
            raise ApiError(401, "Unauthorized")
        return token


def _success(result: object) -> web.Response:
    return web.json_response({"ok": True, "result": result})


def _refusal(error: ApiError) -> web.Response:
    body: JsonBody = {"ok": False, "error_code": error.status, "description": error.description}
    headers = {}
    if error.retry_after is not None:
        body["parameters"] = {"retry_after": error.retry_after}
        headers["Retry-After"] = str(error.retry_after)
    return web.json_response(body, status=error.status, headers=headers)


def _refused_by_fault(status: int, retry_after: int | None) -> ApiError:
    """Telegram always says how long to wait after a 429."""
    if status == 429:
        retry_after = 1 if retry_after is None else retry_after
        return ApiError(status, f"Too Many Requests: retry after {retry_after}", retry_after=retry_after)
    return ApiError(status, f"{_phrase(status)}: sandbox fault", retry_after=retry_after)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"


def _wanted_kinds(arguments: Arguments, before: tuple[str, ...]) -> tuple[str, ...]:
    """Telegram sends reactions only to those who ask for them, and remembers what was asked for last."""
    asked = arguments.structure("allowed_updates")
    if not isinstance(asked, list):
        return before
    if not asked:
        return _DEFAULT_KINDS
    return tuple(kind for kind in _KINDS if kind in asked)
