"""What a household sets of the popup."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from postroom.system.settings.secret import Secret
from postroom.system.settings.section import Seconds, SettingsSection


class DeskSettings(SettingsSection):
    """The popup at the person's own screen."""

    history_limit: Annotated[int, Field(ge=0, le=100)] = 5
    """Exchanges shown above the message."""
    show_seconds: Seconds = 10.0
    """How long a window may take to appear."""
    display_only_seconds: Seconds = 10.0
    """How long a message without a question stays."""
    typing_grace_seconds: Seconds = 10.0
    """A timeout waits until this long after the last key."""
    progress_seconds: Seconds = 10.0
    """How often a waiting client is told that the call is alive."""
    silence_seconds: Seconds = 60.0
    """A window that says nothing for so long is taken for dead."""
    questions: bool = True
    """Whether the household's open questions to you are shown as popups."""
    settle_seconds: Seconds = 1.0
    """So long a question of the household must have been there before it takes an answer."""
    token: Secret = Secret("")
    """What a client of `postroom desk --http` must bear; empty: whoever is on this machine may ask."""
