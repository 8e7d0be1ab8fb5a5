"""Which channels the sandbox plays, and which reach people all the same."""

from __future__ import annotations

from postroom.app.known_channels import account_kinds, configured_channels
from postroom.app.sandbox_channel import FACED
from postroom.doors.console.sandbox_news import SandboxNews
from postroom.system.settings import Settings


def sandbox_news(settings: Settings) -> SandboxNews | None:
    """None in a household that is live."""
    if not settings.in_sandbox:
        return None
    kinds, usable = account_kinds(settings), configured_channels(settings)
    return SandboxNews(
        played=[name for name in usable if kinds[name] in FACED],
        live=[name for name in usable if kinds[name] not in FACED],
    )
