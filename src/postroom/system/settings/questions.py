"""Questions to people: where they are shown, and when."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from postroom.system.settings.section import Positive, SettingsSection


class AskSettings(SettingsSection):
    """Where questions to people are shown, beside their channels."""

    in_client: bool = True
    """Show questions as forms in MCP clients that call with a person's own token; never permissions or secrets."""


class QuestionSettings(SettingsSection):
    """When questions come to which channels of a person."""

    next_channel_seconds: Annotated[float, Field(ge=0, le=24 * 3600)] = 300.0
    """How long a question is on a person's first channel alone before the next one shows it, too; 0: not at all."""
    open_per_asker: Positive = 50
    """Questions of one agent, program or person that may wait for an answer at once; one more is refused."""
