"""How long a property test may take: as long as the machine needs, for a busy one has missed nothing."""

from __future__ import annotations

from hypothesis import HealthCheck, settings


def configure() -> None:
    """Beside what hypothesis chose by itself, as where CI is set: the same examples each time."""
    settings.register_profile("postroom", settings(deadline=None, suppress_health_check=[HealthCheck.too_slow]))
    settings.load_profile("postroom")
