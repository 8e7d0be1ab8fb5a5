"""What became of a message, from the trail it left: delivered, refused, not sent, or unknown."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from postroom.domain.delivery import Receipt
from postroom.domain.errors import DeliveryTimeout, OutcomeUncertain, PostroomError, TargetUnavailable
from postroom.world.channels.apprise.trail import Fate, Trail
from postroom.world.http.public_address import private_refusal
from postroom.world.http.refusal import refusal

NO_RECEIPT: Final = Receipt("apprise:none")


def verdict(service: str, worked: bool, trail: Trail, now: datetime) -> Receipt | PostroomError:
    """Apprise itself says only yes or no; a no without a trace is never taken for "not sent"."""
    if trail.doubtful:
        return OutcomeUncertain(f"{service} received the request but no complete answer came back")
    if worked:
        return NO_RECEIPT
    if trail.accepted:
        return OutcomeUncertain(f"{service} took a request, and what came after it failed")
    if trail.requests:
        return not_sent(service, trail, now)
    if trail.led_home and not trail.connected:
        return private_refusal(service)
    return OutcomeUncertain(f"{service} failed and left no trace of whether it sent anything")


def too_late(service: str, trail: Trail | None, now: datetime) -> PostroomError:
    """Without a trail it was not even begun; of what goes over HTTP it is known whether a byte has left."""
    if trail is not None and (trail.left or trail.accepted or trail.doubtful or not trail.asked):
        return OutcomeUncertain(f"{service} did not answer before the deadline")
    if trail is not None and trail.requests:
        return not_sent(service, trail, now)  # it was refused, and waits to try again by itself
    return DeliveryTimeout(f"{service} could not be reached before the deadline")


def not_sent(service: str, trail: Trail, now: datetime) -> PostroomError:
    last = trail.requests[-1]
    if last.fate is Fate.NOT_SENT:
        return private_refusal(service) if trail.led_home else TargetUnavailable(f"{service} could not be reached")
    return refusal(service, last.status, last.retry_after, now, ours="credentials")
