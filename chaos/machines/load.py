"""Callers who never give up, and questions that are answered on two machines at the same moment."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import aiohttp

from chaos.journal import Journal, Step
from chaos.machines.site import Site, Stand
from chaos.questions.asker_process import request
from chaos.questions.phone import Phone
from chaos.questions.rival_process import VALUES

_CALLERS: Final = 6
_PACE_SECONDS: Final = 0.1
_AGAIN_SECONDS: Final = 0.1
_LOOK_SECONDS: Final = 0.5
_PATIENCE: Final = aiohttp.ClientTimeout(total=3.0)
_WRONG: Final = (400, 401, 403, 404, 422)


class Load:
    """A call that fails is repeated with its key, on the next machine, until it is taken."""

    def __init__(self, place: Site, session: aiohttp.ClientSession) -> None:
        self._place = place
        self._session = session
        self._journal = Journal(place.rig.journal)
        self._phone = Phone(place.rig.provider)
        self._tokens = {name: place.token(name) for name in ("operator", "general")}
        self._stopping = False
        self.accepted = 0
        self.repeated = 0

    async def caller(self, name: int) -> None:
        for turn in itertools.count(name):
            if self._stopping:
                return
            package = self._place.rig.package()
            body = {"channel": "telegram", "to": package.address, "message": f"#{package.token}/1# Hello."}
            await self._call("POST", "/v1/notify", turn, body | {"idempotency_key": package.token, "wait_seconds": 0})
            self._journal.note(Step.ANSWER, package.token, "stored")
            self.accepted += 1
            await asyncio.sleep(_PACE_SECONDS)

    async def reach(self, more: int, seconds: float = 240.0) -> None:
        wanted = self.accepted + more
        async with asyncio.timeout(seconds):
            while self.accepted < wanted:
                await asyncio.sleep(_PACE_SECONDS)

    def stop(self) -> None:
        self._stopping = True

    async def question(self, token: str, doors: tuple[Stand, Stand], *, by_phone: bool = False, **more: Any) -> None:
        """Asked by an agent, pressed on two machines with different words, and heard on both."""
        asked = await self._call("POST", "/v1/asks", 0, request(token) | {"wait_seconds": 0} | more, asker=True)
        while not (cards := await self._phone.cards(token)):  # a machine that is away may have it in its hands
            await asyncio.sleep(_LOOK_SECONDS)
        presses = [self._answer(asked["ask_id"], token, door, value) for door, value in zip(doors, VALUES, strict=True)]
        pressed = [self._phone.press_if_there(cards[0], VALUES[0])] if by_phone else []
        await asyncio.gather(*presses, *pressed)
        for door in doors:
            await self._heard(asked["ask_id"], token, door)

    async def unanswered(self, token: str, deadline_seconds: int) -> None:
        """Until its deadline has ended it."""
        body = request(token) | {"wait_seconds": 0, "deadline_seconds": deadline_seconds}
        asked = await self._call("POST", "/v1/asks", 0, body, asker=True)
        while (await self._call("GET", f"/v1/asks/{asked['ask_id']}?wait=1", 0, asker=True))["status"] == "open":
            await asyncio.sleep(_PACE_SECONDS)

    async def _answer(self, ask_id: str, token: str, door: Stand, value: str) -> None:
        key = {"Idempotency-Key": f"{token}-{door.machine.number}"}
        await self._call("POST", f"/v1/asks/{ask_id}/answer", None, {"value": value}, at=door, headers=key)

    async def _heard(self, ask_id: str, token: str, door: Stand) -> None:
        while True:
            found = await self._call("GET", f"/v1/asks/{ask_id}?wait=1", None, at=door, asker=True)
            if found["status"] != "open":
                break
        answer = found.get("answer") or {}
        self._journal.note(Step.HEARD, token, str(answer.get("value", found["status"])))

    async def _call(
        self,
        verb: str,
        path: str,
        turn: int | None,
        body: object = None,
        *,
        at: Stand | None = None,
        asker: bool = False,
        headers: dict[str, str] | None = None,
    ) -> dict[str, Any]:
        sender = {"Authorization": f"Bearer {self._tokens['general' if asker else 'operator']}", **(headers or {})}
        for number in itertools.count(turn or 0):
            stand = at or self._place.stands[number % len(self._place.stands)]
            answer = await self._once(verb, stand.url + path, sender, body)
            if answer is not None:
                return answer
            self.repeated += 1
            await asyncio.sleep(_AGAIN_SECONDS)
        raise AssertionError("never reached")

    async def _once(self, verb: str, url: str, headers: dict[str, str], body: object) -> dict[str, Any] | None:
        """None: try again. A question that has its answer says 409, and that is an answer, too."""
        try:
            async with self._session.request(verb, url, json=body, headers=headers, timeout=_PATIENCE) as response:
                found: dict[str, Any] = await response.json()
                if response.status in _WRONG:
                    raise RuntimeError(f"{verb} {url} is refused: {response.status} {found}")
                is_over = response.status == 409 and url.endswith("/answer")
                return found if response.ok or is_over else None
        except (aiohttp.ClientError, TimeoutError, ValueError):
            return None


@asynccontextmanager
async def load(place: Site) -> AsyncIterator[Load]:
    """The callers, until it ends; then each has its last answer."""
    async with aiohttp.ClientSession() as session:
        found = Load(place, session)
        async with asyncio.TaskGroup() as callers:
            for name in range(_CALLERS):
                callers.create_task(found.caller(name))
            try:
                yield found
            finally:
                found.stop()
