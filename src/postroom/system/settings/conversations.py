"""What people write to butlers, in the settings."""

from __future__ import annotations

from postroom.system.settings.section import Positive, SettingsSection


class ConversationSettings(SettingsSection):
    """What people write to butlers."""

    messages_per_minute: Positive = 30
    """Messages of one sender that are read within a minute; what comes after them is not, and the sender is told so."""
    sessions_per_day: Positive = 100
    """Messages of one person that butlers answer within 24 hours; each is a session of a model."""
    tokens_per_day: Positive = 5_000_000
    """Tokens that butlers' models may read and write for one person within 24 hours, as their programs count."""
