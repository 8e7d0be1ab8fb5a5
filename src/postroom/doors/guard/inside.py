"""Hands a message to another part of this process: the same token and the same policy as over a wire, no wire."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Protocol

from postroom.domain.errors import DeliveryTimeout, InternalError, PostroomError, ValidationError
from postroom.domain.outcome import Outcome, refused
from postroom.domain.outgoing import Outgoing
from postroom.domain.principal import Principal
from postroom.doors.guard.tool_policy import ToolPolicy
from postroom.system.overdue import Overdue
from postroom.work.delivery.lineage import span


class Takes(Protocol):
    """What a part does with a message that another one hands to it."""

    def __call__(
        self, caller: Principal, outgoing: Outgoing, *, request_id: str, wait_seconds: float
    ) -> Awaitable[Outcome]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class InsideDoor:
    """A part that takes messages under the rule of one of its tools."""

    part: str
    tool: str
    policy: ToolPolicy
    takes: Takes
    margin_seconds: float
    overdue: Overdue = field(default_factory=Overdue)

    def for_token(self, token: str) -> InsideOutbound:
        return InsideOutbound(self, token)


@dataclass(frozen=True, slots=True)
class InsideOutbound:
    door: InsideDoor
    token: str

    async def submit(self, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome:
        try:
            return await self._submit(outgoing, request_id, wait_seconds)
        except PostroomError as error:
            return refused(error, request_id=request_id, channel=outgoing.channel)

    async def _submit(self, outgoing: Outgoing, request_id: str, wait_seconds: float) -> Outcome:
        door = self.door
        caller = door.policy.verifier.verify(self.token)
        if caller is None or not door.policy.allows(caller, door.tool):
            raise ValidationError(f"{door.part} refused: {caller or 'nobody'} may not call {door.tool}")
        patience = wait_seconds + door.margin_seconds
        work = door.takes(caller, outgoing, request_id=request_id, wait_seconds=wait_seconds)
        try:
            with span(f"tools/call {door.tool}", {"postroom.part": door.part}):  # as the SDK names it over a wire
                return await door.overdue.limit(work, patience)
        except TimeoutError:
            raise DeliveryTimeout(
                f"the {door.part} did not answer within {patience:.0f} s; it may still be delivered"
            ) from None
        except PostroomError:
            raise
        except Exception as error:
            raise InternalError(f"{door.part} failed in {door.tool}") from error
