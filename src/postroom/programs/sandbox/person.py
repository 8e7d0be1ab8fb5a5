"""What the person does on the phone and in the mailbox: types, taps, presses, writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from postroom.domain.clock import Clock
from postroom.programs.sandbox import inbound
from postroom.programs.sandbox.keyboards import pressed_data
from postroom.programs.sandbox.ledger import SandboxLedger
from postroom.programs.sandbox.records import Callback, Reaction, StoredMail, TelegramMessage
from postroom.programs.sandbox.requests import invalid
from postroom.programs.sandbox.telegram_objects import callback_object, reaction_object, typed_object
from postroom.system.signal import Signal


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxPerson:
    """Each act takes what was read of a request, and raises ValidationError that names every wrong field."""

    ledger: SandboxLedger
    clock: Clock
    news: Signal
    token: str

    def type_message(self, payload: object) -> Sequence[TelegramMessage]:
        """Several files at once are a message each, and the words stand with the first."""
        typed = inbound.read_typed(payload)
        more = typed.files[1:]
        album = str(self.clock.now_us()) if more else None
        kept = [self._typed(typed, typed.text, typed.files[:1], album)]
        kept += [self._typed(typed, "", [one], album) for one in more]
        self.news.ring()
        return kept

    def tap(self, payload: object) -> Reaction:
        tapped = inbound.read_tapped(payload)
        message = self._known(tapped.chat_id, tapped.message_id, "message_id")
        before = self.ledger.telegram.reaction_of(message.message_id, from_person=True)
        kept = self.ledger.telegram.react(
            message,
            tapped.emoji,
            from_person=True,
            now_us=self.clock.now_us(),
            announce=lambda reaction: ("message_reaction", reaction_object(reaction, before)),
        )
        self.news.ring()
        return kept

    def press(self, payload: object) -> Callback:
        """Whatever a phone that is not up to date may say."""
        pressed = inbound.read_pressed(payload)
        message = self._known(pressed.chat_id, pressed.message_id, "message_id")
        return self._press(message, pressed.data, None)

    def press_button(self, payload: object) -> Callback:
        """Only what stands under the message now can be pressed, as on a phone that is up to date."""
        pressed = inbound.pressed_button(payload)
        message = self.ledger.telegram.anywhere(pressed.message_id)
        if message is None:
            raise invalid("message_id", "no such message", "not_found")
        found = pressed_data(message.reply_markup, pressed.button)
        if not found:
            raise invalid("button", "no such button under this message", "not_found")
        if len(found) > 1:
            raise invalid("button", "names more than one button: give its callback data", "ambiguous")
        if found[0] is None:
            raise invalid("button", "opens a link and says nothing to the bot", "is_a_link")
        return self._press(message, found[0], pressed.from_id)

    def write(self, payload: object) -> StoredMail:
        mail = inbound.written(payload)
        kept = self.ledger.email.keep(mail, from_person=True, now_us=self.clock.now_us())
        self.news.ring()
        return kept

    def _typed(
        self, typed: inbound.Typed, text: str, files: Sequence[inbound.TypedFile], album: str | None
    ) -> TelegramMessage:
        replied = None
        if typed.reply_to_message_id is not None:
            replied = self._known(typed.chat_id, typed.reply_to_message_id, "reply_to_message_id")
        return self.ledger.telegram.keep(
            chat_id=typed.chat_id,
            text=text,
            now_us=self.clock.now_us(),
            reply_to=typed.reply_to_message_id,
            from_person=True,
            from_name=typed.from_name,
            from_id=typed.writer.from_id,
            files=[
                replace(self.ledger.files.keep(one.file), is_photo=one.sent_as == "photo", sent_as=one.sent_as)
                for one in files
            ],
            announce=lambda message: ("message", typed_object(message, self.token, replied, typed.writer, album)),
        )

    def _press(self, message: TelegramMessage, data: str, from_id: int | None) -> Callback:
        kept = self.ledger.telegram.press(
            message,
            data,
            now_us=self.clock.now_us(),
            from_id=from_id,
            announce=lambda callback: ("callback_query", callback_object(callback, message, self.token)),
        )
        self.news.ring()
        return kept

    def _known(self, chat_id: str, message_id: int, field: str) -> TelegramMessage:
        message = self.ledger.telegram.message(chat_id, message_id)
        if message is None:
            raise invalid(field, "no such message in this chat", "not_found")
        return message
