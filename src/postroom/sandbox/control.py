"""The sandbox's own routes: list what arrived, play the person, arm faults."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from aiohttp import web

from postroom.sandbox.faults import MAX_ARMED, SandboxParts, parse
from postroom.sandbox.person import SandboxPerson
from postroom.sandbox.records import (
    Callback,
    Reaction,
    ReceivedMail,
    SandboxRecord,
    TelegramMessage,
    answer,
    asked_window,
    invalid,
    picture_type,
    read_json,
    shown,
    with_room,
)

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Control:
    def __init__(self, parts: SandboxParts, person: SandboxPerson, household: str | None) -> None:
        self._ledger = parts.ledger
        self._faults = parts.faults
        self._person = person
        self._whose = {"household": household} if household else {}

    def routes(self) -> list[web.RouteDef]:
        sent, written = partial(self.messages, from_person=False), partial(self.messages, from_person=True)
        person = self._person
        table: list[tuple[str, str, _Handler]] = [
            ("GET", "/health", self.health),
            ("GET", "/sandbox/telegram/messages", partial(sent, TelegramMessage)),
            ("GET", "/sandbox/telegram/reactions", partial(self.marks, Reaction, "reactions")),
            ("POST", "/sandbox/telegram/reaction", partial(self.act, person.tap, "reaction")),
            ("GET", "/sandbox/telegram/inbound", partial(written, TelegramMessage)),
            ("POST", "/sandbox/telegram/inbound", self.type_message),
            ("GET", "/sandbox/telegram/callbacks", partial(self.marks, Callback, "callbacks")),
            ("GET", "/sandbox/telegram/actions", self.telegram_actions),
            ("POST", "/sandbox/telegram/callback", partial(self.act, person.press, "callback")),
            ("POST", "/sandbox/telegram/press", partial(self.act, person.press_button, "callback")),
            ("POST", "/sandbox/telegram/away", self.be_away),
            ("GET", "/sandbox/email/messages", partial(sent, ReceivedMail)),
            ("GET", "/sandbox/email/messages/{id}/raw", self.raw_email),
            ("GET", "/sandbox/email/inbound", partial(written, ReceivedMail)),
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

    async def messages(
        self, kind: type[SandboxRecord], request: web.Request, *, from_person: bool
    ) -> web.StreamResponse:
        window, place = asked_window(request), _chat(kind, request)
        found = self._ledger.shown(kind, place=place, from_person=from_person, since=window.since, limit=window.limit)
        total = self._ledger.count(kind, place=place, from_person=from_person, since=window.since)
        return answer({"messages": [one.listing() for one in found], "count": len(found), "total": total})

    async def marks(self, kind: type[SandboxRecord], name: str, request: web.Request) -> web.StreamResponse:
        """What was left on messages by tapping and pressing."""
        window = asked_window(request)
        found = self._ledger.shown(kind, place=_chat(kind, request), since=window.since, limit=window.limit)
        return answer({name: [one.listing() for one in found], "count": len(found)})

    async def telegram_actions(self, request: web.Request) -> web.StreamResponse:
        """What a person would have seen of the bot for a moment: that it types."""
        seen = [{"chat_id": chat, "action": action} for chat, action in self._ledger.actions]
        return answer({"actions": seen, "count": len(seen)})

    async def raw_email(self, request: web.Request) -> web.StreamResponse:
        number = request.match_info["id"]
        raw = self._ledger.raw(ReceivedMail, int(number)) if number.isdecimal() and len(number) <= 18 else None
        if raw is None:
            raise web.HTTPNotFound
        headers = {"Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff"}
        return web.Response(body=raw, content_type="message/rfc822", headers=headers)

    async def file(self, request: web.Request) -> web.StreamResponse:
        content = self._ledger.files.content(request.match_info["sha256"])
        if content is None:
            raise web.HTTPNotFound
        return shown(content, picture_type(content))

    async def act(self, act: Callable[[object], SandboxRecord], name: str, request: web.Request) -> web.StreamResponse:
        return answer({name: act(await read_json(request)).listing()})

    async def type_message(self, request: web.Request) -> web.StreamResponse:
        kept = self._person.type_message(await read_json(with_room(request)))
        numbers = {"message_ids": [one.number for one in kept]} if len(kept) > 1 else {}
        return answer({"message": kept[0].listing(), "message_id": kept[0].number, **numbers})

    async def be_away(self, request: web.Request) -> web.StreamResponse:
        self._person.be_away(await read_json(request))
        return answer({"status": "ok"})

    async def write_email(self, request: web.Request) -> web.StreamResponse:
        kept = self._person.write(await read_json(with_room(request)))
        return answer({"message": kept.listing(), "message_id": kept.message_id})

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


def _chat(kind: type[SandboxRecord], request: web.Request) -> str | None:
    return None if kind is ReceivedMail else request.query.get("chat_id")
