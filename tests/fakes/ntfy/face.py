"""
Below /ntfy/: publishing, reading and subscribing, as ntfy documents them, as far as the channel and a telephone do it.

Any token is accepted, and so is none. A telephone shows of several messages with one sequence
id the last; the others are listed as deleted, and are still served to those who read the topic.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from aiohttp import web

from postroom.kernel.running.loop import Signal
from postroom.sandbox.faults import cut
from tests.fakes.face import FaceParts
from tests.fakes.ledger import KEPT_MESSAGES, FaceLedger
from tests.fakes.ntfy import errors
from tests.fakes.ntfy.errors import NtfyRefusal
from tests.fakes.ntfy.kept import KEPT_SECONDS, event_of, kept_since, name_of
from tests.fakes.ntfy.publishing import checked, published
from tests.fakes.record import FaceButton, FaceMessage, PressedKey, Wrote

_ROOT: Final = "/ntfy"
_PUBLISHED_TO: Final = re.compile(r"https?://[^/]+(?:/[^?#]*)?/ntfy/(?P<topic>[-_A-Za-z0-9]{1,64})/?")

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class NtfyFace:
    name: Final = "ntfy"

    def __init__(self, parts: FaceParts) -> None:
        self._parts = parts
        self._news = Signal()

    @property
    def ledger(self) -> FaceLedger:
        return self._parts.ledger

    def routes(self) -> Sequence[web.RouteDef]:
        table: list[tuple[str, str, Handler]] = [
            ("GET", "/v1/account", self.account),
            ("GET", "/{topic}/json", self.subscribe),
            ("DELETE", "/{topic}/{sequence_id}", self.delete),
            *((verb, path, self.publish) for verb in ("POST", "PUT") for path in ("/", "/{topic}")),
        ]
        return [web.route(verb, f"{_ROOT}{path}", _in_its_words(handler)) for verb, path, handler in table]

    def buttons(self, message: FaceMessage) -> Sequence[FaceButton]:
        return [
            FaceButton(label=action["label"], data=action.get("body") or action["id"])
            if action["action"] == "http"
            else FaceButton(label=action["label"], url=action.get("url"))
            for action in message.body.get("actions", ())
        ]

    async def written(self, wrote: Wrote) -> FaceMessage:
        topic, event = checked({"topic": wrote.place, "message": wrote.text})
        return self._keep(topic, event, from_person=True, author=wrote.author or "")

    async def pressed(self, pressed: PressedKey) -> dict[str, Any]:
        """The telephone makes the request of the button; here it can only reach this very server."""
        label = pressed.button.label
        action = next(one for one in pressed.message.body["actions"] if one["label"] == label)
        called = _PUBLISHED_TO.fullmatch(action["url"])
        assert called is not None, "the button calls another server"
        topic, event = checked({"topic": called["topic"], "message": action.get("body")})
        kept = self._keep(topic, event, from_person=True, author=pressed.author or "")
        return {"topic": topic, "message_id": kept.message_id, "cleared": bool(action.get("clear"))}

    async def account(self, request: web.Request) -> web.StreamResponse:
        name, role = ("sandbox", "user") if "Authorization" in request.headers else ("*", "anonymous")
        limits = {"basis": "ip", "messages_expiry_duration": KEPT_SECONDS}
        return web.json_response({"username": name, "role": role, "limits": limits})

    async def publish(self, request: web.Request) -> web.StreamResponse:
        spoiled = self._parts.spoiled("ntfy")
        if spoiled.status is not None:
            return errors.of_fault(spoiled.status, spoiled.retry_after)
        topic, event = await published(request, self._parts.files)
        if not await spoiled.before():
            return cut(request)
        kept = self._keep(topic, event)
        return web.json_response(event_of(kept)) if await spoiled.after() else cut(request)

    async def delete(self, request: web.Request) -> web.StreamResponse:
        """An event of its own, that no telephone shows."""
        topic, event = checked({"topic": request.match_info["topic"], "sequence_id": request.match_info["sequence_id"]})
        kept = self.ledger.delete(self._keep(topic, {**event, "event": "message_delete", "message": ""}))
        return web.json_response(event_of(kept))

    async def subscribe(self, request: web.Request) -> web.StreamResponse:
        topic, poll, since = request.match_info["topic"], "poll" in request.query, request.query["since"]
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson; charset=utf-8"})
        news, last, old = self._news.news(), self._last(), kept_since(since, self._after(topic, 0))
        await response.prepare(request)
        await _write(response, [event_of(one) for one in old])
        if not poll:
            await self._stream(response, topic, news, last)
        return response

    async def _stream(self, response: web.StreamResponse, topic: str, news: asyncio.Event, last: int) -> None:
        """Until one side goes away."""
        while await self._rung(news):
            news, new = self._news.news(), self._after(topic, last)
            last = max([last, *(one.number for one in new)])
            await _write(response, [event_of(one) for one in new])

    async def _rung(self, news: asyncio.Event) -> bool:
        """False: the server stops."""
        waiting = [asyncio.ensure_future(one.wait()) for one in (news, self._parts.stopping)]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            return not self._parts.stopping.is_set()
        finally:
            for one in waiting:
                one.cancel()

    def _keep(
        self, topic: str, event: Mapping[str, Any], *, from_person: bool = False, author: str = ""
    ) -> FaceMessage:
        before = self._shown(topic, event.get("sequence_id"))
        kept = self.ledger.keep(
            place=topic,
            text=str(event.get("message", "")),
            body=event,
            name=name_of,
            now_us=self._parts.clock.now_us(),
            from_person=from_person,
            author=author,
            thread=event.get("sequence_id"),
        )
        for one in before:
            self.ledger.delete(one)
        self._news.ring()
        return kept

    def _shown(self, topic: str, sequence_id: str | None) -> list[FaceMessage]:
        """The first message of a sequence may have none: then it is called by its own id."""
        if sequence_id is None:
            return []
        first = self.ledger.find(sequence_id, topic)
        found = self.ledger.in_thread(topic, sequence_id) + ([first] if first else [])
        return [one for one in found if not one.is_deleted]

    def _after(self, topic: str, number: int) -> list[FaceMessage]:
        return self.ledger.messages(place=topic, since=number, limit=KEPT_MESSAGES)

    def _last(self) -> int:
        return max((one.number for one in self.ledger.messages(limit=1)), default=0)


def _in_its_words(handler: Handler) -> Handler:
    async def answered(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request)
        except NtfyRefusal as error:
            return error.error.answer()

    return answered


async def _write(response: web.StreamResponse, events: Sequence[Mapping[str, Any]]) -> None:
    if events:
        await response.write("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in events).encode())
