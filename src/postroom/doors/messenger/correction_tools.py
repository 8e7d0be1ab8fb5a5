"""The messenger's tools that correct a message: for its sender and the owner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import getdoc
from typing import Any, Final, cast

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations

from postroom.domain.clock import Clock
from postroom.domain.correction import correction_object, read_correction
from postroom.domain.errors import FieldError, ValidationError
from postroom.domain.notify_response import notify_error
from postroom.domain.principal import Principal
from postroom.doors.guard.caller import caller
from postroom.doors.guard.http import Verifier
from postroom.doors.guard.sender import sender_of
from postroom.doors.messenger.answers import CorrectionBody
from postroom.doors.messenger.arguments import OptionalText, Text, Uuid, Word
from postroom.work.delivery.corrections import Corrections

LONGEST_WAIT_SECONDS: Final = 600.0
_ACTS: Final = ToolAnnotations(destructive_hint=True, idempotent_hint=True, open_world_hint=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectionDesk:
    """Asked over the wire: whose deliveries a caller knows is decided by the caller's token alone."""

    corrections: Corrections
    clock: Clock
    mint: Callable[[int], str]
    wait_seconds: float

    async def by(self, who: Principal, given: Mapping[str, Any], wait_seconds: object = None) -> dict[str, Any]:
        """The owner and the operator know every delivery; for one who sends nothing, none exists."""
        sender = None if who.is_owner else sender_of(who) or str(who)
        return await self.correct(given, actor=str(who), sender=sender, wait_seconds=wait_seconds)

    async def correct(
        self,
        given: Mapping[str, Any],
        *,
        actor: str,
        sender: str | None,
        wait_seconds: object = None,
        request_id: str | None = None,
    ) -> dict[str, Any]:
        try:
            asked = read_correction(given, actor=actor, sender=sender)
            patience = self._patience(wait_seconds)
        except ValidationError as error:
            return notify_error(error) | {"revises": None, "delivery_id": None, "how": None}
        request_id = request_id or self.mint(self.clock.now_us())
        return correction_object(await self.corrections.correct(asked, request_id=request_id, wait_seconds=patience))

    def _patience(self, asked: object) -> float:
        if asked is None:
            return self.wait_seconds
        if isinstance(asked, bool) or not isinstance(asked, int | float) or not 0 <= asked <= LONGEST_WAIT_SECONDS:
            limit = f"must be a number of seconds from 0 to {LONGEST_WAIT_SECONDS:.0f}"
            raise ValidationError.of([FieldError("wait_seconds", limit, "out_of_range")])
        return float(asked)


def add_correction_tools(server: MCPServer[Any], desk: CorrectionDesk, verifier: Verifier) -> None:
    async def revise_delivery(
        context: Context[Any, Any],
        delivery_id: Uuid,
        message: Text,
        subject: OptionalText = "",
        format: Word = None,
        idempotency_key: OptionalText = "",
        wait_seconds: Word = None,
    ) -> CorrectionBody:
        """
        Give a message another text: in place while it has not been sent, else by an edit, else by a correction in
        its thread. The new text is approved as a new message would be.

        For its sender and the owner. `status` is `revised`, `corrected`, `awaiting_approval`,
        `accepted`, `too_late` or `error`; `revises` and `delivery_id` name the message and what corrects it.
        """
        given = {
            "act": "revise",
            "delivery_id": delivery_id,
            "message": message,
            "subject": subject or None,
            "format": format,
            "idempotency_key": idempotency_key or None,
        }
        return cast(CorrectionBody, await desk.by(caller(context, verifier), given, wait_seconds))

    async def recall_delivery(
        context: Context[Any, Any],
        delivery_id: Uuid,
        reason: OptionalText = "",
        idempotency_key: OptionalText = "",
        wait_seconds: Word = None,
    ) -> CorrectionBody:
        """
        Take a message back: withdrawn while it has not been sent, else deleted where the channel can, else by a word
        in its thread. `reason` is kept with it and shown to people here, never to the recipient.

        For its sender and the owner. `status` is `withdrawn`, `recalled`, `corrected`,
        `awaiting_approval`, `accepted`, `too_late` or `error`.
        """
        given = {
            "act": "recall",
            "delivery_id": delivery_id,
            "reason": reason or None,
            "idempotency_key": idempotency_key or None,
        }
        return cast(CorrectionBody, await desk.by(caller(context, verifier), given, wait_seconds))

    for tool in (revise_delivery, recall_delivery):
        server.add_tool(tool, description=getdoc(tool), annotations=_ACTS)
