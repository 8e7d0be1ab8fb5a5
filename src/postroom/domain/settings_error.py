"""Settings that cannot be read."""

from __future__ import annotations

from postroom.domain.errors import UserError


class SettingsError(UserError):
    """One sentence for the person who wrote the setting."""
