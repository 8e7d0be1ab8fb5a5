"""The sandbox's own routes: list what arrived, play the person, arm faults."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aiohttp import web

from postroom.sandbox import person as inbound
from postroom.sandbox.faults import MAX_ARMED, ArmedFaults, parse
from postroom.sandbox.ledger import SandboxLedger
from postroom.sandbox.person import SandboxPerson
from postroom.sandbox.records import (
    answer,
    asked_window,
    callback_listing,
    invalid,
    mail_listing,
    message_listing,
    picture_type,
    reaction_listing,
    read_json,
    shown,
    with_room,
)

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Control:
    def __init__(
        self,
        *,
        ledger: SandboxLedger,
        faults: ArmedFaults,
        person: SandboxPerson,
        household: str | None = None,
    ) -> None:
        self._ledger = ledger
        self._faults = faults
        self._person = person
        self._whose = {"household": household} if household else {}

    def routes(self) -> list[web.RouteDef]:
        table: list[tuple[str, str, _Handler]] = [
            ("GET", "/health", self.health),
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

    async def health(self, request: web.Request) -> web.StreamResponse:
        return answer({"status": "ok", "armed_faults": len(self._faults.listed()), **self._whose})

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
        kept = self._person.type_message(await read_json(with_room(request)))
        numbers = {"message_ids": [one.message_id for one in kept]} if len(kept) > 1 else {}
        return answer({"message": message_listing(kept[0]), "message_id": kept[0].message_id, **numbers})

    async def tap(self, request: web.Request) -> web.StreamResponse:
        return answer({"reaction": reaction_listing(self._person.tap(await read_json(request)))})

    async def press(self, request: web.Request) -> web.StreamResponse:
        return answer({"callback": callback_listing(self._person.press(await read_json(request)))})

    async def press_button(self, request: web.Request) -> web.StreamResponse:
        return answer({"callback": callback_listing(self._person.press_button(await read_json(request)))})

    async def be_away(self, request: web.Request) -> web.StreamResponse:
        """What waits for the bot becomes so much older, and what has waited for too long is gone."""
        self._ledger.updates.age(inbound.away(await read_json(request)))
        return answer({"status": "ok"})

    async def write_email(self, request: web.Request) -> web.StreamResponse:
        kept = self._person.write(await read_json(with_room(request)))
        return answer({"message": mail_listing(kept), "message_id": kept.mail.message_id})

    async def clear(self, request: web.Request) -> web.StreamResponse:
        self._ledger.clear()
        return answer({"cleared": True})

    async def list_faults(self, request: web.Request) -> web.StreamResponse:
        return self._faults_now()

    async def arm_fault(self, request: web.Request) -> web.StreamResponse:
        fault = parse(await read_json(request), self._faults.channels)
        if len(self._faults.listed()) >= MAX_ARMED:
            raise invalid("body", f"at most {MAX_ARMED} faults can be armed", "too_many")
        self._faults.arm(fault)
        self._ledger.changes.ring()
        return self._faults_now()

    async def clear_faults(self, request: web.Request) -> web.StreamResponse:
        cleared = self._faults.clear()
        self._ledger.changes.ring()
        return answer({"faults": [], "count": 0, "cleared": cleared})

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
