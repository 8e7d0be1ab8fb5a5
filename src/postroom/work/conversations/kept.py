"""Every message of a person is stored before anything is done about it, with what was decided in the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from postroom.domain.clock import Clock
from postroom.domain.conversation_states import InboundMove, InboundStatus
from postroom.domain.inbound_message import InboundEvent, InboundMessage
from postroom.domain.kept_message import KeptMessage, RoutedMessage, RouteKind
from postroom.work.conversations.inbound import Handler, of_messages
from postroom.work.conversations.notice_ear import ProvedPeople
from postroom.work.conversations.routing import InboundFacts, is_for_named, route


class KeepsMessages(Protocol):
    async def keep(self, message: InboundMessage, now_us: int) -> KeptMessage:
        """Once for each message of the provider; the second time, as it is by now."""
        ...

    async def decide(
        self, kept: KeptMessage, routed: RoutedMessage, person: str | None, now_us: int
    ) -> KeptMessage | None:
        """None when that was done before."""
        ...

    async def move(
        self,
        kept: KeptMessage,
        move: InboundMove,
        now_us: int,
        *,
        session_id: str | None = None,
        reason: str = "",
        tokens: int = 0,
    ) -> bool: ...

    async def undecided(self, before_us: int) -> Sequence[KeptMessage]: ...

    async def with_butlers(self) -> Sequence[KeptMessage]: ...

    async def open_in(self, person: str, channel: str, place: str) -> Sequence[KeptMessage]: ...

    async def last(self, person: str, channel: str, place: str) -> KeptMessage | None: ...

    async def sessions_since(self, person: str, since_us: int) -> int: ...

    async def tokens_since(self, person: str, since_us: int) -> int: ...


def keeping_handler(kept: KeepsMessages, clock: Clock) -> Handler:
    """Stands before all others; takes only what was decided before, which a crash may bring again."""

    async def handle(message: InboundMessage) -> bool:
        return (await kept.keep(message, clock.now_us())).status is not InboundStatus.RECEIVED

    return of_messages(handle)


def answering(
    kept: KeepsMessages, clock: Clock, handler: Handler, what: str, people: ProvedPeople, butlers: Mapping[str, bool]
) -> Handler:
    """A handler that takes answers; `what` they answer. A person may speak to a butler while a question is open."""

    async def of_answers(event: InboundEvent) -> bool:
        is_another_matter = isinstance(event, InboundMessage) and is_for_named(event, butlers)
        return not is_another_matter and await handler(event)

    return _noting(
        kept, clock, of_answers, lambda message: route(InboundFacts(message=message, open_questions=(what,))), people
    )


def commanding(kept: KeepsMessages, clock: Clock, handler: Handler, what: str, people: ProvedPeople) -> Handler:
    """A handler that takes what needs no butler."""
    return _noting(kept, clock, handler, lambda _: RoutedMessage(kind=RouteKind.COMMAND, reason=what), people)


def _noting(kept: KeepsMessages, clock: Clock, handler: Handler, decision: DecidesOn, people: ProvedPeople) -> Handler:
    async def handle(event: InboundEvent) -> bool:
        if not await handler(event):
            return False
        if isinstance(event, InboundMessage):
            now_us = clock.now_us()
            person = await people.at(event.channel, event.sender) if event.sender is not None else None
            await kept.decide(await kept.keep(event, now_us), decision(event), person.id if person else None, now_us)
        return True

    return handle


class DecidesOn(Protocol):
    def __call__(self, message: InboundMessage, /) -> RoutedMessage: ...
