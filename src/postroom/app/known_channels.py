"""Every channel a message may name, with what it can do and what the settings say about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from postroom.app.own_channel import declared
from postroom.domain.capabilities import UNDECLARED, Capabilities
from postroom.domain.ports import Channel
from postroom.system.settings import Settings
from postroom.system.settings.accounts import ChannelSettings, EmailAccount, EmailSettings, SlackAccount
from postroom.system.settings.shipped import SHIPPED, spacings_seconds, timeouts_seconds
from postroom.work.delivery.limits import SCOPES
from postroom.world.channels.kinds import KINDS


def known_channels(settings: Settings, channels: Mapping[str, Channel] | None = None) -> dict[str, Capabilities]:
    """One without credentials is known and unavailable; one that has been made speaks for itself."""
    named = {name: _declared(settings, name, kind) for name, kind in account_kinds(settings).items()}
    made = {name: channel.capabilities for name, channel in (channels or {}).items()}
    return _as_set(settings, named | made)


def account_kinds(settings: Settings) -> dict[str, str]:
    """Of every account that may be named; one that the settings name by its factory is a kind of its own."""
    return {name: name for name in SHIPPED} | {one.name: one.kind for one in settings.accounts}


def configured_channels(settings: Settings) -> tuple[str, ...]:
    """Those with credentials, or the sandbox's, in the order they are tried."""
    if not settings.in_sandbox:
        return tuple(account.name for account in settings.accounts)
    return tuple(name for name, kind in account_kinds(settings).items() if kind in SHIPPED)


def usable_channels(settings: Settings) -> tuple[str, ...]:
    """The same, and never none: the first one's refusal says what is missing."""
    return configured_channels(settings) or SHIPPED[:1]


def _declared(settings: Settings, name: str, kind: str) -> Capabilities:
    options = settings.channels.get(name)
    if isinstance(options, ChannelSettings):
        return declared(name, options)
    can = KINDS.get(kind, UNDECLARED)
    return replace(can, inbound=False) if _is_deaf(settings, name) else can


def _is_deaf(settings: Settings, name: str) -> bool:
    """Set up to send, and not to hear what people answer."""
    options = {account.name: account.options for account in settings.accounts}.get(name)
    match options:
        case SlackAccount():
            return not options.app_token and not settings.in_sandbox
        case EmailSettings() | EmailAccount():
            return not (options.imap_host and options.authserv_id) and not settings.in_sandbox
        case _:
            return False


def _as_set(settings: Settings, known: Mapping[str, Capabilities]) -> dict[str, Capabilities]:
    """The household's own numbers win over what a channel asks for."""
    timeouts, spacings, kinds = timeouts_seconds(settings), spacings_seconds(settings), account_kinds(settings)
    return {
        name: replace(
            one,
            timeout_seconds=timeouts.get(kinds.get(name, name), one.timeout_seconds),
            spacing_seconds=spacings.get(kinds.get(name, name), one.spacing_seconds),
            bot_per_minute=settings.limits.channels.get(f"{name}.{SCOPES[0]}", one.bot_per_minute),
            user_per_minute=settings.limits.channels.get(f"{name}.{SCOPES[1]}", one.user_per_minute),
        )
        for name, one in known.items()
    }
