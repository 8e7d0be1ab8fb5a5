"""Circuit breakers inside one process."""

from __future__ import annotations

from collections.abc import Callable

from postroom.domain import breaker
from postroom.domain.breaker import BreakerPolicy, Circuit, CircuitState, Permit, Report
from postroom.domain.ports import Clock


class MemoryBreakers:
    """No step awaits anything in its middle, so every step is atomic within its event loop."""

    def __init__(self, policy: BreakerPolicy, clock: Clock, tokens: Callable[[], str]) -> None:
        self._policy = policy
        self._clock = clock
        self._tokens = tokens
        self._circuits: dict[str, Circuit] = {}

    async def acquire(self, channel: str) -> Permit:
        now, known = self._clock.now_us(), self.known(channel)
        token = "" if known.state is CircuitState.CLOSED else self._tokens()  # only a probe needs a name
        self._circuits[channel], permit = breaker.acquire(known, self._policy, channel, token, now)
        return permit

    async def report(
        self, permit: Permit, result: Report, *, reason: str | None = None, error_class: str | None = None
    ) -> Circuit:
        now, known = self._clock.now_us(), self.known(permit.channel)
        circuit = breaker.report(known, self._policy, permit, result, now, reason=reason, error_class=error_class)
        self._circuits[permit.channel] = circuit
        return breaker.as_of(circuit, self._policy, now)

    async def circuit(self, channel: str) -> Circuit:
        return breaker.as_of(self.known(channel), self._policy, self._clock.now_us())

    async def restore(self, channel: str, circuit: Circuit) -> None:
        if circuit.generation > self.known(channel).generation:
            self.adopt(channel, circuit)

    def known(self, channel: str) -> Circuit:
        """As it was written, whatever time it is now."""
        return self._circuits.get(channel) or Circuit()

    def adopt(self, channel: str, circuit: Circuit) -> None:
        """Follow another breaker, even backwards."""
        self._circuits[channel] = circuit
