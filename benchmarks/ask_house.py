"""Questions put together as in a household, on a phone that does nothing but say when it was handed a card."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.worlds import world_of

from benchmarks.plane import LIFTED, NoChannel
from postroom.conversations.inbound import Inbound
from postroom.delivery.accept import Plane
from postroom.household.delivery import running_plane
from postroom.household.questions import AskingParts, hearing, presenting
from postroom.household.store import open_store
from postroom.kernel.acts.reading import made
from postroom.kernel.values.principal import Principal, Role
from postroom.message.delivery import Message, Receipt
from postroom.message.inbound import Listened, Press
from postroom.questions.acts import AskPeople
from postroom.settings.load import load

ASKER = Principal(Role.BUTLER, "health")
OWNER_CHAT = "1000"  # in a sandbox household the owner's phone is known
_SECONDS = 60.0


class PhoneChannel(NoChannel):
    """Cards arrive at once; a press is heard at once."""

    def __init__(self) -> None:
        super().__init__()
        self.arrived: dict[str, asyncio.Future[tuple[float, Message]]] = {}
        self._presses: asyncio.Queue[Press] = asyncio.Queue()
        self._number = 0

    def expect(self, word: str) -> asyncio.Future[tuple[float, Message]]:
        """When and what the provider was handed first that has this word in it."""
        return self.arrived.setdefault(word, asyncio.get_running_loop().create_future())

    async def send(self, part: Message, timeout_seconds: float) -> Receipt:
        handed = time.perf_counter()
        self._number += 1
        waiting = self.arrived.get(word_in(part.text))
        if waiting is not None and not waiting.done():
            waiting.set_result((handed, part))
        return Receipt(str(self._number))

    def press(self, card: Message) -> None:
        assert card.markup is not None
        token = card.markup.buttons[0][0].token
        assert token is not None
        self._number += 1
        press = Press(
            channel=self.name,
            event_id=f"press:{self._number}",
            callback_id=str(self._number),
            places=(OWNER_CHAT,),
            sender=OWNER_CHAT,
            token=token,
        )
        self._presses.put_nowait(press)

    async def listen(self, position: int | None, timeout_seconds: float) -> Listened:
        events = [await self._presses.get()] if timeout_seconds else []
        while not self._presses.empty():
            events.append(self._presses.get_nowait())
        return Listened(events=events, position=(position or 0) + len(events) if events else None)

    async def answer_press(self, callback_id: str, text: str = "", *, alert: bool = False) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class AskHouse:
    parts: AskingParts
    plane: Plane
    phone: PhoneChannel
    stored: dict[str, float]  # the moment at which each question was committed, by its id
    decided: dict[str, float]

    async def ask(self, word: str) -> str:
        view = await self.parts.asking.ask(ASKER, made(AskPeople, **question(word)).request(), wait_seconds=0)
        return view.question.id

    async def waited(self, ask_id: str) -> float:
        """The moment at which a caller that waits has the answer."""
        view = await self.parts.asking.wait(ASKER, ask_id=ask_id, wait_seconds=_SECONDS)
        assert not view.question.is_open
        return time.perf_counter()


def question(word: str) -> dict[str, Any]:
    return {"question": f"{word} Ship it?", "options": ["yes", "no"], "channels": ["telegram"], "idempotency_key": word}


def word_in(text: str) -> str:
    return next((word for word in text.split() if word.startswith("#")), "")


@asynccontextmanager
async def ask_house(home: Path, database: str) -> AsyncIterator[AskHouse]:
    settings, _ = load({}, overrides(home, database))
    phone = PhoneChannel()
    async with open_store(settings) as store:
        world = world_of(settings, store)
        parts = AskingParts(world)
        house = _timed(parts, phone)
        async with (
            running_plane(world, {"telegram": phone}) as plane,
            presenting(parts, plane),
            hearing(parts, {"telegram": phone}, plane) as ear,
        ):
            ear.watch.expect("telegram")
            inbound = Inbound(
                source="telegram",
                bot=phone,
                offsets=store.marks,
                handlers=[ear.handle],
                clock=world.clock,
                watch=ear.watch,
            )
            async with world.loops.running("inbound:telegram", inbound.look, cut_off=True):
                yield AskHouse(parts=parts, plane=plane, phone=phone, stored=house[0], decided=house[1])


def _timed(parts: AskingParts, phone: PhoneChannel) -> Sequence[dict[str, float]]:
    """From now on the moments of the two commits are noted."""
    stored: dict[str, float] = {}
    decided: dict[str, float] = {}
    ask, hear = parts.store.ask, parts.store.hear

    async def asked(question: Any, planned: Any = None) -> Any:
        found = await ask(question, planned)
        stored[found.question.id] = time.perf_counter()
        return found

    async def heard(attempt: Any, judge: Any, ride: Any = None) -> Any:
        found = await hear(attempt, judge, ride)
        decided.setdefault(attempt.question_id, time.perf_counter())
        return found

    parts.store.ask, parts.store.hear = asked, heard  # type: ignore[method-assign]
    return stored, decided


def overrides(home: Path, database: str) -> dict[str, Any]:
    return {
        "home": str(home),
        "database_url": database or None,
        "sandbox": True,
        "limits.global_per_minute": LIFTED,
        "limits.in_flight": LIFTED,
        "limits.recipient_per_minute": LIFTED,
        "limits.channels": {"telegram.bot": LIFTED},
        "questions.open_per_asker": LIFTED,
        "delivery.telegram_chat_interval_seconds": 0,
        "delivery.slots_per_channel": 256,
    }
