"""The sandbox's own routes: list what arrived, play the person, arm faults."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from aiohttp import web

from postroom.domain.ports import Clock
from postroom.programs.sandbox import faults as fault_rules
from postroom.programs.sandbox import inbound
from postroom.programs.sandbox.faults import ArmedFaults
from postroom.programs.sandbox.kept_files import picture_type, shown, with_room
from postroom.programs.sandbox.keyboards import pressed_data
from postroom.programs.sandbox.ledger import SandboxLedger
from postroom.programs.sandbox.listings import callback_listing, mail_listing, message_listing, reaction_listing
from postroom.programs.sandbox.openapi import DOCUMENT
from postroom.programs.sandbox.page import PAGE_HEADERS, render
from postroom.programs.sandbox.records import TelegramMessage
from postroom.programs.sandbox.requests import answer, asked_window, invalid, read_json
from postroom.programs.sandbox.telegram_objects import callback_object, reaction_object, typed_object
from postroom.system.signal import Signal

_ON_PAGE = 50

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Control:
    def __init__(
        self,
        *,
        ledger: SandboxLedger,
        faults: ArmedFaults,
        clock: Clock,
        news: Signal,
        token: str,
        household: str | None = None,
    ) -> None:
        self._ledger = ledger
        self._faults = faults
        self._clock = clock
        self._news = news
        self._token = token
        self._whose = {"household": household} if household else {}

    def routes(self) -> list[web.RouteDef]:
        table: list[tuple[str, str, Handler]] = [
            ("GET", "/", self.to_page),
            ("GET", "/sandbox", self.to_page),
            ("GET", "/sandbox/", self.page),
            ("GET", "/health", self.health),
            ("GET", "/openapi.json", self.openapi),
            ("GET", "/sandbox/telegram/messages", self.telegram_messages),
            ("GET", "/sandbox/telegram/reactions", self.telegram_reactions),
            ("POST", "/sandbox/telegram/reaction", self.tap),
            ("GET", "/sandbox/telegram/inbound", self.telegram_inbound),
            ("POST", "/sandbox/telegram/inbound", self.type_message),
            ("GET", "/sandbox/telegram/callbacks", self.telegram_callbacks),
            ("GET", "/sandbox/telegram/actions", self.telegram_actions),
            ("POST", "/sandbox/telegram/callback", self.press),
            ("POST", "/sandbox/telegram/press", self.press_button),
            ("POST", "/sandbox/telegram/away", self.be_away),
            ("GET", "/sandbox/email/messages", self.emails),
            ("GET", "/sandbox/email/messages/{id}/raw", self.raw_email),
            ("GET", "/sandbox/email/inbound", self.email_inbound),
            ("POST", "/sandbox/email/inbound", self.write_email),
            ("GET", "/sandbox/files/{sha256}", self.file),
            ("DELETE", "/sandbox/messages", self.clear),
            ("GET", "/sandbox/faults", self.list_faults),
            ("POST", "/sandbox/faults", self.arm_fault),
            ("DELETE", "/sandbox/faults", self.clear_faults),
        ]
        return [web.route(verb, path, handler) for verb, path, handler in table]

    async def to_page(self, request: web.Request) -> web.StreamResponse:
        raise web.HTTPFound("/sandbox/")

    async def page(self, request: web.Request) -> web.StreamResponse:
        chat = self._ledger.telegram.messages(from_person=None, chat_id=None, since=None, limit=_ON_PAGE)
        received = self._ledger.email.mails(from_person=False, since=None, limit=_ON_PAGE)
        text = render(chat, received, self._faults.listed())
        return web.Response(text=text, content_type="text/html", headers=PAGE_HEADERS)

    async def health(self, request: web.Request) -> web.StreamResponse:
        return answer({"status": "ok", "armed_faults": len(self._faults.listed()), **self._whose})

    async def openapi(self, request: web.Request) -> web.StreamResponse:
        return web.json_response(DOCUMENT)

    async def telegram_messages(self, request: web.Request) -> web.StreamResponse:
        return self._chat_listing(request, from_person=False)

    async def telegram_inbound(self, request: web.Request) -> web.StreamResponse:
        return self._chat_listing(request, from_person=True)

    async def telegram_reactions(self, request: web.Request) -> web.StreamResponse:
        window = asked_window(request)
        found = self._ledger.telegram.reactions(
            chat_id=request.query.get("chat_id"), since=window.since, limit=window.limit
        )
        return answer({"reactions": [reaction_listing(item) for item in found], "count": len(found)})

    async def telegram_callbacks(self, request: web.Request) -> web.StreamResponse:
        window = asked_window(request)
        found = self._ledger.telegram.callbacks(since=window.since, limit=window.limit)
        return answer({"callbacks": [callback_listing(item) for item in found], "count": len(found)})

    async def telegram_actions(self, request: web.Request) -> web.StreamResponse:
        """What a person would have seen of the bot for a moment: that it types."""
        seen = [{"chat_id": chat, "action": action} for chat, action in self._ledger.telegram.actions]
        return answer({"actions": seen, "count": len(seen)})

    async def emails(self, request: web.Request) -> web.StreamResponse:
        return self._mail_listing(request, from_person=False)

    async def email_inbound(self, request: web.Request) -> web.StreamResponse:
        return self._mail_listing(request, from_person=True)

    async def raw_email(self, request: web.Request) -> web.StreamResponse:
        number = request.match_info["id"]
        raw = self._ledger.email.raw(int(number)) if number.isdecimal() and len(number) <= 18 else None
        if raw is None:
            raise web.HTTPNotFound
        headers = {"Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff"}
        return web.Response(body=raw, content_type="message/rfc822", headers=headers)

    async def file(self, request: web.Request) -> web.StreamResponse:
        content = self._ledger.files.content(request.match_info["sha256"])
        if content is None:
            raise web.HTTPNotFound
        return shown(content, picture_type(content))

    async def type_message(self, request: web.Request) -> web.StreamResponse:
        typed = inbound.typed(await read_json(with_room(request)))
        more = typed.files[1:]
        album = str(self._clock.now_us()) if more else None
        kept = self._typed(typed, typed.text, typed.files[:1], album)
        others = [self._typed(typed, "", [one], album) for one in more]
        self._news.ring()
        numbers = {"message_ids": [one.message_id for one in (kept, *others)]} if others else {}
        return answer({"message": message_listing(kept), "message_id": kept.message_id, **numbers})

    def _typed(
        self, typed: inbound.Typed, text: str, files: Sequence[inbound.TypedFile], album: str | None
    ) -> TelegramMessage:
        """Several files at once are a message each, and the words stand with the first."""
        replied = self._replied(typed)
        return self._ledger.telegram.keep(
            chat_id=typed.chat_id,
            text=text,
            now_us=self._clock.now_us(),
            reply_to=typed.reply_to_message_id,
            from_person=True,
            from_name=typed.from_name,
            from_id=typed.writer.from_id,
            files=[
                replace(self._ledger.files.keep(one.file), is_photo=one.sent_as == "photo", sent_as=one.sent_as)
                for one in files
            ],
            announce=lambda message: ("message", typed_object(message, self._token, replied, typed.writer, album)),
        )

    async def tap(self, request: web.Request) -> web.StreamResponse:
        tapped = inbound.tapped(await read_json(request))
        message = self._known(tapped.chat_id, tapped.message_id, "message_id")
        before = self._ledger.telegram.reaction_of(message.message_id, from_person=True)
        kept = self._ledger.telegram.react(
            message,
            tapped.emoji,
            from_person=True,
            now_us=self._clock.now_us(),
            announce=lambda reaction: ("message_reaction", reaction_object(reaction, before)),
        )
        self._news.ring()
        return answer({"reaction": reaction_listing(kept)})

    async def press(self, request: web.Request) -> web.StreamResponse:
        pressed = inbound.pressed(await read_json(request))
        message = self._known(pressed.chat_id, pressed.message_id, "message_id")
        return self._press(message, pressed.data, None)

    async def press_button(self, request: web.Request) -> web.StreamResponse:
        """Only what stands under the message now can be pressed, as on a phone that is up to date."""
        pressed = inbound.pressed_button(await read_json(request))
        message = self._ledger.telegram.anywhere(pressed.message_id)
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

    async def be_away(self, request: web.Request) -> web.StreamResponse:
        """What waits for the bot becomes so much older, and what has waited for too long is gone."""
        self._ledger.updates.age(inbound.away(await read_json(request)))
        return answer({"status": "ok"})

    def _press(self, message: TelegramMessage, data: str, from_id: int | None) -> web.Response:
        kept = self._ledger.telegram.press(
            message,
            data,
            now_us=self._clock.now_us(),
            from_id=from_id,
            announce=lambda callback: ("callback_query", callback_object(callback, message, self._token)),
        )
        self._news.ring()
        return answer({"callback": callback_listing(kept)})

    async def write_email(self, request: web.Request) -> web.StreamResponse:
        mail = inbound.written(await read_json(with_room(request)))
        kept = self._ledger.email.keep(mail, from_person=True, now_us=self._clock.now_us())
        self._news.ring()
        return answer({"message": mail_listing(kept), "message_id": kept.mail.message_id})

    async def clear(self, request: web.Request) -> web.StreamResponse:
        self._ledger.clear()
        return answer({"cleared": True})

    async def list_faults(self, request: web.Request) -> web.StreamResponse:
        return self._faults_now()

    async def arm_fault(self, request: web.Request) -> web.StreamResponse:
        fault = fault_rules.parse(await read_json(request), self._faults.channels)
        if len(self._faults.listed()) >= fault_rules.MAX_ARMED:
            raise invalid("body", f"at most {fault_rules.MAX_ARMED} faults can be armed", "too_many")
        self._faults.arm(fault)
        return self._faults_now()

    async def clear_faults(self, request: web.Request) -> web.StreamResponse:
        return answer({"faults": [], "count": 0, "cleared": self._faults.clear()})

    def _faults_now(self) -> web.Response:
        armed = [fault.listing() for fault in self._faults.listed()]
        return answer({"faults": armed, "count": len(armed)})

    def _chat_listing(self, request: web.Request, *, from_person: bool) -> web.Response:
        window, chat_id = asked_window(request), request.query.get("chat_id")
        ledger = self._ledger.telegram
        found = ledger.messages(from_person=from_person, chat_id=chat_id, since=window.since, limit=window.limit)
        total = ledger.count(from_person=from_person, chat_id=chat_id, since=window.since)
        return answer({"messages": [message_listing(item) for item in found], "count": len(found), "total": total})

    def _mail_listing(self, request: web.Request, *, from_person: bool) -> web.Response:
        window = asked_window(request)
        found = self._ledger.email.mails(from_person=from_person, since=window.since, limit=window.limit)
        total = self._ledger.email.count(from_person=from_person, since=window.since)
        return answer({"messages": [mail_listing(item) for item in found], "count": len(found), "total": total})

    def _replied(self, typed: inbound.Typed) -> TelegramMessage | None:
        if typed.reply_to_message_id is None:
            return None
        return self._known(typed.chat_id, typed.reply_to_message_id, "reply_to_message_id")

    def _known(self, chat_id: str, message_id: int, field: str) -> TelegramMessage:
        message = self._ledger.telegram.message(chat_id, message_id)
        if message is None:
            raise invalid(field, "no such message in this chat", "not_found")
        return message
