"""What an attempt says about the provider's health, and when a circuit refuses new work."""

from __future__ import annotations

from postroom.domain.breaker import BreakerPolicy, Circuit, CircuitState, Report, remaining_us
from postroom.domain.errors import CircuitOpenError, ErrorClass, OutOfDescriptors, PostroomError, ProviderThrottled
from postroom.domain.time import SECOND_US

_COUNTED = frozenset({ErrorClass.UNAVAILABLE, ErrorClass.TIMEOUT})


def report_of(error: PostroomError | None) -> Report:
    """A throttle is a healthy provider talking; a bad recipient says nothing about it."""
    if error is None:
        return Report.SUCCESS
    if isinstance(error, ProviderThrottled | OutOfDescriptors) or error.error_class not in _COUNTED:
        return Report.NEUTRAL
    return Report.FAILURE


def refusal(circuit: Circuit, policy: BreakerPolicy, channel: str, now_us: int) -> CircuitOpenError | None:
    """New work is refused while open, and while half-open with every probe taken."""
    match circuit.state:
        case CircuitState.CLOSED:
            return None
        case CircuitState.OPEN:
            wait = max(0, remaining_us(circuit, policy, now_us)) / SECOND_US
        case CircuitState.HALF_OPEN:
            alive = [until for until in circuit.probes.values() if until > now_us]
            if len(alive) < policy.half_open_probes:
                return None
            wait = min(1.0, (min(alive) - now_us) / SECOND_US)
    return CircuitOpenError(f"the circuit of {channel} is {circuit.state}", retry_after_seconds=wait)
