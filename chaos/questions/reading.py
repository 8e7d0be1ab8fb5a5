"""Read questions back as the ledger, the phone and the journal have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from tests.support.worlds import world_of

from chaos import journal
from chaos.journal import Step
from chaos.offset_clock import OffsetClock
from chaos.questions.house import ASKER
from chaos.questions.mailbox import Mailbox
from chaos.questions.phone import Message, Phone, is_pressable
from chaos.questions.steps import Way
from chaos.questions.way_back import Asked, WayBack, judged
from chaos.rig import Rig
from postroom.household.questions import AskingParts
from postroom.household.store import Store, connect_store
from postroom.kernel.values.ids import DeliveryId
from postroom.questions.model import Question, VerdictKind
from postroom.settings.load import load

_PAGE = 200


async def way_back(rig: Rig, said: Mapping[str, str | None], way: Way = Way.PRESS) -> WayBack:
    """`said` is what the person did about each question, by its token."""
    async with _opened(rig) as (store, parts):
        listed = await _listed(parts)
        return judged([await _asked(rig, store, parts, token, word, listed, way) for token, word in said.items()])


async def attempts_on(rig: Rig, token: str) -> int:
    """How many are kept, whatever became of them."""
    async with _opened(rig) as (_, parts):
        question = await parts.store.by_key(str(ASKER), token)
        return len(await parts.store.attempts(question.id)) if question else 0


@asynccontextmanager
async def _opened(rig: Rig) -> AsyncIterator[tuple[Store, AskingParts]]:
    settings, _ = load(rig.environment)
    store = connect_store(settings)
    try:
        yield store, AskingParts(world_of(settings, store, clock=OffsetClock()))
    finally:
        await store.database.close()


async def _asked(
    rig: Rig, store: Store, parts: AskingParts, token: str, said: str | None, listed: Counter[str], way: Way
) -> Asked:
    question = await parts.store.by_key(str(ASKER), token)
    if question is None:
        raise RuntimeError(f"the question {token} is not in the ledger")
    cards = await (Mailbox if way is Way.MAIL else Phone)(rig.provider).cards(token)
    attempts = await parts.store.attempts(question.id)
    heard = [one.detail for one in journal.read(rig.journal) if one.token == token and one.step is Step.HEARD]
    return Asked(
        token=token,
        said=said,
        answer=question.answer.value if question.answer else None,
        winners=sum(one.verdict.kind is VerdictKind.ACCEPTED for one in attempts),
        copies=len(cards),
        pressable=sum(map(_asks_on, cards)),
        marked=await _is_marked(store, parts, question),
        heard=heard,
        listed=listed[question.id],
    )


def _asks_on(card: Message) -> bool:
    return is_pressable(card) or "answered by" not in card["text"]


async def _is_marked(store: Store, parts: AskingParts, question: Question) -> bool:
    ids = [one.delivery_id for one in await parts.world.store.presentations.of(question.id) if one.delivery_id]
    found = [await store.ledger.get(DeliveryId(one)) for one in ids]
    return any(one.possible_duplicate for one in found if one)


async def _listed(parts: AskingParts) -> Counter[str]:
    """As an agent that was dead asks what it missed: from the beginning, page by page."""
    found: Counter[str] = Counter()
    cursor: str | None = None
    while True:
        page = await parts.asking.answers(ASKER, since=cursor, limit=_PAGE)
        found.update(view.question.id for view in page.views)
        if len(page.views) < _PAGE:
            return found
        cursor = page.cursor
