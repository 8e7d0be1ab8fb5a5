"""A person's answer finds the intent it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from postroom.domain.fields import text_problem
from postroom.domain.intent import Change, Intent, IntentStatus
from postroom.domain.refused import Refused
from postroom.domain.time import to_text
from postroom.intents.bulletin import Bulletin
from postroom.intents.directory import Contacts, book_of
from postroom.intents.intake import answered
from postroom.intents.macros import APPROVAL
from postroom.intents.moves import Moment, moved, unchanged
from postroom.intents.store import IntentStore
from postroom.ports import Clock

MAX_ANSWER_CHARACTERS: Final = 5000
_YES: Final = frozenset(
    ["yes", "y", "ok", "okay", "approve", "approved", "agreed", "да", "ja", "oui", "sí", "si", "👍"]
)
_NO: Final = frozenset(["no", "n", "reject", "rejected", "deny", "denied", "нет", "nein", "non", "👎"])


@dataclass(frozen=True, slots=True, kw_only=True)
class InboundReply:
    """What somebody wrote in answer to one of our messages."""

    channel: str
    address: str
    provider_id: str
    text: str


class SentMessages(Protocol):
    async def behind(self, channel: str, address: str, provider_id: str) -> str | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Replies:
    store: IntentStore
    sent: SentMessages
    contacts: Contacts
    bulletin: Bulletin
    clock: Clock
    mint: Callable[[int], str]

    async def take(self, reply: InboundReply) -> Intent | None:
        """The intent it answered; None for strangers, for other messages, and for what has ended already."""
        text = reply.text.strip()[:MAX_ANSWER_CHARACTERS]
        if not text or text_problem(text):
            return None
        intent_id = await self.sent.behind(reply.channel, reply.address, reply.provider_id)
        if intent_id is None:
            return None
        writer = await self._writer(intent_id, reply.address)
        try:
            change = await self.store.update(intent_id, lambda found: self._answer(found, text, writer))
        except Refused:
            return None
        self.bulletin.ring()
        return change.intent

    async def _writer(self, intent_id: str, address: str) -> str | None:
        """The contact that has this address, in the book of whoever asked."""
        intent = await self.store.get(intent_id)
        contact = await self.contacts.by_address(book_of(intent.from_agent), address) if intent else None
        return contact.agent_address if contact else None

    def _answer(self, intent: Intent, text: str, writer: str | None) -> Change:
        if not intent.is_open:
            return unchanged(intent)
        actor = writer if writer in intent.asked else None
        moment = Moment(self.clock.now_us(), actor or intent.handler, self.mint)
        if intent.macro_id == APPROVAL:
            return decided_by_words(intent, text, moment)
        return answered(intent, answer_payload(text, moment), moment)


def answer_payload(text: str, moment: Moment, status: str = "answered") -> dict[str, Any]:
    return {
        "answer": text,
        "status": status,
        "responded_by": moment.actor,
        "responded_at": to_text(moment.now_us),
    }


def decided_by_words(intent: Intent, text: str, moment: Moment) -> Change:
    """Only a plain yes or no decides; anything else is kept and the question stays open."""
    word = text.casefold().strip(" .!")
    if word not in _YES | _NO:
        seen = unchanged(intent)
        if intent.status is not IntentStatus.IN_PROGRESS:
            seen = moved(intent, IntentStatus.IN_PROGRESS, moment, payload={"undecided": True})
        return Change(intent=seen.intent, events=seen.events, says={"author": moment.actor, "message": text})
    return decided(intent, approve=word in _YES, comment=text, moment=moment)


def decided(intent: Intent, *, approve: bool, comment: str, moment: Moment) -> Change:
    decision, status = ("approved", "answered") if approve else ("rejected", "declined")
    result = {**answer_payload(comment or decision, moment, status), "decision": decision}
    says = {"author": moment.actor, "message": comment or decision}
    return moved(intent, IntentStatus.COMPLETED, moment, payload={"decision": decision}, result=result, says=says)
