"""Circuit breakers inside one process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from postroom.domain import breaker
from postroom.domain.breaker import BreakerPolicy, Circuit, CircuitState, Permit, Report
from postroom.domain.clock import Clock

_NEW: Final = Circuit()


class MemoryBreakers:
    """No step awaits anything in its middle, so every step is atomic within its event loop."""

    def __init__(self, policy: BreakerPolicy, clock: Clock, tokens: Callable[[], str]) -> None:
        self._policy = policy
        self._clock = clock
        self._tokens = tokens
        self._circuits: dict[str, Circuit] = {}
        self._leave: dict[str, Permit] = {}  # of channels whose circuit is closed: one is like the other

    async def acquire(self, channel: str) -> Permit:
        known = self.known(channel)
        if known.state is not CircuitState.CLOSED:
            now = self._clock.now_us()
            self._circuits[channel], permit = breaker.acquire(known, self._policy, channel, self._tokens(), now)
            return permit
        leave = self._leave.get(channel)
        if leave is None or leave.generation != known.generation:
            leave = self._leave[channel] = breaker.leave(known, channel)
        return leave

    async def report(
        self, permit: Permit, result: Report, *, reason: str | None = None, error_class: str | None = None
    ) -> Circuit:
        known = self.known(permit.channel)
        if result is Report.SUCCESS and breaker.is_healthy(known):
            return known
        now = self._clock.now_us()
        circuit = breaker.report(known, self._policy, permit, result, now, reason=reason, error_class=error_class)
        self._circuits[permit.channel] = circuit
        return breaker.as_of(circuit, self._policy, now)

    async def circuit(self, channel: str) -> Circuit:
        known = self.known(channel)
        return known if known.state is CircuitState.CLOSED else breaker.as_of(known, self._policy, self._clock.now_us())

    async def restore(self, channel: str, circuit: Circuit) -> None:
        if circuit.generation > self.known(channel).generation:
            self.adopt(channel, circuit)

    def known(self, channel: str) -> Circuit:
        """As it was written, whatever time it is now."""
        return self._circuits.get(channel, _NEW)

    def adopt(self, channel: str, circuit: Circuit) -> None:
        """Follow another breaker, even backwards."""
        self._circuits[channel] = circuit
