"""An intent is taken in whole, even when the store goes away in the middle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.work.intents.conftest import MINT, Office

from postroom.intents.adapt import Acting
from postroom.intents.model import AgentIntent, IntentChange, IntentStatus, WaitingReason
from postroom.intents.store import StoredIntents
from postroom.kernel.values.errors import StoreUnavailable
from postroom.kernel.values.principal import HOUSEHOLD_OWNER

ANN = "agent://user/ann"
AS_OWNER = Acting(HOUSEHOLD_OWNER, by_person=True)


class LostInBetween(StoredIntents):
    """A store that keeps an intent and is then away for one write."""

    is_away = True

    async def update(self, intent_id: str, decide: Callable[[AgentIntent], IntentChange]) -> IntentChange:
        if self.is_away:
            self.is_away = False
            raise StoreUnavailable("gone for a moment")
        return await super().update(intent_id, decide)


def answer_to(ask: AgentIntent, **more: Any) -> dict[str, Any]:
    return {
        "sender": ANN,
        "intent_type": "intent.reply.v1",
        "correlation_id": ask.correlation_id,
        "idempotency_key": "reply-0001",
        **more,
    }


async def test_an_answer_that_is_sent_again_counts_when_the_first_time_was_cut_short(office: Office) -> None:
    ask = await office.ask(ANN, "Late?")
    office.intake = replace(office.intake, store=LostInBetween(office.database, MINT.mint))
    with pytest.raises(StoreUnavailable):
        await office.ask(ask.from_agent, "Ten minutes", **answer_to(ask))
    assert (await office.now(ask)).is_open

    await office.ask(ask.from_agent, "Ten minutes", **answer_to(ask))

    ended = await office.now(ask)
    assert (ended.status, ended.result and ended.result["answer"]) == (IntentStatus.COMPLETED, "Ten minutes")


async def test_a_question_back_that_is_sent_again_is_asked_once(office: Office) -> None:
    ask = await office.ask(ANN, "Late?")
    unclear = answer_to(ask, status="needs_clarification", clarification_question="Which train?")

    for _ in range(2):
        await office.ask(ask.from_agent, "Which?", **unclear)

    thread = await office.threads.thread(AS_OWNER, ask.id)
    assert (await office.now(ask)).waiting_reason is WaitingReason.AGENT
    assert [one["message"] for one in thread["messages"]] == ["Which?"]


async def test_an_old_answer_that_is_sent_again_does_not_answer_a_newer_question(office: Office) -> None:
    first = await office.ask(ANN, "Late?")
    await office.ask(first.from_agent, "Ten minutes", **answer_to(first))
    await office.clock.advance(1)
    second = await office.ask(ANN, "Still late?", correlation_id=first.correlation_id)

    await office.ask(first.from_agent, "Ten minutes", **answer_to(first))

    assert (await office.now(second)).is_open
