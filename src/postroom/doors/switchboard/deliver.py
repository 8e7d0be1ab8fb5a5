"""`deliver`: a butler's message on to the messenger, with a row for it in the switchboard's log."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from postroom.domain.capabilities import KnownChannels
from postroom.domain.errors import FieldError, PostroomError, ValidationError
from postroom.domain.hop import Hop
from postroom.domain.notify import parse_notify
from postroom.domain.notify_response import notify_response
from postroom.domain.notify_within import parse_within
from postroom.domain.outcome import Outcome, refused
from postroom.domain.outgoing import Outgoing
from postroom.domain.ports import Clock, Outbound
from postroom.domain.principal import Principal, Role
from postroom.doors.switchboard.registry import Registry, look_up_messenger

_LOG_SECONDS = 2.0  # a log that hangs must not turn an answer into a caller's timeout


class NotificationsLog(Protocol):
    """One row for every call, refused ones too; it sees itself to what it cannot write."""

    def opened(self, hop: Hop, *, now_us: int) -> tuple[str, asyncio.Future[None]]: ...

    def closed(self, row_id: str, outcome: Outcome, *, now_us: int) -> None: ...

    def abandoned(self, row_id: str, written: asyncio.Future[None], *, now_us: int) -> None: ...

    def hurry(self) -> None:
        """What waits for a delivery to go with waits no longer."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Deliver:
    messenger: Outbound
    registry: Registry
    log: NotificationsLog
    clock: Clock
    mint: Callable[[int], str]
    channels: KnownChannels

    async def deliver(
        self,
        caller: Principal,
        envelope: Mapping[str, Any],
        *,
        request_id: str | None,
        wait_seconds: float,
        refusal: str | None = None,
    ) -> dict[str, Any]:
        """
        notify.v1 in, notify_response.v1 out.

        With a `refusal` the butler has turned the call away itself, and it is only written down.
        """
        request_id = request_id or self.mint(self.clock.now_us())

        async def work() -> Outcome:
            if refusal is not None:
                return refused(ValidationError(refusal), request_id=request_id)
            try:
                outgoing = _parser(caller)(envelope, self.channels)
            except ValidationError as error:
                return refused(error, request_id=request_id)
            return await self._hand_on(caller, outgoing, request_id, wait_seconds)

        return notify_response(await self._logged(_hop(caller, envelope, request_id), work))

    async def submit(self, caller: Principal, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome:
        """The same for a part of this process, which has checked the message already."""
        hop = Hop(
            request_id=outgoing.context.request_id if outgoing.context else request_id,
            source_butler=_speaker(caller, outgoing.origin_butler),
            caller=str(caller),
            channel=outgoing.channel,
            intent=outgoing.intent,
        )
        return await self._logged(hop, lambda: self._hand_on(caller, outgoing, request_id, wait_seconds))

    async def _logged(self, hop: Hop, work: Callable[[], Awaitable[Outcome]]) -> Outcome:
        """The row is on disk before the answer, with the delivery's own if it has one; its last words follow later."""
        row_id, written = self.log.opened(hop, now_us=self.clock.now_us())
        try:
            outcome = await work()
        except asyncio.CancelledError:
            self.log.abandoned(row_id, written, now_us=self.clock.now_us())
            raise
        if not written.done():
            self.log.hurry()
            await asyncio.wait([written], timeout=_LOG_SECONDS)
        if not (written.done() and written.exception()):  # the answer is true whether or not we could note it
            self.log.closed(row_id, outcome, now_us=self.clock.now_us())
        return outcome

    async def _hand_on(self, caller: Principal, outgoing: Outgoing, request_id: str, wait_seconds: float) -> Outcome:
        request_id = outgoing.context.request_id if outgoing.context else request_id
        try:
            check_origin(caller, outgoing.origin_butler)
            await look_up_messenger(self.registry, self.clock.now_us())
        except PostroomError as error:
            return refused(error, request_id=request_id, channel=outgoing.channel)
        return await self.messenger.submit(outgoing, request_id=request_id, wait_seconds=wait_seconds)


def _parser(caller: Principal) -> Callable[[object, KnownChannels], Outgoing]:
    """Buttons and revisions are taken from the household's own parts and from nobody else."""
    return parse_within if caller.role is Role.OPERATOR else parse_notify


def check_origin(caller: Principal, origin_butler: str) -> None:
    """An envelope speaks for its sender and for nobody else."""
    if caller.role is Role.OPERATOR or caller.is_butler(origin_butler):
        return
    raise ValidationError.of([FieldError("origin_butler", f"is not the caller ({caller})", "origin_mismatch")])


def _hop(caller: Principal, envelope: Mapping[str, Any], request_id: str) -> Hop:
    delivery = envelope.get("delivery")
    delivery = delivery if isinstance(delivery, Mapping) else {}
    return Hop(
        request_id=_lineage(envelope) or request_id,
        source_butler=_speaker(caller, envelope.get("origin_butler")),
        caller=str(caller),
        channel=delivery.get("channel"),
        intent=delivery.get("intent"),
    )


def _speaker(caller: Principal, origin: object) -> str:
    """The household's own doors speak for those who knocked there, and have looked at their tokens."""
    if caller.role is Role.OPERATOR and isinstance(origin, str) and origin.strip():
        return origin.strip()[:64]
    return caller.name


def _lineage(envelope: Mapping[str, Any]) -> str | None:
    context = envelope.get("request_context")
    request_id = context.get("request_id") if isinstance(context, Mapping) else None
    return request_id[:128] if isinstance(request_id, str) and request_id.strip() else None
