"""`deliver`: a butler's notify.v1 into a route.v1 for the messenger, and the answer back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from postroom.domain.errors import (
    FieldError,
    PostroomError,
    ValidationError,
)
from postroom.domain.notify import parse_notify
from postroom.domain.notify_response import notify_error
from postroom.domain.principal import Principal, Role
from postroom.domain.route import build_notify_route, read_route_response
from postroom.domain.time import to_text
from postroom.ports import Clock, Peer
from postroom.switchboard.registry import Registry, look_up_messenger

_ANSWER_MARGIN_SECONDS = 5.0
_LOG_SECONDS = 2.0  # a log that hangs must not turn an answer into a caller's timeout


class NotificationsLog(Protocol):
    """One row for every call, refused ones too; it sees itself to what it cannot write."""

    def opened(
        self, *, request_id: str, source_butler: str, caller: str, envelope: Mapping[str, Any], now_us: int
    ) -> tuple[str, asyncio.Future[None]]: ...

    def closed(self, row_id: str, answer: Mapping[str, Any], *, now_us: int) -> None: ...

    def abandoned(self, row_id: str, written: asyncio.Future[None], *, now_us: int) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Deliver:
    messenger: Peer
    registry: Registry
    log: NotificationsLog
    clock: Clock
    mint: Callable[[int], str]
    channels: frozenset[str]

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
        The row is on disk before the answer; its last words follow without delaying it.

        With a `refusal` the butler has turned the call away itself, and it is only written down.
        """
        now = self.clock.now_us()
        request_id = request_id or self.mint(now)
        row_id, written = self.log.opened(
            request_id=_lineage(envelope) or request_id,
            source_butler=_speaker(caller, envelope),
            caller=str(caller),
            envelope=envelope,
            now_us=now,
        )
        if refusal is not None:
            answer = notify_error(ValidationError(refusal), request_id=request_id)
        else:
            try:
                answer = await self._answer(caller, envelope, request_id, wait_seconds)
            except asyncio.CancelledError:
                self.log.abandoned(row_id, written, now_us=self.clock.now_us())
                raise
        await asyncio.wait([written], timeout=_LOG_SECONDS)
        if not (written.done() and written.exception()):  # the answer is true whether or not we could note it
            self.log.closed(row_id, answer, now_us=self.clock.now_us())
        return answer

    async def _answer(
        self, caller: Principal, envelope: Mapping[str, Any], request_id: str, wait_seconds: float
    ) -> dict[str, Any]:
        channel: str | None = None
        try:
            notify = parse_notify(envelope, self.channels)
            channel = notify.channel
            check_origin(caller, notify.origin_butler)
            request_id = notify.context.request_id if notify.context else request_id
            return await self._route(envelope, request_id, wait_seconds)
        except PostroomError as error:
            return notify_error(error, request_id=request_id, channel=channel)

    async def _route(self, envelope: Mapping[str, Any], request_id: str, wait_seconds: float) -> dict[str, Any]:
        now = self.clock.now_us()
        await look_up_messenger(self.registry, now)
        route = build_notify_route(request_id=request_id, received_at=to_text(now), envelope=envelope)
        answer = await self.messenger.call(
            "route.execute", {"route": route, "wait_seconds": wait_seconds}, wait_seconds + _ANSWER_MARGIN_SECONDS
        )
        return read_route_response(answer)


def check_origin(caller: Principal, origin_butler: str) -> None:
    """An envelope speaks for its sender and for nobody else."""
    if caller.role is Role.OPERATOR or caller.is_butler(origin_butler):
        return
    raise ValidationError.of([FieldError("origin_butler", f"is not the caller ({caller})", "origin_mismatch")])


def _speaker(caller: Principal, envelope: Mapping[str, Any]) -> str:
    """The household's own doors speak for those who knocked there, and have looked at their tokens."""
    origin = envelope.get("origin_butler")
    spoken_for = caller.role is Role.OPERATOR and isinstance(origin, str) and origin.strip()
    return origin.strip()[:64] if spoken_for and isinstance(origin, str) else caller.name


def _lineage(envelope: Mapping[str, Any]) -> str | None:
    context = envelope.get("request_context")
    request_id = context.get("request_id") if isinstance(context, Mapping) else None
    return request_id[:128] if isinstance(request_id, str) and request_id.strip() else None
