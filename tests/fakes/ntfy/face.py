"""
Below /ntfy/: publishing, reading and subscribing, as ntfy documents them; accounts, files and delays are left out.

Any token that begins with `tk_` is accepted, and so is none. A telephone shows of several messages with one sequence
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
from postroom.kernel.values.errors import ValidationError
from postroom.kernel.values.ids import SECOND_US, seconds
from postroom.sandbox.faults import cut
from tests.fakes.face import FaceParts
from tests.fakes.ledger import KEPT_MESSAGES, FaceLedger
from tests.fakes.ntfy import errors
from tests.fakes.ntfy.errors import NtfyRefusal
from tests.fakes.ntfy.kept import KEPT_SECONDS, Since, event_of, name_of, read_since
from tests.fakes.ntfy.publishing import checked, published
from tests.fakes.record import FaceButton, FaceMessage, PressedKey, Wrote

KEEPALIVE_SECONDS: Final = 45.0
_ROOT: Final = "/ntfy"
_TOPICS: Final = re.compile(r"[-_A-Za-z0-9]{1,64}(,[-_A-Za-z0-9]{1,64})*")
_YES: Final = ("1", "yes", "true")
_PUBLISHED_TO: Final = re.compile(r"https?://[^/]+(?:/[^?#]*)?/ntfy/(?P<topic>[-_A-Za-z0-9]{1,64})/?")
_GONE: Final = {"clear": "message_clear", "delete": "message_delete"}

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
            ("GET", "/v1/health", self.health),
            ("GET", "/v1/account", self.account),
            ("GET", "/{topics}/json", self.subscribe),
            ("GET", "/{topics}/auth", self.may_read),
            ("GET", "/{topic}/publish", self.publish),
            ("GET", "/{topic}/send", self.publish),
            ("GET", "/{topic}/trigger", self.publish),
            ("PUT", "/{topic}/{sequence_id}/clear", self.clear),
            ("DELETE", "/{topic}/{sequence_id}", self.delete),
            *((verb, path, self.publish) for verb in ("POST", "PUT") for path in _PUBLISHING),
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
        try:
            topic, event = checked({"topic": wrote.place, "message": wrote.text})
        except NtfyRefusal as error:
            raise ValidationError(error.error.words) from None
        return self._keep(topic, event, from_person=True, author=wrote.author or "")

    async def pressed(self, pressed: PressedKey) -> dict[str, Any]:
        """The telephone makes the request of the button; here it can only reach this very server."""
        label = pressed.button.label
        action = next(one for one in pressed.message.body["actions"] if one["label"] == label)
        called = _PUBLISHED_TO.fullmatch(action["url"])
        if called is None or action.get("method", "POST") not in ("POST", "PUT"):
            raise ValidationError("the button calls another server, which the sandbox does not")
        topic, event = checked({"topic": called["topic"], "message": action.get("body")})
        kept = self._keep(topic, event, from_person=True, author=pressed.author or "")
        return {"topic": topic, "message_id": kept.message_id, "cleared": bool(action.get("clear"))}

    async def health(self, request: web.Request) -> web.StreamResponse:
        return web.json_response({"healthy": True})

    async def account(self, request: web.Request) -> web.StreamResponse:
        name, role = ("sandbox", "user") if _authorised(request) else ("*", "anonymous")
        limits = {"basis": "ip", "messages_expiry_duration": KEPT_SECONDS}
        return web.json_response({"username": name, "role": role, "limits": limits})

    async def may_read(self, request: web.Request) -> web.StreamResponse:
        _authorised(request)
        return web.json_response({"success": True})

    async def publish(self, request: web.Request) -> web.StreamResponse:
        _authorised(request)
        spoiled = self._parts.spoiled("ntfy")
        if spoiled.status is not None:
            return errors.of_fault(spoiled.status, spoiled.retry_after)
        topic, event = await published(request, self._parts.files)
        if not await spoiled.before():
            return cut(request)
        kept = self._keep(topic, event)
        return web.json_response(event_of(kept)) if await spoiled.after() else cut(request)

    async def clear(self, request: web.Request) -> web.StreamResponse:
        return self._take_away(request, "clear")

    async def delete(self, request: web.Request) -> web.StreamResponse:
        return self._take_away(request, "delete")

    async def subscribe(self, request: web.Request) -> web.StreamResponse:
        _authorised(request)
        topics = request.match_info["topics"]
        if not _TOPICS.fullmatch(topics):
            raise NtfyRefusal(errors.TOPIC)
        poll = request.query.get("poll", "").lower() in _YES
        since = read_since(request.query.get("since", ""), poll=poll, now_us=self._parts.clock.now_us)
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson; charset=utf-8"})
        news, last, old = self._news.news(), self._last(), self._since(topics, since)
        await response.prepare(request)
        if not poll:
            await _write(response, [self._sign(topics, "open")])
        await _write(response, [event_of(one) for one in old])
        if not poll:
            await self._stream(response, topics, news, last)
        return response

    async def _stream(self, response: web.StreamResponse, topics: str, news: asyncio.Event, last: int) -> None:
        """Until one side goes away."""
        while not self._parts.stopping.is_set():
            due_us = self._parts.clock.now_us() + seconds(KEEPALIVE_SECONDS)
            if not await self._rung(news, due_us):
                await _write(response, [self._sign(topics, "keepalive")])
            news, new = self._news.news(), self._after(topics, last)
            last = max([last, *(one.number for one in new)])
            await _write(response, [event_of(one) for one in new])

    async def _rung(self, news: asyncio.Event, due_us: int) -> bool:
        rung = asyncio.ensure_future(news.wait())
        late = asyncio.ensure_future(self._parts.clock.wait(self._parts.stopping, due_us))
        try:
            await asyncio.wait({rung, late}, return_when=asyncio.FIRST_COMPLETED)
            return rung.done() or self._parts.stopping.is_set()
        finally:
            rung.cancel()
            late.cancel()

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

    def _take_away(self, request: web.Request, how: str) -> web.StreamResponse:
        """An event of its own, that no telephone shows."""
        _authorised(request)
        topic, event = checked({"topic": request.match_info["topic"], "sequence_id": request.match_info["sequence_id"]})
        kept = self.ledger.delete(self._keep(topic, {**event, "event": _GONE[how], "message": ""}))
        return web.json_response(event_of(kept))

    def _shown(self, topic: str, sequence_id: str | None) -> list[FaceMessage]:
        """The first message of a sequence may have none: then it is called by its own id."""
        if sequence_id is None:
            return []
        first = self.ledger.find(sequence_id, topic)
        found = self.ledger.in_thread(topic, sequence_id) + ([first] if first else [])
        return [one for one in found if not one.is_deleted]

    def _since(self, topics: str, since: Since) -> list[FaceMessage]:
        found = [one for topic in topics.split(",") for one in since.of(self._fresh(topic, 0))]
        return sorted(found, key=lambda one: one.number)

    def _after(self, topics: str, number: int) -> list[FaceMessage]:
        found = [one for topic in topics.split(",") for one in self._fresh(topic, number)]
        return sorted(found, key=lambda one: one.number)

    def _fresh(self, topic: str, number: int) -> list[FaceMessage]:
        oldest_us = self._parts.clock.now_us() - seconds(KEPT_SECONDS)
        kept = self.ledger.messages(place=topic, since=number, limit=KEPT_MESSAGES)
        return [one for one in kept if one.at_us > oldest_us]

    def _last(self) -> int:
        return max((one.number for one in self.ledger.messages(limit=1)), default=0)

    def _sign(self, topics: str, event: str) -> dict[str, Any]:
        second = self._parts.clock.now_us() // SECOND_US
        return {"id": name_of(second % 10**11), "time": second, "event": event, "topic": topics}


_PUBLISHING: Final = ("", "/", "/{topic}", "/{topic}/{sequence_id}")


def _in_its_words(handler: Handler) -> Handler:
    async def answered(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request)
        except NtfyRefusal as error:
            return error.error.answer()

    return answered


def _authorised(request: web.Request) -> bool:
    """Whether there is a token; raises for one that is none."""
    given = request.headers.get("Authorization", "").strip()
    if given and not given.removeprefix("Bearer").strip().startswith("tk_"):
        raise NtfyRefusal(errors.UNAUTHORIZED)
    return bool(given)


async def _write(response: web.StreamResponse, events: Sequence[Mapping[str, Any]]) -> None:
    if events:
        await response.write("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in events).encode())
