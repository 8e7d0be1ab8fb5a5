"""What the messenger's tools work on: its own ways to reach people, and corrections of what was sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from postroom.attention.attention import Attention
from postroom.attention.model import NoticeState, is_notice_id
from postroom.delivery.accept import Plane
from postroom.delivery.afterwards.corrections import Corrections
from postroom.delivery.afterwards.dead_letters import DeadLetters
from postroom.delivery.afterwards.rules import (
    CorrectionAct,
    CorrectionAnswer,
    CorrectionStatus,
    correction_object,
    read_correction,
    unknown_notice,
)
from postroom.delivery.notify import deliver_envelope
from postroom.delivery.reading.counts import DeliveryHealth
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.errors import FieldError, ValidationError
from postroom.kernel.values.fields import Document
from postroom.kernel.values.ids import DeliveryId
from postroom.kernel.values.principal import Principal, sender_of
from postroom.message.delivery import Intent
from postroom.message.wire import NOTIFY_V1, notify_error
from postroom.overview.tracking import DryRun, Tracking

# Corrections: for the sender of a message and the owner.

LONGEST_WAIT_SECONDS: Final = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectionDesk:
    """Asked over the wire: whose deliveries a caller knows is decided by the caller's token alone."""

    corrections: Corrections
    clock: Clock
    mint: Callable[[int], str]
    wait_seconds: float
    attention: Attention | None = None

    async def by(self, who: Principal, given: Mapping[str, Any], wait_seconds: object = None) -> Document:
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
    ) -> Document:
        if given.get("act") == CorrectionAct.RECALL and is_notice_id(given.get("delivery_id")):
            return await self._recall_notice(str(given["delivery_id"]), sender)
        try:
            asked = read_correction(given, actor=actor, sender=sender)
            patience = self._patience(wait_seconds)
        except ValidationError as error:
            return notify_error(error) | {"revises": None, "delivery_id": None, "how": None}
        request_id = request_id or self.mint(self.clock.now_us())
        return correction_object(await self.corrections.correct(asked, request_id=request_id, wait_seconds=patience))

    async def _recall_notice(self, notice_id: str, sender: str | None) -> Document:
        """What is held has no delivery: its notice is withdrawn, and what left of it already is recalled."""
        known = await self.attention.notice(notice_id) if self.attention else None
        if self.attention is None or known is None or sender not in (None, known.agent):
            return notify_error(unknown_notice()) | {"revises": None, "delivery_id": None, "how": None}
        (now,) = await self.attention.withdraw(known.agent, notice_id=notice_id)
        status, said = _WITHDRAWN.get(now.state, (CorrectionStatus.TOO_LATE, f"It is {now.state} and stays so."))
        return correction_object(CorrectionAnswer(status=status, revises=DeliveryId(notice_id), said=said))

    def _patience(self, asked: object) -> float:
        if asked is None:
            return self.wait_seconds
        if isinstance(asked, bool) or not isinstance(asked, int | float) or not 0 <= asked <= LONGEST_WAIT_SECONDS:
            limit = f"must be a number of seconds from 0 to {LONGEST_WAIT_SECONDS:.0f}"
            raise ValidationError.of([FieldError("wait_seconds", limit, "out_of_range")])
        return float(asked)


_WITHDRAWN: Final = {
    NoticeState.WITHDRAWN: (CorrectionStatus.WITHDRAWN, "It was held, and is not shown."),
    NoticeState.RECALLED: (CorrectionStatus.RECALLED, "It had left, and is corrected where the channel can."),
}


# The messenger's own ways to reach people; each is a notify.v1 on the one delivery path.

ORIGIN: Final = "messenger"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelTools:
    plane: Plane
    clock: Clock
    mint: Callable[[int], str]
    wait_seconds: float

    async def send(self, channel: str, recipient: str, names: Mapping[str, str], **content: object) -> Document:
        """`names` is what the tool's arguments are called in an envelope, which its caller has never seen."""
        envelope = _envelope(channel, Intent.SEND, recipient=recipient, **content)
        return await self._deliver(envelope, self._request_id(), names)

    async def answer(
        self, channel: str, intent: Intent, names: Mapping[str, str], *, sender: str, thread: str, **content: object
    ) -> Document:
        """In a conversation: there is no inbound request to name, so this call is its own."""
        request_id = self._request_id()
        context = {
            "request_id": request_id,
            "source_channel": channel,
            "source_endpoint_identity": ORIGIN,
            "source_sender_identity": sender,
            "source_thread_identity": thread,
        }
        envelope = _envelope(channel, intent, **content) | {"request_context": context}
        return await self._deliver(envelope, request_id, names)

    def _request_id(self) -> str:
        return self.mint(self.clock.now_us())

    async def _deliver(self, envelope: Document, request_id: str, names: Mapping[str, str]) -> Document:
        return await deliver_envelope(
            self.plane, envelope, request_id=request_id, wait_seconds=self.wait_seconds, names=names
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MessengerDesk:
    """All that the messenger's tools work on."""

    channel_tools: ChannelTools
    corrections: CorrectionDesk
    tracking: Tracking
    dead_letters: DeadLetters
    health: DeliveryHealth
    dry_run: DryRun


def _envelope(channel: str, intent: Intent, **content: object) -> Document:
    given = {name: value for name, value in content.items() if value is not None}
    delivery = {"intent": str(intent), "channel": channel, **given}
    return {"schema_version": NOTIFY_V1, "origin_butler": ORIGIN, "delivery": delivery}
