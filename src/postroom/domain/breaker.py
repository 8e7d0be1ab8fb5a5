"""A circuit breaker as data: (circuit, event, now) gives the next circuit."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum


class State(StrEnum):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Circuit:
    """`generation` grows with every change of state, so late results can be told apart."""

    state: State = State.CLOSED
    failures: int = 0
    successes: int = 0
    opened_at_us: int = 0
    generation: int = 0
    reason: str | None = None
    error_class: str | None = None
    probes: dict[str, int] = field(default_factory=dict)  # token -> when its lease ends


@dataclass(frozen=True, slots=True, kw_only=True)
class Permit:
    """Leave (or not) to make one call; handed back with the call's result."""

    channel: str
    allowed: bool
    state: State
    generation: int
    token: str = ""
    retry_after_seconds: float = 0.0


def state_at(circuit: Circuit, policy: BreakerPolicy, now_us: int) -> State:
    """An open circuit becomes half-open by the passing of time alone."""
    if circuit.state is State.OPEN and remaining_us(circuit, policy, now_us) <= 0:
        return State.HALF_OPEN
    return circuit.state


def remaining_us(circuit: Circuit, policy: BreakerPolicy, now_us: int) -> int:
    return circuit.opened_at_us + round(policy.recovery_seconds * 1_000_000) - now_us


def acquire(
    circuit: Circuit, policy: BreakerPolicy, channel: str, token: str, now_us: int
) -> tuple[Circuit, Permit]:
    state = state_at(circuit, policy, now_us)
    if state is State.OPEN:
        wait = remaining_us(circuit, policy, now_us) / 1_000_000
        return circuit, _permit(circuit, channel, state, allowed=False, wait=wait)
    if state is State.CLOSED:
        return circuit, _permit(circuit, channel, state, allowed=True)
    if circuit.state is State.OPEN:
        circuit = replace(
            circuit, state=State.HALF_OPEN, successes=0, probes={}, generation=circuit.generation + 1
        )
    alive = {name: until for name, until in circuit.probes.items() if until > now_us}
    if len(alive) >= policy.half_open_probes:
        wait = (min(alive.values()) - now_us) / 1_000_000
        return replace(circuit, probes=alive), _permit(circuit, channel, state, allowed=False, wait=wait)
    alive[token] = now_us + round(policy.probe_lease_seconds * 1_000_000)
    circuit = replace(circuit, probes=alive)
    return circuit, _permit(circuit, channel, state, allowed=True, token=token)


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
    """Results of calls begun in an earlier phase are ignored."""
    if permit.generation != circuit.generation:
        return circuit
    probes = {name: until for name, until in circuit.probes.items() if name != permit.token}
    circuit = replace(circuit, probes=probes)
    match result:
        case Report.NEUTRAL:
            return circuit
        case Report.SUCCESS:
            return _succeeded(circuit, policy)
        case Report.FAILURE:
            return _failed(circuit, policy, now_us, reason, error_class)


def _succeeded(circuit: Circuit, policy: BreakerPolicy) -> Circuit:
    if circuit.state is not State.HALF_OPEN:
        return replace(circuit, failures=0)
    if circuit.successes + 1 < policy.half_open_successes:
        return replace(circuit, successes=circuit.successes + 1)
    return Circuit(generation=circuit.generation + 1)


def _failed(
    circuit: Circuit, policy: BreakerPolicy, now_us: int, reason: str | None, error_class: str | None
) -> Circuit:
    failures = circuit.failures + 1
    circuit = replace(circuit, failures=failures, reason=reason, error_class=error_class)
    if circuit.state is not State.HALF_OPEN and failures < policy.failure_threshold:
        return circuit
    return replace(
        circuit, state=State.OPEN, opened_at_us=now_us, successes=0, probes={}, generation=circuit.generation + 1
    )


def _permit(
    circuit: Circuit, channel: str, state: State, *, allowed: bool, token: str = "", wait: float = 0.0
) -> Permit:
    return Permit(
        channel=channel,
        allowed=allowed,
        state=state,
        generation=circuit.generation,
        token=token,
        retry_after_seconds=wait,
    )
