"""Telegram's Bot API: build the call, make it once, read the answer."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import ClassVar, Final, assert_never

from postroom.channels.provider import ProviderApi, asked, blameless, press_answered, worked
from postroom.channels.shared import check_files, check_text, emoji_of, linked, read_file, with_links
from postroom.channels.telegram.building import (
    ALBUM,
    BROUGHT,
    METHODS,
    AlreadySo,
    HasCaption,
    PhotoUnfit,
    TelegramCall,
    album_receipt,
    as_document,
    calls_with_files,
    edit_receipt,
    edits,
    form,
    is_captioned,
    is_unchanged,
    is_unfit_photo,
    last_words,
    of_caption,
    read_refusal,
    reply_markup,
    text_calls,
)
from postroom.channels.telegram.building import bodies as rich_bodies
from postroom.channels.telegram.kind import TELEGRAM, TelegramAccount, TelegramSettings
from postroom.channels.telegram.updates import album_of, brought, is_in_group, listened
from postroom.kernel.http.answers import JsonBody, JsonObject, as_object, objects_in
from postroom.kernel.http.call import HttpAnswer
from postroom.kernel.text.rich import TEXT_LIMIT, cut, marked, split
from postroom.kernel.values.errors import (
    OutcomeUncertain,
    PostroomError,
    TargetUnavailable,
    ValidationError,
)
from postroom.message.attachment import FileContents
from postroom.message.channel import Capabilities
from postroom.message.delivery import REPEAT_MARK, Format, Intent, Message, Receipt, ReceiptKind
from postroom.message.inbound import InboundFile, InboundMessage, Listened
from postroom.settings.accounts import Surroundings

API_BASE_URL = "https://api.telegram.org"
_POLL_MARGIN_SECONDS = 10.0
# Telegram remembers what was asked for last, so it is asked for every time.
_UPDATE_KINDS: Final = ("message", "edited_message", "callback_query", "my_chat_member")
_LONGEST_PRESS_ANSWER: Final = 200
_ALBUM_SECONDS: Final = 0.5  # within which Telegram has the rest of several photos that were sent at once

_CHAT_ID = re.compile(r"-?[0-9]{1,19}")
_USERNAME = re.compile(r"@[A-Za-z][A-Za-z0-9_]{3,31}")
_MESSAGE_ID = re.compile(r"[0-9]{1,18}")
_TOKEN = re.compile(r"[A-Za-z0-9_:-]+")
_LARGEST_ID = 2**63 - 1


class AnotherReader(TargetUnavailable):
    """A bot's messages go to one reader: somebody else asks for them, or a webhook gets them."""


def address(text: str) -> str | None:
    """A chat id or an @username, which Telegram compares without regard to case."""
    text = text.strip(" ")
    if _USERNAME.fullmatch(text):
        return text.lower()
    if _CHAT_ID.fullmatch(text) and 0 < abs(int(text)) <= _LARGEST_ID:
        return str(int(text))
    return None


def build(message: Message) -> Sequence[TelegramCall]:
    if message.revises is not None:
        check_text(message)
        return edits(message, message.revises, _chat_id(message), _shown)
    match message.intent:
        case Intent.SEND:
            return _texts(message, {})
        case Intent.REPLY:
            return _texts(message, {"reply_parameters": {"message_id": _message_id(message)}})
        case Intent.REACT:
            return (_reaction(message),)
        case _:
            assert_never(message.intent)


def _texts(message: Message, first_only: JsonObject) -> Sequence[TelegramCall]:
    """No `parse_mode`, ever: text is data, so it cannot carry markup. Buttons stand under the last part."""
    check_text(message)
    under = reply_markup(message.markup, selective=bool(first_only)) if message.markup else None
    if message.attachments:
        calls = calls_with_files(message, _shown, buttons=bool(under))
    else:
        calls = text_calls(_shown(message, TEXT_LIMIT))
    more: list[JsonBody] = [{"chat_id": _chat_id(message)} for _ in calls]
    more[0] |= first_only
    if under:
        more[last_words(calls)]["reply_markup"] = under
    return tuple(replace(call, body={**call.body, **added}) for call, added in zip(calls, more, strict=True))


def _shown(message: Message, limit: int) -> list[JsonBody]:
    if message.format is Format.MARKDOWN:
        return rich_bodies(message, limit)
    parts = split(with_links(message.text, linked(message.markup)), limit)
    return [{"text": part} for part in (marked(parts, REPEAT_MARK, limit) if message.repeated else parts)]


def _reaction(message: Message) -> TelegramCall:
    reaction = [{"type": "emoji", "emoji": emoji_of(message)}]
    body = {"chat_id": _chat_id(message), "message_id": _message_id(message), "reaction": reaction}
    return TelegramCall(method="setMessageReaction", body=body)


def _chat_id(message: Message) -> int | str:
    canonical = address(message.address)
    if canonical is None:
        raise ValidationError("recipient is neither a Telegram chat id nor an @username")
    return canonical if canonical.startswith("@") else int(canonical)


def _message_id(message: Message) -> int:
    thread = message.thread or ""
    if not _MESSAGE_ID.fullmatch(thread) or int(thread) == 0:
        raise ValidationError("the Telegram message to answer must be named by its number")
    return int(thread)


def _read_receipt(call: TelegramCall, told: JsonObject) -> Receipt:
    if call.method == "setMessageReaction":
        return Receipt.of_change(ReceiptKind.REACTION, call.body["chat_id"], call.body["message_id"])
    if call.method in METHODS:
        return edit_receipt(call)
    if call.method == ALBUM:
        return album_receipt(told)
    number = as_object(told.get("result")).get("message_id")
    if isinstance(number, bool) or not isinstance(number, int):
        raise OutcomeUncertain("Telegram accepted the request but named no message")
    return Receipt(str(number))


def _as_meant(answer: HttpAnswer) -> HttpAnswer:
    """Under the status that is written inside it, where Telegram says no with a good one."""
    code = answer.told.get("error_code")
    is_no = answer.is_success and answer.told.get("ok") is False
    return replace(answer, status=code) if is_no and isinstance(code, int) and 400 <= code < 600 else answer


def _of_this_call(call: TelegramCall, answer: HttpAnswer) -> PostroomError | None:
    """What an answer means to this call alone."""
    status, told = answer.status, answer.told
    if answer.is_success and told.get("ok") is not True:
        return OutcomeUncertain("Telegram's answer could not be read")
    if status == 409 and call.method == "getUpdates":
        return AnotherReader(_other_reader(told))
    if call.method in METHODS and is_unchanged(status, told):
        return AlreadySo("Telegram has nothing to change")
    if is_captioned(call, status, told):
        return HasCaption("the words stand under a file")
    if is_unfit_photo(call, status, told):
        return PhotoUnfit("Telegram makes no picture of this file")
    return None


def _other_reader(told: JsonObject) -> str:
    if "webhook is active" in str(told.get("description")):
        return "a webhook gets this bot's messages: end the program that set it, and call Telegram's deleteWebhook"
    return "another program reads this bot's messages: a bot has one reader"


class Telegram:
    address = staticmethod(address)
    capabilities: ClassVar[Capabilities] = TELEGRAM

    def __init__(
        self,
        token: str,
        api_base_url: str = API_BASE_URL,
        *,
        name: str = "telegram",
        files: FileContents | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        if not _TOKEN.fullmatch(token):
            raise ValueError("the Telegram bot token is malformed")
        self.name = name
        self._token = token
        self._files = files
        self._username: str | None = None
        self._api = ProviderApi("Telegram", api_base_url, read_refusal, now, says_ok=True, secrets=[token])

    @classmethod
    def of(cls, name: str, options: TelegramSettings | TelegramAccount, given: Surroundings) -> Telegram:
        return cls(options.token.reveal(), options.api_base_url, name=name, files=given.files)

    def __repr__(self) -> str:
        return f"Telegram(api_base_url={self._api.base_url!r}, token=***)"

    def prepare(self, message: Message) -> Sequence[TelegramCall]:
        check_files(message, TELEGRAM, self._files)
        return build(message)

    async def send(self, part: TelegramCall, timeout_seconds: float) -> Receipt:
        """Where Telegram says that another method is meant, nothing was done yet, and that one is called."""
        if part.brought:
            return Receipt(f"{BROUGHT}{part.body['chat_id']}")  # under a name that was lost with the process before
        ends_at = time.monotonic() + timeout_seconds
        content = [await read_file(self._files, one, ends_at - time.monotonic()) for one in part.files]
        try:
            return await self._sent(part, content, ends_at)
        except PhotoUnfit:
            other = as_document(part)
        except HasCaption:
            other = of_caption(part)
        except ValidationError:
            if part.instead is None:
                raise
            other = part.instead
        return await self._sent(other, content, ends_at)

    async def answer_press(
        self, callback_id: str, text: str = "", *, alert: bool = False, timeout_seconds: float = 5.0
    ) -> bool:
        body = {"callback_query_id": callback_id, "text": cut(text, _LONGEST_PRESS_ANSWER), "show_alert": alert}
        return await press_answered("telegram", self._ask("answerCallbackQuery", body, timeout_seconds))

    async def show_work(self, place: str, message_id: str, timeout_seconds: float) -> bool:
        """Typing, as Telegram shows it for five seconds."""
        return await worked(self._ask("sendChatAction", {"chat_id": place, "action": "typing"}, timeout_seconds))

    async def probe(self, timeout_seconds: float) -> str:
        return f"@{self._api.shown(await self._name(timeout_seconds))}"

    async def listen(self, position: int | None, timeout_seconds: float) -> Listened:
        updates = await self.updates(position, timeout_seconds)
        if updates and album_of(updates[-1]) is not None:
            updates = await self._whole_album(position, updates)
        return listened(self.name, updates, await self._own_name() if any(map(is_in_group, updates)) else None)

    async def bring_files(self, message: InboundMessage, timeout_seconds: float) -> Sequence[InboundFile]:
        ends_at, folder = time.monotonic() + timeout_seconds, f"{self._api.base_url}/file/bot{self._token}"
        return [await brought(one, self._told, self._api, folder, ends_at) for one in message.offers]

    async def _whole_album(self, position: int | None, updates: list[JsonObject]) -> list[JsonObject]:
        """More of it may be on its way; asking again with the same position acknowledges nothing."""
        await asyncio.sleep(_ALBUM_SECONDS)
        return await self.updates(position, 0) or updates

    async def _own_name(self) -> str | None:
        """Asked for once; while it is not known, none is called by it."""
        if self._username is None:
            name = await self._name(_POLL_MARGIN_SECONDS)
            self._username = name if isinstance(name, str) else None
        return self._username

    async def _name(self, timeout_seconds: float) -> object:
        return as_object((await self._ask("getMe", {}, timeout_seconds)).get("result")).get("username")

    async def updates(self, offset: int | None, timeout_seconds: float) -> list[JsonObject]:
        """What people wrote since `offset`; waits up to `timeout_seconds` for something to come."""
        body: JsonBody = {"timeout": int(timeout_seconds), "allowed_updates": list(_UPDATE_KINDS)}
        if offset is not None:
            body["offset"] = offset
        return objects_in((await self._ask("getUpdates", body, timeout_seconds + _POLL_MARGIN_SECONDS)).get("result"))

    async def close(self) -> None:
        await self._api.close()

    async def _sent(self, call: TelegramCall, content: Sequence[bytes], ends_at: float) -> Receipt:
        try:
            return _read_receipt(call, await self._call(call, ends_at - time.monotonic(), content))
        except AlreadySo:
            return edit_receipt(call)

    async def _call(self, call: TelegramCall, timeout_seconds: float, content: Sequence[bytes] = ()) -> JsonObject:
        body = form(call, content) if content else call.body
        answer = _as_meant(await self._api.request("POST", f"bot{self._token}/{call.method}", timeout_seconds, body))
        if (other := _of_this_call(call, answer)) is not None:
            raise other
        return self._api.checked(answer, call.private).told

    async def _ask(self, method: str, body: JsonObject, timeout_seconds: float) -> JsonObject:
        return await blameless(self._told(method, body, timeout_seconds))

    async def _told(self, method: str, body: JsonObject, timeout_seconds: float) -> JsonObject:
        return await asked(self._call(TelegramCall(method=method, body=body), timeout_seconds))
