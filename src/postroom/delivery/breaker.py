"""What an attempt says about the provider's health, and when a circuit refuses new work."""

from __future__ import annotations

from postroom.domain.breaker import BreakerPolicy, Circuit, Permit, Report, State, remaining_us
from postroom.domain.errors import CircuitOpenError, ErrorClass, PostroomError, ProviderThrottled
from postroom.domain.time import SECOND_US

_COUNTED = frozenset({ErrorClass.UNAVAILABLE, ErrorClass.TIMEOUT})
_SHORTEST_WAIT_SECONDS = 0.05
_PROBES_AT_WORK_SECONDS = 1.0  # a probe's lease says when it is given up, not when it will have its answer


def report_of(error: PostroomError | None) -> Report:
    """A throttle is a healthy provider talking; a bad recipient says nothing about it."""
    if error is None:
        return Report.SUCCESS
    if isinstance(error, ProviderThrottled) or error.error_class not in _COUNTED:
        return Report.NEUTRAL
    return Report.FAILURE


def wait_seconds(permit: Permit) -> float:
    """How long a stored delivery stands back from a circuit that did not let it through."""
    most = _PROBES_AT_WORK_SECONDS if permit.state is State.HALF_OPEN else permit.retry_after_seconds
    return max(min(permit.retry_after_seconds, most), _SHORTEST_WAIT_SECONDS)


def refusal(circuit: Circuit, policy: BreakerPolicy, channel: str, now_us: int) -> CircuitOpenError | None:
    """New work is refused while open, and while half-open with every probe taken."""
    match circuit.state:
        case State.CLOSED:
            return None
        case State.OPEN:
            wait = max(0, remaining_us(circuit, policy, now_us)) / SECOND_US
        case State.HALF_OPEN:
            alive = [until for until in circuit.probes.values() if until > now_us]
            if len(alive) < policy.half_open_probes:
                return None
            wait = min(_PROBES_AT_WORK_SECONDS, (min(alive) - now_us) / SECOND_US)
    return CircuitOpenError(f"the circuit of {channel} is {circuit.state}", retry_after_seconds=wait)
