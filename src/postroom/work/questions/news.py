"""What happens to questions, for those who subscribed to it over HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from postroom.domain.agent_address import HOUSEHOLD_OWNER, user_address
from postroom.domain.principal import OPERATOR, OWNER, Principal, Role
from postroom.domain.question_change import QuestionEvent
from postroom.domain.time import to_text
from postroom.domain.webhook import News, WebhookEvent
from postroom.system.signal import Signal
from postroom.work.questions.asking import for_others
from postroom.work.questions.records import EventFeed, Plans
from postroom.work.questions.view import QuestionView

_TOLD = frozenset(WebhookEvent)


class Subscribers(Protocol):
    async def tell(self, news: News) -> None:
        """To each who wants it, once however often it is told."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionNews:
    """
    Told to subscriptions for the agent that asked, and for the people who are asked.

    `agents` are the addresses of a principal, `document` is the one shape of a question.
    """

    feed: EventFeed
    plans: Plans
    subscribers: Subscribers
    agents: Callable[[Principal], Sequence[str]]
    document: Callable[[QuestionView], Mapping[str, Any]]
    signal: Signal

    async def take(self, event: QuestionEvent) -> None:
        question = await self.feed.get(event.question_id) if str(event.type) in _TOLD else None
        if question is None:
            return
        shown = await self.plans.of(question.id)
        asker = principal_of(question.asker)
        askers = self.agents(asker) if asker else ()
        for agent in dict.fromkeys([*askers, *(_address(person.id) for person in question.people)]):
            seen = question if agent in askers else for_others(question)
            view = QuestionView(question=seen, presentations=shown)
            await self.subscribers.tell(self._news(event, agent, view))
        self.signal.ring()

    def _news(self, event: QuestionEvent, agent: str, view: QuestionView) -> News:
        identity = f"ask-{event.position:020d}"
        body = {
            "event_id": identity,
            "event_type": str(event.type),
            "owner_agent": agent,
            "at": to_text(event.at_us),
            "ask": dict(self.document(view)),
        }
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        kind = WebhookEvent(str(event.type))
        return News(id=identity, owner_agent=agent, type=kind, body=text, at_us=event.at_us)


def principal_of(asker: str) -> Principal | None:
    """As it is written with a question; None when the household itself asks, about an approval or for an intent."""
    role, _, name = asker.partition(":")
    if asker == str(OPERATOR):
        return OPERATOR
    return Principal(Role(role), name) if role in set(Role) else None


def _address(person_id: str) -> str:
    return HOUSEHOLD_OWNER if person_id == OWNER else user_address(person_id)
