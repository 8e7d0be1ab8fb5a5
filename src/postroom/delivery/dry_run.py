"""Say what would become of a request, without doing anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from postroom.delivery import breaker, limits
from postroom.delivery.idempotency import identify
from postroom.delivery.policy import DeliveryPolicy
from postroom.delivery.target import Target, resolve_target
from postroom.domain.delivery import Message
from postroom.domain.errors import FieldError, PostroomError, TargetUnavailable, ValidationError
from postroom.domain.ids import DeliveryId
from postroom.domain.ledger import Snapshot
from postroom.domain.limits import Decision
from postroom.domain.notify import Notify, parse_notify
from postroom.domain.route import error_object
from postroom.ports import AddressBook, Breakers, Channel, Clock, Ledger, Limits


def validate(envelope: object, channel_names: frozenset[str]) -> dict[str, Any]:
    """The validator every door uses; nothing but the envelope is looked at."""
    try:
        parse_notify(envelope, channel_names)
    except ValidationError as error:
        return {"valid": False, "errors": _listed(error)}
    return {"valid": True, "errors": []}


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """The steps of acceptance up to the first one that would leave a mark."""

    ledger: Ledger
    channels: Mapping[str, Channel]
    channel_names: frozenset[str]
    book: AddressBook
    limits: Limits
    breakers: Breakers
    policy: DeliveryPolicy
    clock: Clock
    mint: Callable[[int], str]

    async def run(self, envelope: object) -> dict[str, Any]:
        try:
            notify = parse_notify(envelope, self.channel_names)
        except ValidationError as error:
            return _invalid(error)
        told = {"intent": str(notify.intent), "channel_adapter": f"{notify.channel}.{limits.SCOPE}"}
        try:
            channel = self._channel(notify.channel)
            target = await resolve_target(notify, channel, self.book)
            channel.prepare(self._message(notify, target))
            known = await self._known(notify, target)
        except ValidationError as error:
            return _invalid(error) | told
        except TargetUnavailable as error:
            return {"valid": True, "errors": []} | told | _verdict(error)
        return {"valid": True, "errors": []} | told | await self._admission(notify, target, known)

    async def _admission(self, notify: Notify, target: Target, known: Snapshot | None) -> dict[str, Any]:
        now = self.clock.now_us()
        asked = limits.admission(
            self.policy.limits,
            lease_id=self.mint(now),
            channel=notify.channel,
            intent=notify.intent,
            address=target.address,
        )
        circuit = await self.breakers.circuit(notify.channel)
        decision = await self.limits.admit(asked, consume=False)
        error: PostroomError | None = breaker.refusal(circuit, self.policy.breaker, notify.channel, now)
        error = error or limits.refusal(decision, notify.channel)
        duplicate = {"delivery_id": known.id, "status": str(known.status)} if known else None
        return {
            "target_identity": target.identity,
            "rate_limit_headroom": _headroom(decision),
            "in_flight": decision.in_flight,
            "circuit": str(circuit.state),
            "duplicate_of": duplicate,
        } | _verdict(error if known is None else None)

    def _channel(self, name: str) -> Channel:
        if channel := self.channels.get(name):
            return channel
        raise TargetUnavailable(f"no credentials for {name} are set")

    async def _known(self, notify: Notify, target: Target) -> Snapshot | None:
        """A request that was made before gets the first one's answer and asks nothing of the limits."""
        request_id = notify.context.request_id if notify.context else self.mint(self.clock.now_us())
        identity = identify(notify, request_id=request_id, target_identity=target.identity)
        known = None if identity.fresh else await self.ledger.find(identity.key)
        if known is not None and known.fingerprint != identity.fingerprint:
            raise ValidationError.of(
                [FieldError("idempotency_key", "was already used for another message", "key_reused")]
            )
        return known

    def _message(self, notify: Notify, target: Target) -> Message:
        return Message(
            delivery_id=DeliveryId(self.mint(self.clock.now_us())),
            intent=notify.intent,
            address=target.address,
            text=notify.message,
            subject=notify.subject,
            emoji=notify.emoji,
            thread=target.thread,
        )


def _headroom(decision: Decision) -> dict[str, float]:
    """Tokens left in each tier; a send or a reaction takes one, a reply less."""
    return {str(tier.type): tier.available for tier in decision.headroom}


def _verdict(error: PostroomError | None) -> dict[str, Any]:
    if error is None:
        return {"would_be_admitted": True}
    return {"would_be_admitted": False, "refusal": error_object(error)}


def _invalid(error: ValidationError) -> dict[str, Any]:
    return {"valid": False, "errors": _listed(error)} | _verdict(error)


def _listed(error: ValidationError) -> list[dict[str, str]]:
    fields = error.fields or (FieldError("delivery", error.message, "not_deliverable"),)
    return [{"field": item.field, "error": item.error, "code": item.code} for item in fields]
