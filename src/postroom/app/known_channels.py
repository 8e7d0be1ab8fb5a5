"""Every channel a message may name, with what it can do and what the settings say about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from postroom.app.own_channel import declared
from postroom.domain.capabilities import Capabilities
from postroom.domain.ports import Channel
from postroom.system.settings import Settings
from postroom.system.settings.shipped import SHIPPED, set_up, spacings_seconds, timeouts_seconds
from postroom.work.delivery.limits import SCOPES
from postroom.world.channels.kinds import KINDS


def known_channels(settings: Settings, channels: Mapping[str, Channel] | None = None) -> dict[str, Capabilities]:
    """One without credentials is known and unavailable; one that has been made speaks for itself."""
    named = {name: KINDS[name] for name in SHIPPED}
    named |= {name: declared(name, one) for name, one in settings.channels.items()}
    made = {name: channel.capabilities for name, channel in (channels or {}).items()}
    return _as_set(settings, named | made)


def kind_of(name: str) -> str:
    """A channel that the settings name by its factory is a kind of its own."""
    return name if name in KINDS else "factory"


def configured_channels(settings: Settings) -> tuple[str, ...]:
    """Those with credentials, or the sandbox's, in the order they are tried."""
    return SHIPPED if settings.in_sandbox else (*set_up(settings), *settings.channels)


def usable_channels(settings: Settings) -> tuple[str, ...]:
    """The same, and never none: the first one's refusal says what is missing."""
    return configured_channels(settings) or SHIPPED[:1]


def _as_set(settings: Settings, known: Mapping[str, Capabilities]) -> dict[str, Capabilities]:
    """The household's own numbers win over what a channel asks for."""
    timeouts, spacings = timeouts_seconds(settings), spacings_seconds(settings)
    return {
        name: replace(
            one,
            timeout_seconds=timeouts.get(name, one.timeout_seconds),
            spacing_seconds=spacings.get(name, one.spacing_seconds),
            bot_per_minute=settings.limits.channels.get(f"{name}.{SCOPES[0]}", one.bot_per_minute),
            user_per_minute=settings.limits.channels.get(f"{name}.{SCOPES[1]}", one.user_per_minute),
        )
        for name, one in known.items()
    }
