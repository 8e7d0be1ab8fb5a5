"""Deliveries, claims and endings for tests of the ledger, each with one line of what matters."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

from postroom.delivery.model import Claim, Lease, NewDelivery, Settlement, WaitKind, WaitReason
from postroom.delivery.rules.retry import delivered, failed, put_back
from postroom.kernel.values.errors import OutcomeUncertain, PostroomError, TargetUnavailable, ValidationError
from postroom.kernel.values.ids import DeliveryId, IdMint
from postroom.message.delivery import AttemptVerdict, DeliveryEvent, Intent, OnUncertain, Priority, Receipt

NOON_US = 1_800_000_000_000_000
SECOND = 1_000_000
LEASE_US = NOON_US + 30 * SECOND
LEASE = Lease(until_us=LEASE_US)
AT_ONCE = Lease(until_us=LEASE_US, sending=True)

_mint = IdMint()
_count = itertools.count(1)

ENDINGS = [
    DeliveryEvent.DELIVER,
    DeliveryEvent.RETRY,
    DeliveryEvent.REJECT,
    DeliveryEvent.EXHAUST,
    DeliveryEvent.HOLD,
    DeliveryEvent.RELEASE,
    DeliveryEvent.POSTPONE,
]
ERRORS: dict[DeliveryEvent, PostroomError] = {
    DeliveryEvent.RETRY: TargetUnavailable("the provider answered 503"),
    DeliveryEvent.REJECT: ValidationError("chat not found"),
    DeliveryEvent.EXHAUST: TargetUnavailable("the provider answered 503"),
    DeliveryEvent.HOLD: OutcomeUncertain("no answer"),
}


def mint(now_us: int = NOON_US) -> str:
    return _mint.mint(now_us)


def new_delivery(**changes: Any) -> NewDelivery:
    number = next(_count)
    plain = NewDelivery(
        id=DeliveryId(mint()),
        idempotency_key=f"key-{number}-{mint()}",
        fingerprint="fingerprint",
        request_id=f"request-{number}",
        origin_butler="health",
        channel="telegram",
        intent=Intent.SEND,
        target_identity=str(number),
        address=str(number),
        thread=None,
        message="Hello",
        subject=None,
        emoji=None,
        envelope="{}",
        priority=Priority.MEDIUM,
        on_uncertain=OnUncertain.RESEND,
        created_at_us=NOON_US,
    )
    return replace(plain, **changes)


def ending(claim: Claim, event: DeliveryEvent, *, now_us: int = NOON_US, delay_seconds: float = 0.0) -> Settlement:
    """The settlement that follows an event, as the pipeline would write it."""
    match event:
        case DeliveryEvent.DELIVER:
            return delivered(claim, Receipt("77"), started_us=now_us, now_us=now_us + 1000)
        case DeliveryEvent.RELEASE | DeliveryEvent.POSTPONE:
            waiting = WaitReason(kind=WaitKind.OURSELVES, detail=f"because of {event}")
            return put_back(claim, event, now_us=now_us, delay_seconds=delay_seconds, waiting=waiting)
        case _:
            verdict = AttemptVerdict(event, delay_seconds)
            return failed(claim, ERRORS[event], verdict, started_us=now_us, now_us=now_us, dead_letter_id=mint())
