"""Say what would become of a request, without doing anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from postroom.delivery import breaker, limits
from postroom.delivery.accept import prepared
from postroom.delivery.idempotency import identify
from postroom.delivery.policy import DeliveryPolicy
from postroom.delivery.target import Target, resolve_target
from postroom.domain.errors import FieldError, InternalError, PostroomError, TargetUnavailable, ValidationError
from postroom.domain.ids import DeliveryId
from postroom.domain.ledger import NewDelivery, Snapshot
from postroom.domain.limits import Decision
from postroom.domain.notify import Notify, parse_notify
from postroom.domain.route import error_object
from postroom.ports import AddressBook, Breakers, Channel, Clock, Gate, Ledger, Limits, Meter


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
    meter: Meter
    mint: Callable[[int], str]
    gate: Gate | None = None

    async def run(self, envelope: object) -> dict[str, Any]:
        try:
            notify = parse_notify(envelope, self.channel_names)
        except ValidationError as error:
            return _invalid(error)
        told = {"intent": str(notify.intent), "channel_adapter": f"{notify.channel}.{limits.SCOPE}"}
        try:
            channel = self._channel(notify.channel)
            target = await resolve_target(notify, channel, self.book)
            new = self._draft(notify, target)
            prepared(channel, new, self.meter)
            known = await self._known(notify, new)
        except ValidationError as error:
            return _invalid(error) | told
        except (TargetUnavailable, InternalError) as error:
            return {"valid": True, "errors": []} | told | _verdict(error)
        return {"valid": True, "errors": []} | told | await self._admission(new, known)

    async def _admission(self, new: NewDelivery, known: Snapshot | None) -> dict[str, Any]:
        asked = limits.admission(
            self.policy.limits, lease_id=new.id, channel=new.channel, intent=new.intent, address=new.address
        )
        circuit = await self.breakers.circuit(new.channel)
        decision = await self.limits.admit(asked, consume=False)
        error: PostroomError | None = breaker.refusal(circuit, self.policy.breaker, new.channel, self.clock.now_us())
        error = error or limits.refusal(decision, new.channel)
        duplicate = {"delivery_id": known.id, "status": str(known.status)} if known else None
        return {
            "target_identity": new.target_identity,
            "rate_limit_headroom": _headroom(decision),
            "in_flight": decision.in_flight,
            "circuit": str(circuit.state),
            "duplicate_of": duplicate,
            "may_need_approval": self.gate is not None and not await self.gate.passes(new),
        } | _verdict(error if known is None else None)

    def _channel(self, name: str) -> Channel:
        if channel := self.channels.get(name):
            return channel
        raise TargetUnavailable(f"no credentials for {name} are set")

    async def _known(self, notify: Notify, new: NewDelivery) -> Snapshot | None:
        """A request that was made before gets the first one's answer and asks nothing of the limits."""
        identity = identify(notify, request_id=new.request_id, target_identity=new.target_identity)
        known = None if identity.fresh else await self.ledger.find(identity.key)
        if known is not None and known.fingerprint != identity.fingerprint:
            raise ValidationError.of(
                [FieldError("idempotency_key", "was already used for another message", "key_reused")]
            )
        return known

    def _draft(self, notify: Notify, target: Target) -> NewDelivery:
        """What would be stored; its key is looked up, never written."""
        now = self.clock.now_us()
        new_id = self.mint(now)
        return NewDelivery(
            id=DeliveryId(new_id),
            idempotency_key="",
            fingerprint="",
            request_id=notify.context.request_id if notify.context else new_id,
            origin_butler=notify.origin_butler,
            channel=notify.channel,
            intent=notify.intent,
            target_identity=target.identity,
            address=target.address,
            thread=target.thread,
            message=notify.message,
            subject=notify.subject,
            emoji=notify.emoji,
            envelope="",
            priority=notify.priority,
            on_uncertain=self.policy.uncertain(notify.channel, notify.on_uncertain),
            created_at_us=now,
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
