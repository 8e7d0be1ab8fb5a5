"""An intent is taken in whole, even when the store goes away in the middle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.intents.office import MINT, Office, delivered

from postroom.intents.directory import Acting
from postroom.intents.gateway import NOT_CERTAIN, NOT_VERIFIED, IntentReplies
from postroom.intents.model import AgentIntent, IntentChange, IntentStatus, WaitingReason
from postroom.intents.store import StoredIntents
from postroom.kernel.values.errors import StoreUnavailable
from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.message.inbound import Assurance, InboundReply
from postroom.people.model import NewPerson, Person

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
    assert [one.message for one in thread.messages] == ["Which?"]


async def test_an_old_answer_that_is_sent_again_does_not_answer_a_newer_question(office: Office) -> None:
    first = await office.ask(ANN, "Late?")
    await office.ask(first.from_agent, "Ten minutes", **answer_to(first))
    await office.clock.advance(1)
    second = await office.ask(ANN, "Still late?", correlation_id=first.correlation_id)

    await office.ask(first.from_agent, "Ten minutes", **answer_to(first))

    assert (await office.now(second)).is_open


# An answer finds the intent it belongs to.

GROUP = "-100500"
APPROVAL = {"macro_id": "macro.approval.v1"}


async def take(office: Office, intent: AgentIntent, reply: InboundReply) -> AgentIntent | None:
    """What becomes of a reply to a message that was sent for this intent."""
    await delivered(office.database, intent.id, reply.address, reply.provider_id)
    replies = IntentReplies(
        store=office.store,
        directory=office.threads.directory,
        outbound=office.post,
        signal=office.times.wake,
        clock=office.clock,
        mint=MINT.mint,
    )
    return await replies.take(reply)


def written(sender: str, text: str = "Here I am", chat: str | None = None, **more: Any) -> InboundReply:
    place = chat or sender
    return InboundReply(
        channel="telegram", address=place, sender=sender, provider_id="7", text=text, thread=f"{place}:8", **more
    )


async def test_in_a_group_only_the_person_asked_answers(office: Office) -> None:
    bob = await office.person("Bob", telegram="2001")
    family = await office.person("Family", telegram=GROUP)
    recipients = [bob.agent_address, family.agent_address]
    workflow = {"macro_id": "macro.ask_first_answer.v1", "params": {"recipients": recipients}}
    intent = await office.ask(bob.agent_address, workflow=workflow)
    await office.work()

    assert await take(office, intent, written("6666", chat=GROUP)) is None
    assert await take(office, intent, written("100500", chat=GROUP)) is None
    assert (await office.now(intent)).is_open
    answered = await take(office, intent, written("2001", chat=GROUP))

    assert answered is not None and answered.result is not None
    assert answered.result["responded_by"] == bob.agent_address


async def test_a_person_who_is_in_nobodys_book_any_more_answers_nothing(office: Office) -> None:
    bob = await office.person("Bob", telegram="2001")
    intent = await office.ask(bob.agent_address)
    await office.contacts.delete(HOUSEHOLD_OWNER, bob.id)

    assert await take(office, intent, written("2001")) is None


async def test_less_than_the_exact_word_approves_nothing(office: Office) -> None:
    for text in ("ok", "OK!", "👍", "okay", "agreed", "да", "yes please", "I approve"):
        intent = await office.ask(HOUSEHOLD_OWNER, "May I?", sender="agent://x/y", workflow=APPROVAL)

        seen = await take(office, intent, written("1000", text))

        assert seen is not None and (seen.status, seen.result) == (IntentStatus.IN_PROGRESS, None), text


DECISIONS = {"approve": "approved", "Approve.": "approved", " reject": "rejected", "no": "rejected"}


async def test_the_word_on_the_question_decides(office: Office) -> None:
    for text, decision in DECISIONS.items():
        intent = await office.ask(HOUSEHOLD_OWNER, "May I?", sender="agent://x/y", workflow=APPROVAL)
        await office.work()

        decided = await take(office, intent, written("1000", text))

        assert '"approve" or "reject"' in office.post.sent[-1]["message"]
        assert decided is not None and decided.result is not None
        assert (decided.result["decision"], decided.result["responded_by"]) == (decision, HOUSEHOLD_OWNER), text


def proved(person: Person) -> NewPerson:
    addresses = tuple(replace(one, verified_at_us=1) for one in person.addresses)
    return NewPerson(name=person.name, addresses=addresses)


@pytest.mark.requirement("ask:intent-deciders")
async def test_one_who_has_not_proved_the_address_decides_nothing_and_hears_why_once(office: Office) -> None:
    bob = await office.person("Bob", telegram="2001")
    intent = await office.ask(bob.agent_address, "May I?", workflow=APPROVAL)
    await office.work()

    for word in ("approve", "reject", "well"):
        seen = await take(office, intent, written("2001", word))
        assert seen is not None and (seen.status, seen.result) == (IntentStatus.IN_PROGRESS, None)

    thread = await office.threads.inbox.messages(intent.id)
    assert [one.message for one in thread] == ["approve", "reject", "well"]
    letter, *told = office.post.sent
    assert "address has to be verified first" in letter["message"]
    assert {(one["message"], one["key"]) for one in told} == {(NOT_VERIFIED, f"{intent.id}:not_decided:telegram:2001")}
    await office.contacts.change(HOUSEHOLD_OWNER, bob.id, proved, now_us=office.clock.now_us())
    decided = await take(office, intent, written("2001", "approve"))
    assert decided is not None and decided.result is not None and decided.result["decision"] == "approved"


@pytest.mark.requirement("ask:intent-deciders")
async def test_a_sender_that_could_be_forged_decides_nothing(office: Office) -> None:
    intent = await office.ask(HOUSEHOLD_OWNER, "May I?", sender="agent://x/y", workflow=APPROVAL)
    await office.work()

    seen = await take(office, intent, written("1000", "approve", assurance=Assurance.LOW))

    assert seen is not None and (seen.status, seen.result) == (IntentStatus.IN_PROGRESS, None)
    assert office.post.sent[-1]["message"] == NOT_CERTAIN
