"""The one way out: everything that leaves Postroom leaves through here."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from postroom.delivery.accept import Acceptance, Accepted
from postroom.delivery.answer import notify_response
from postroom.delivery.dispatcher import Dispatcher
from postroom.delivery.outcomes import Outcomes
from postroom.domain.delivery import TERMINAL, Status
from postroom.domain.errors import PostroomError, StoreUnavailable
from postroom.domain.ledger import Snapshot
from postroom.domain.notify import parse_notify
from postroom.domain.route import notify_error


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    acceptance: Acceptance
    dispatcher: Dispatcher
    outcomes: Outcomes
    channel_names: frozenset[str]

    async def deliver(self, envelope: Mapping[str, Any], *, request_id: str, wait_seconds: float) -> dict[str, Any]:
        """
        notify.v1 in, notify_response.v1 out.

        Once accepted, the delivery goes on whatever becomes of the caller: hanging
        up or running out of patience cancels the waiting and nothing else.
        """
        channel: str | None = None
        try:
            notify = parse_notify(envelope, self.channel_names)
            channel = notify.channel
            request_id = notify.context.request_id if notify.context else request_id
            accepted = await self.acceptance.accept(notify, request_id=request_id)
        except PostroomError as error:
            return notify_error(error, request_id=request_id, channel=channel)
        return notify_response(await self._outcome(accepted, wait_seconds), request_id=request_id)

    async def stop(self, drain_seconds: float) -> None:
        """Lets the calls that are being made finish, then tells whoever waits for anything else what is known."""
        await self.dispatcher.drain(drain_seconds)
        self.outcomes.let_go()

    async def _outcome(self, accepted: Accepted, wait_seconds: float) -> Snapshot:
        """What is known when the waiting ends; stored is stored, even if the store is away just then."""
        snapshot = accepted.snapshot
        if snapshot.status in TERMINAL or snapshot.status is Status.AWAITING_APPROVAL or wait_seconds <= 0:
            return snapshot
        with suppress(StoreUnavailable):
            outcome = await self.outcomes.wait(snapshot.id, wait_seconds, look_first=accepted.claim is None)
            return outcome or await self.acceptance.ledger.get(snapshot.id) or snapshot
        return snapshot
