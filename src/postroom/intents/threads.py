"""An inbox: what was asked of an agent, what it asked others, and what became of either."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import ScalarSelect, Select, and_, func, select

from postroom.intents.directory import Acting, Directory, check_may_answer
from postroom.intents.model import (
    APPROVAL,
    FOLDERS,
    MAX_STEPS,
    UNANSWERED,
    AgentIntent,
    Details,
    Folder,
    IntentChange,
    IntentEnding,
    IntentEvent,
    IntentEventType,
    IntentStatus,
    MoveContext,
    Step,
    StepKind,
    ThreadMessage,
    answered,
    decided,
    ended_by_caller,
    given_answer,
    moved,
    noted,
    said_after,
    unchanged,
)
from postroom.intents.store import (
    StoredIntents,
    intent_events,
    intent_members,
    intent_messages,
    intents,
    read_event,
    read_intent,
)
from postroom.kernel.database.engine import Database
from postroom.kernel.database.rows import read
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Signal
from postroom.kernel.values.errors import Code, FieldError, Refused

_MOST_EVENTS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadPage:
    threads: Sequence[AgentIntent]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadStory:
    """A thread with everything that was said and done in it."""

    intent: AgentIntent
    messages: Sequence[ThreadMessage]
    events: Sequence[IntentEvent]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadChanges:
    changes: Sequence[IntentEvent]
    has_more: bool
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Threads:
    store: StoredIntents
    inbox: StoredInbox
    directory: Directory
    signal: Signal
    clock: Clock
    mint: Callable[[int], str]

    async def page(self, agent: str, folder: Folder | None, before: str | None, limit: int) -> ThreadPage:
        statuses = FOLDERS[folder] if folder else tuple(IntentStatus)
        found = await self.inbox.threads(agent, statuses, before=before, limit=limit + 1)
        shown = found[:limit]
        return ThreadPage(threads=shown, next_cursor=shown[-1].id if len(found) > limit else None)

    async def thread(self, acting: Acting, thread_id: str) -> ThreadStory:
        intent = await self.visible(acting, thread_id)
        events = await self.store.events(thread_id, since=0, limit=_MOST_EVENTS)
        return ThreadStory(intent=intent, messages=await self.inbox.messages(thread_id), events=events)

    async def changes(self, agent: str, after: str | None, limit: int) -> ThreadChanges:
        found = await self.inbox.changes(agent, after=after, limit=limit + 1)
        shown = found[:limit]
        return ThreadChanges(changes=shown, has_more=len(found) > limit, next_cursor=shown[-1].id if shown else after)

    async def visible(self, acting: Acting, intent_id: str) -> AgentIntent:
        """Whoever has nothing to do with an intent does not even learn that it exists."""
        intent = await self.store.get(intent_id)
        if intent is None or not (acting.anyone or await self.inbox.concerns(acting.agent, intent_id)):
            raise Refused(Code.INTENT_NOT_FOUND, "there is no such intent")
        return intent

    async def reply(self, acting: Acting, thread_id: str, message: str) -> AgentIntent:
        def decide(intent: AgentIntent) -> IntentChange:
            moment = self._moment(acting)
            if not intent.is_open:
                return said_after(intent, message, moment)
            check_may_answer(intent, acting)
            return answered(intent, given_answer(message, moment), moment)

        return await self._change(acting, thread_id, decide)

    async def decide(self, acting: Acting, thread_id: str, *, approve: bool, comment: str) -> AgentIntent:
        def choose(intent: AgentIntent) -> IntentChange:
            if not acting.by_person:
                raise Refused(Code.POLICY_DENIED, "only a person can approve or reject")
            check_may_answer(intent, acting)
            return decided(intent, approve=approve, comment=comment, moment=self._moment(acting))

        return await self._change(acting, thread_id, choose)

    async def delegate(self, acting: Acting, thread_id: str, delegate_to: str, note: str) -> AgentIntent:
        """Asks somebody else as well, at once."""
        known = await self.visible(acting, thread_id)
        await self.directory.find(known.from_agent, delegate_to)
        if known.macro_id == APPROVAL and not await self.directory.is_person(known.from_agent, delegate_to):
            error = "must be a person: only a person can decide this"
            raise Refused.of(Code.POLICY_DENIED, [FieldError("delegate_to", error, "policy_denied")])

        def hand_over(intent: AgentIntent) -> IntentChange:
            check_may_answer(intent, acting)
            _check_open(intent)
            moment = self._moment(acting)
            if len(intent.plan) >= MAX_STEPS:
                raise Refused(Code.ILLEGAL_TRANSITION, "this was handed on too often already")
            step = Step(StepKind.ASK, moment.now_us, delegate_to)
            plan = (*intent.plan[: intent.position], step, *intent.plan[intent.position :])
            after = replace(intent, handler=delegate_to, plan=plan, next_at_us=moment.now_us)
            return noted(after, IntentEventType.TRANSFER, moment, Details(delegate_to=delegate_to, note=note))

        return await self._change(acting, thread_id, hand_over)

    async def resolve(self, acting: Acting, intent_id: str, ending: IntentEnding) -> IntentChange:
        """COMPLETED or FAILED by whoever was asked, CANCELED by whoever asked."""

        def end(intent: AgentIntent) -> IntentChange:
            if ending.goal is not IntentStatus.CANCELED:
                check_may_answer(intent, acting)
            elif acting.agent != intent.from_agent and not acting.anyone:
                raise Refused(Code.POLICY_DENIED, "only the sender can cancel an intent")
            return ended_by_caller(intent, ending, self._moment(acting))

        await self.visible(acting, intent_id)
        change = await self.store.update(intent_id, end)
        self.signal.ring()
        return change

    async def resume(self, acting: Acting, intent_id: str, outcome: Mapping[str, Any] | None) -> AgentIntent:
        """A waiting intent goes on; with an outcome it ends."""

        def go_on(intent: AgentIntent) -> IntentChange:
            if outcome is not None or acting.agent != intent.from_agent:
                check_may_answer(intent, acting)
            moment = self._moment(acting)
            if intent.status is not IntentStatus.WAITING:
                raise Refused(Code.ILLEGAL_TRANSITION, f"an intent that is {intent.status} does not wait")
            if outcome is None:
                return moved(intent, IntentStatus.IN_PROGRESS, moment)
            return moved(intent, IntentStatus.COMPLETED, moment, result={**outcome, "responded_by": acting.actor})

        return await self._change(acting, intent_id, go_on)

    async def fetched(self, agent: str, intent: AgentIntent) -> AgentIntent:
        """An agent that reads its post has it delivered."""

        def seen(found: AgentIntent) -> IntentChange:
            moment = MoveContext(self.clock.now_us(), agent, self.mint)
            if found.status is IntentStatus.SUBMITTED and found.handler == agent:
                return moved(found, IntentStatus.DELIVERED, moment)
            return unchanged(found)

        return (await self.store.update(intent.id, seen)).intent

    async def _change(
        self, acting: Acting, intent_id: str, decide: Callable[[AgentIntent], IntentChange]
    ) -> AgentIntent:
        await self.visible(acting, intent_id)
        change = await self.store.update(intent_id, decide)
        self.signal.ring()
        return change.intent

    def _moment(self, acting: Acting) -> MoveContext:
        return MoveContext(self.clock.now_us(), acting.actor, self.mint)


def _check_open(intent: AgentIntent) -> None:
    if not intent.is_open:
        raise Refused(Code.ILLEGAL_TRANSITION, f"an intent that is {intent.status} cannot change")


# Threads as the store finds them.


class StoredInbox:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def threads(
        self, agent: str, statuses: Sequence[IntentStatus], *, before: str | None, limit: int
    ) -> Sequence[AgentIntent]:
        """Newest first."""
        asked = _of(agent).where(intents.c.status.in_([str(status) for status in statuses]))
        if before is not None:
            asked = asked.where(intents.c.id < before)
        asked = asked.order_by(intents.c.id.desc()).limit(limit)
        return await self._database.read(lambda connection: [read_intent(row) for row in connection.execute(asked)])

    async def arrived(
        self, agent: str, *, after: str | int | None, limit: int, statuses: Sequence[IntentStatus] = UNANSWERED
    ) -> Sequence[tuple[int, AgentIntent]]:
        """
        Intents put to this agent, each with its place, in the order in which they were put to it.

        `after` is a place or an intent. After one that is not known any more come all: better to show a question
        twice than never.
        """
        member = intent_members.alias()
        place = select(member.c.position).where(member.c.agent == agent, member.c.intent_id == after)
        asked = (
            _of(agent)
            .add_columns(intent_members.c.position.label("place"))
            .where(intents.c.from_agent != agent, intents.c.status.in_([str(one) for one in statuses]))
            .where(
                intent_members.c.position
                > (after if isinstance(after, int) else func.coalesce(place.scalar_subquery(), 0))
            )
            .order_by(intent_members.c.position)
            .limit(limit)
        )
        return await self._database.read(
            lambda connection: [(row.place, read_intent(row)) for row in connection.execute(asked)]
        )

    async def concerns(self, agent: str, intent_id: str) -> bool:
        asked = select(intent_members.c.agent).where(
            intent_members.c.intent_id == intent_id, intent_members.c.agent == agent
        )
        return await self._database.read(lambda connection: connection.execute(asked).first() is not None)

    async def messages(self, intent_id: str, limit: int = 200) -> list[ThreadMessage]:
        """Everything that was said."""
        table = intent_messages.c
        asked = select(intent_messages).where(table.intent_id == intent_id).order_by(table.id).limit(limit)
        rows = await self._database.read(lambda connection: connection.execute(asked).all())
        return [read(ThreadMessage, row, at_us=row.created_at) for row in rows]

    async def changes(self, agent: str, *, after: str | None, limit: int) -> Sequence[IntentEvent]:
        """In the order in which they were committed, so that nothing comes to stand before what was read already."""
        asked = _events_of_member(agent, select(intent_events))
        if after is not None:
            asked = asked.where(intent_events.c.position > func.coalesce(_place(after), _place_by_time(agent, after)))
        asked = asked.order_by(intent_events.c.position).limit(limit)
        return await self._database.read(lambda connection: [read_event(row) for row in connection.execute(asked)])


def _place(event_id: str) -> ScalarSelect[int]:
    event = intent_events.alias()
    return select(event.c.position).where(event.c.id == event_id).scalar_subquery()


def _place_by_time(agent: str, event_id: str) -> ScalarSelect[int]:
    """Of an event that was removed with its intent: before the first one this agent has with a younger id."""
    younger = _events_of_member(agent, select(func.min(intent_events.c.position) - 1)).where(
        intent_events.c.id > event_id
    )
    return younger.correlate(None).scalar_subquery()


def _events_of_member(agent: str, asked: Select[Any]) -> Select[Any]:
    mine = and_(intent_members.c.intent_id == intent_events.c.intent_id, intent_members.c.agent == agent)
    return asked.select_from(intent_events.join(intent_members, mine))


def _of(agent: str) -> Select[Any]:
    return (
        select(intents)
        .join(intent_members, intent_members.c.intent_id == intents.c.id)
        .where(intent_members.c.agent == agent)
    )
