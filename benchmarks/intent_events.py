"""How many changes of intents are written in a second, by one caller and by many at once."""

from __future__ import annotations

import asyncio
import statistics
import time
from functools import partial

from postroom.household.store import open_store
from postroom.intents.model import (
    AddedMessage,
    AgentIntent,
    IntentChange,
    IntentStatus,
    MoveContext,
    Step,
    StepKind,
    moved,
    opened,
)
from postroom.intents.store import StoredIntents
from postroom.kernel.values.ids import IdMint
from postroom.settings import Settings

CALLERS = (1, 10)
INTENTS = 400
ROUNDS = 5
_CHANGES = 3  # opened, delivered, answered: each a commit, five events and a message in all
_ASKER, _ASKED = "agent://bench/ann", "agent://bench/bob"
_MINT = IdMint()


async def measure(settings: Settings) -> dict[int, float]:
    """Changes a second for each number of callers, medians; the first round warms up and does not count."""
    async with open_store(settings) as store:
        intents = StoredIntents(store.database, _MINT.mint)
        rates = {callers: [await _rate(intents, callers) for _ in range(ROUNDS + 1)][1:] for callers in CALLERS}
    return {callers: statistics.median(found) for callers, found in rates.items()}


async def _rate(intents: StoredIntents, callers: int) -> float:
    started = time.perf_counter()
    await asyncio.gather(*(_pursue(intents, INTENTS // callers) for _ in range(callers)))
    return INTENTS * _CHANGES / (time.perf_counter() - started)


async def _pursue(intents: StoredIntents, count: int) -> None:
    for _ in range(count):
        intent, _ = await intents.insert(opened(_new(), _moment(_ASKER)))
        await intents.update(intent.id, partial(moved, goal=IntentStatus.DELIVERED, moment=_moment(_ASKED)))
        await intents.update(intent.id, _answered)


def _answered(intent: AgentIntent) -> IntentChange:
    says = AddedMessage(_ASKED, "Ten minutes")
    return moved(intent, IntentStatus.COMPLETED, _moment(_ASKED), result={"answer": "Ten minutes"}, says=says)


def _moment(actor: str) -> MoveContext:
    return MoveContext(_now_us(), actor, _MINT.mint)


def _now_us() -> int:
    return time.time_ns() // 1000


def _new() -> AgentIntent:
    now = _now_us()
    return AgentIntent(
        id=_MINT.mint(now),
        intent_type="intent.ask.v1",
        correlation_id=_MINT.mint(now),
        from_agent=_ASKER,
        to_agent=_ASKED,
        handler=_ASKED,
        payload={"question": "How late is the train?"},
        metadata={},
        idempotency_key=None,
        fingerprint="benchmark",
        submitted_by="benchmark",
        reply_to=None,
        deadline_at_us=None,
        macro_id=None,
        status=IntentStatus.CREATED,
        waiting_reason=None,
        seq=0,
        plan=(Step(StepKind.ASK, now, _ASKED),),
        position=0,
        next_at_us=None,
        carried=False,
        result=None,
        created_at_us=now,
        updated_at_us=now,
    )
