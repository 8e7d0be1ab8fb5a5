"""A circuit breaker as data: (circuit, event, now) gives the next circuit."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import assert_never

from postroom.kernel.values.errors import (
    CircuitOpenError,
    ErrorClass,
    OutOfDescriptors,
    PostroomError,
    ProviderThrottled,
)
from postroom.kernel.values.ids import SECOND_US, record, seconds


class CircuitState(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


class Report(StrEnum):
    SUCCESS = "success"
    FAILURE = "failure"
    NEUTRAL = "neutral"  # says nothing about the provider: a bad recipient, our own bug


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerPolicy:
    failure_threshold: int = 5
    recovery_seconds: float = 60.0
    half_open_probes: int = 2
    half_open_successes: int = 2
    probe_lease_seconds: float = 60.0

    def __post_init__(self) -> None:
        if min(self.failure_threshold, self.half_open_probes, self.half_open_successes) < 1:
            raise ValueError("a breaker counts from one")
        if min(self.recovery_seconds, self.probe_lease_seconds) <= 0:
            raise ValueError("a breaker's times are longer than nothing")

    @property
    def recovery_us(self) -> int:
        return seconds(self.recovery_seconds)

    @property
    def probe_lease_us(self) -> int:
        return seconds(self.probe_lease_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Circuit:
    """`generation` grows with every change of state, so late results can be told apart."""

    state: CircuitState = CircuitState.CLOSED
    failures: int = 0
    successes: int = 0
    opened_at_us: int = 0
    generation: int = 0
    reason: str | None = None
    error_class: str | None = None
    probes: dict[str, int] = field(default_factory=dict)  # token -> when its lease ends


@record
class Permit:
    """Leave (or not) to make one call; handed back with the call's result."""

    channel: str
    allowed: bool
    state: CircuitState
    generation: int
    token: str = ""
    retry_after_seconds: float = 0.0


def state_at(circuit: Circuit, policy: BreakerPolicy, now_us: int) -> CircuitState:
    """An open circuit becomes half-open by the passing of time alone."""
    if circuit.state is CircuitState.OPEN and remaining_us(circuit, policy, now_us) <= 0:
        return CircuitState.HALF_OPEN
    return circuit.state


def remaining_us(circuit: Circuit, policy: BreakerPolicy, now_us: int) -> int:
    return min(circuit.opened_at_us, now_us) + policy.recovery_us - now_us


def as_of(circuit: Circuit, policy: BreakerPolicy, now_us: int) -> Circuit:
    """The circuit as a reader sees it now; the change itself happens with the first call that is let through."""
    state = state_at(circuit, policy, now_us)
    return circuit if state is circuit.state else replace(circuit, state=state)


def acquire(circuit: Circuit, policy: BreakerPolicy, channel: str, token: str, now_us: int) -> tuple[Circuit, Permit]:
    circuit = _believable(circuit, policy, now_us)
    match state_at(circuit, policy, now_us):
        case CircuitState.CLOSED:
            return circuit, leave(circuit, channel)
        case CircuitState.OPEN:
            return circuit, _refusal(circuit, channel, remaining_us(circuit, policy, now_us))
        case CircuitState.HALF_OPEN:
            return _probe(_half_open(circuit, now_us), policy, channel, token, now_us)
        case unreachable:
            assert_never(unreachable)


def report(
    circuit: Circuit,
    policy: BreakerPolicy,
    permit: Permit,
    result: Report,
    now_us: int,
    *,
    reason: str | None = None,
    error_class: str | None = None,
) -> Circuit:
    if not _counts(circuit, permit) or (result is Report.SUCCESS and is_healthy(circuit)):
        return circuit
    probes = {name: until for name, until in circuit.probes.items() if name != permit.token}
    circuit = replace(circuit, probes=probes)
    match result:
        case Report.NEUTRAL:
            return circuit
        case Report.SUCCESS:
            return _succeeded(circuit, policy)
        case Report.FAILURE:
            return _failed(circuit, policy, now_us, reason or None, error_class or None)
        case unreachable:
            assert_never(unreachable)


def _believable(circuit: Circuit, policy: BreakerPolicy, now_us: int) -> Circuit:
    """Moments that this clock cannot have produced were written before it was set back; they count from now."""
    if circuit.state is CircuitState.CLOSED:  # no moment counts in it
        return circuit
    latest = now_us + policy.probe_lease_us
    if circuit.opened_at_us <= now_us and all(until <= latest for until in circuit.probes.values()):
        return circuit
    probes = {name: min(until, latest) for name, until in circuit.probes.items()}
    return replace(circuit, opened_at_us=min(circuit.opened_at_us, now_us), probes=probes)


def _half_open(circuit: Circuit, now_us: int) -> Circuit:
    if circuit.state is CircuitState.OPEN:
        return replace(circuit, state=CircuitState.HALF_OPEN, successes=0, probes={}, generation=circuit.generation + 1)
    return replace(circuit, probes={name: until for name, until in circuit.probes.items() if until > now_us})


def _probe(circuit: Circuit, policy: BreakerPolicy, channel: str, token: str, now_us: int) -> tuple[Circuit, Permit]:
    if len(circuit.probes) >= policy.half_open_probes:
        return circuit, _refusal(circuit, channel, min(circuit.probes.values()) - now_us)
    circuit = replace(circuit, probes={**circuit.probes, token: now_us + policy.probe_lease_us})
    return circuit, leave(circuit, channel, token)


def _counts(circuit: Circuit, permit: Permit) -> bool:
    """Calls begun in an earlier phase say nothing about this one, and a probe speaks once."""
    if not permit.allowed or permit.generation != circuit.generation:
        return False
    return circuit.state is CircuitState.CLOSED or permit.token in circuit.probes


def is_healthy(circuit: Circuit) -> bool:
    """Nothing that a success could improve: the common case, and it should cost nothing."""
    return (
        circuit.state is CircuitState.CLOSED and circuit.failures == 0 and circuit.reason is None and not circuit.probes
    )


def _succeeded(circuit: Circuit, policy: BreakerPolicy) -> Circuit:
    if circuit.state is CircuitState.CLOSED:
        return Circuit(generation=circuit.generation)
    if circuit.successes + 1 < policy.half_open_successes:
        return replace(circuit, successes=circuit.successes + 1)
    return Circuit(generation=circuit.generation + 1)


def _failed(
    circuit: Circuit, policy: BreakerPolicy, now_us: int, reason: str | None, error_class: str | None
) -> Circuit:
    circuit = replace(circuit, failures=circuit.failures + 1, reason=reason, error_class=error_class)
    if circuit.state is CircuitState.CLOSED and circuit.failures < policy.failure_threshold:
        return circuit
    return replace(
        circuit, state=CircuitState.OPEN, opened_at_us=now_us, successes=0, probes={}, generation=circuit.generation + 1
    )


def leave(circuit: Circuit, channel: str, token: str = "") -> Permit:
    """To make a call; the token names a probe."""
    return Permit(channel=channel, allowed=True, state=circuit.state, generation=circuit.generation, token=token)


def _refusal(circuit: Circuit, channel: str, wait_us: int) -> Permit:
    return Permit(
        channel=channel,
        allowed=False,
        state=circuit.state,
        generation=circuit.generation,
        retry_after_seconds=wait_us / SECOND_US,
    )


# -- What an attempt says about the provider's health, and when a circuit refuses new work ---


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
