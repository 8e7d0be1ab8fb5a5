"""What each Bot API method does, with Telegram's own refusals."""

from __future__ import annotations

import unicodedata
from typing import Any

from postroom.domain.clock import Clock
from postroom.programs.sandbox.arguments import Arguments, bad_request
from postroom.programs.sandbox.bot_name import bot_name
from postroom.programs.sandbox.keyboards import is_editable, read_markup
from postroom.programs.sandbox.records import TelegramMessage
from postroom.programs.sandbox.telegram_ledger import TelegramLedger
from postroom.programs.sandbox.telegram_objects import bot_user, canonical_chat, message_object
from postroom.programs.sandbox.text_entities import read_entities

TEXT_LIMIT_UTF16 = 4096
CAPTION_LIMIT_UTF16 = 1024
CALLBACK_TEXT_LIMIT = 200
DELETABLE_US = 48 * 3600 * 1_000_000
MOST_DELETED = 100
CHAT_ACTIONS = frozenset(
    [
        *("typing", "upload_photo", "record_video", "upload_video", "record_voice", "upload_voice"),
        *("upload_document", "choose_sticker", "find_location", "record_video_note", "upload_video_note"),
    ]
)
_EMOJI_JOINERS = frozenset("\u200d\ufe0f\u20e3")
_ODD_EMOJI = frozenset("©®‼⁉™ℹ〰〽")
_PICTURES = ("\U0001f000", "\U0001faff")
_TAGS = ("\U000e0020", "\U000e007f")  # spell the flags of regions


class BotMethods:
    def __init__(self, ledger: TelegramLedger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock

    def get_me(self, arguments: Arguments, token: str) -> dict[str, Any]:
        return bot_user(token)

    def send_message(self, arguments: Arguments, token: str) -> dict[str, Any]:
        chat_id = chat_of(arguments)
        text = _message_text(arguments)
        replied = self.replied(arguments, chat_id)
        message = self._ledger.keep(
            chat_id=chat_id,
            text=text,
            now_us=self._clock.now_us(),
            reply_to=replied.message_id if replied else None,
            parse_mode=arguments.text("parse_mode") or None,
            reply_markup=read_markup(arguments),
            bot=bot_name(token),
            entities=read_entities(arguments),
        )
        return message_object(message, token, replied)

    def edit_message_text(self, arguments: Arguments, token: str) -> dict[str, Any]:
        text = _message_text(arguments, too_long="MESSAGE_TOO_LONG")
        return self._edit(arguments, token, text)

    def edit_message_caption(self, arguments: Arguments, token: str) -> dict[str, Any]:
        return self._edit(arguments, token, caption_of(arguments), of_files=True)

    def edit_message_reply_markup(self, arguments: Arguments, token: str) -> dict[str, Any]:
        return self._edit(arguments, token, None)

    def _edit(self, arguments: Arguments, token: str, text: str | None, *, of_files: bool = False) -> dict[str, Any]:
        """Without a text the buttons alone are edited; without buttons there are none any more."""
        message, markup = self._message(arguments, "message to edit not found"), read_markup(arguments)
        if text is not None and bool(message.files) is not of_files:
            raise bad_request(f"there is no {'caption' if of_files else 'text'} in the message to edit")
        if message.from_person or not is_editable(message.reply_markup) or not is_editable(markup):
            raise bad_request("message can't be edited")
        entities = (
            message.entities
            if text is None
            else read_entities(arguments, "caption_entities" if of_files else "entities")
        )
        text = message.text if text is None else text
        if (text, entities, markup) == (message.text, message.entities, message.reply_markup):
            raise bad_request(
                "message is not modified: specified new message content and reply markup are exactly the same as a"
                " current content and reply markup of the message"
            )
        edited = self._ledger.edit(message, text, markup, now_us=self._clock.now_us(), entities=entities)
        return message_object(edited, token)

    def set_message_reaction(self, arguments: Arguments, token: str) -> bool:
        message = self._message(arguments, "message to react not found")
        emoji = _one_emoji(arguments.structure("reaction"))
        self._ledger.react(message, emoji, from_person=False, now_us=self._clock.now_us())
        return True

    def send_chat_action(self, arguments: Arguments, token: str) -> bool:
        if arguments.text("action") not in CHAT_ACTIONS:
            raise bad_request("wrong parameter action in request")
        self._ledger.actions.append((chat_of(arguments), arguments.text("action")))
        return True

    def answer_callback_query(self, arguments: Arguments, token: str) -> bool:
        text = arguments.text("text")
        if len(text) > CALLBACK_TEXT_LIMIT:
            raise bad_request("MESSAGE_TOO_LONG")
        callback_id = str(arguments.raw("callback_query_id") or "")
        known = callback_id.isdecimal() and len(callback_id) <= 18
        is_alert = arguments.raw("show_alert") in (True, "true", "True", "1")
        if not known or not self._ledger.answer_callback(
            int(callback_id), text, now_us=self._clock.now_us(), is_alert=is_alert
        ):
            raise bad_request("query is too old and response timeout expired or query ID is invalid")
        return True

    def delete_message(self, arguments: Arguments, token: str) -> bool:
        message = self._message(arguments, "message to delete not found")
        if not self._is_deletable(message):
            raise bad_request("message can't be deleted for everyone")
        self._ledger.delete(message, now_us=self._clock.now_us())
        return True

    def delete_messages(self, arguments: Arguments, token: str) -> bool:
        """What is not there, or no longer to be deleted, is passed over."""
        numbers = arguments.structure("message_ids")
        if not isinstance(numbers, list) or not 1 <= len(numbers) <= MOST_DELETED:
            raise bad_request("message identifiers are not specified")
        chat_id = chat_of(arguments)
        found = [self._ledger.message(chat_id, one) for one in numbers if isinstance(one, int)]
        for message in found:
            if message is not None and self._is_deletable(message):
                self._ledger.delete(message, now_us=self._clock.now_us())
        return True

    def _is_deletable(self, message: TelegramMessage) -> bool:
        return self._clock.now_us() - message.date_us <= DELETABLE_US

    def _message(self, arguments: Arguments, not_found: str) -> TelegramMessage:
        message = self._ledger.message(chat_of(arguments), arguments.integer("message_id", 0))
        if message is None or message.is_deleted:
            raise bad_request(not_found)
        return message

    def replied(self, arguments: Arguments, chat_id: str) -> TelegramMessage | None:
        message_id, optional = _reply_target(arguments)
        if not message_id:
            return None
        replied = self._ledger.message(chat_id, message_id)
        replied = None if replied is not None and replied.is_deleted else replied
        if replied is None and not optional:
            raise bad_request("message to be replied not found")
        return replied


def utf16_units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


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


def chat_of(arguments: Arguments) -> str:
    chat_id = canonical_chat(arguments.raw("chat_id"))
    if chat_id is None:
        raise bad_request("chat not found")
    return chat_id


def _message_text(arguments: Arguments, too_long: str = "message is too long") -> str:
    text = arguments.text("text")
    if not text.strip():
        raise bad_request("message text is empty")
    if utf16_units(text) > TEXT_LIMIT_UTF16:
        raise bad_request(too_long)
    return text


def caption_of(arguments: Arguments) -> str:
    caption = arguments.text("caption")
    if utf16_units(caption) > CAPTION_LIMIT_UTF16:
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
    optional = parameters.get("allow_sending_without_reply") in (True, "true", "True", "1")
    return Arguments(parameters).integer("message_id", 0), optional


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
