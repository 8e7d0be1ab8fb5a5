"""How long a property test may take: as long as the machine needs, for a busy one has missed nothing."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("postroom", settings(deadline=None, suppress_health_check=[HealthCheck.too_slow]))
settings.register_profile("quick", parent=settings.get_profile("postroom"), max_examples=5)


def configure(profile: str | None) -> None:
    """Beside what hypothesis chose by itself, as where CI is set: the same examples each time."""
    settings.load_profile(profile or "postroom")


def at_most(examples: int) -> int:
    """Fewer where a developer runs the tests at every save."""
    return min(examples, settings.default.max_examples) if settings.get_current_profile_name() == "quick" else examples
