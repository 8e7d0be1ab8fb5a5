"""A channel that is not ours: the household's settings name the function that makes it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from postroom.domain.ports import Channel
from postroom.system.settings import SettingsError
from postroom.system.settings.model import ChannelSettings


def own_channel(name: str, settings: ChannelSettings) -> Channel:
    """Whoever writes the settings may run code here; nobody else can name a factory."""
    factory = _factory(name, settings.factory)
    options = {option: value.reveal() for option, value in settings.options.items()}
    try:
        channel: Channel = factory(**options)
    except (TypeError, ValueError) as error:
        raise SettingsError(f"channels.{name}: {settings.factory} does not take these options ({error}).") from None
    if getattr(channel, "name", None) != name:
        raise SettingsError(f"channels.{name}: {settings.factory} makes a channel of another name.")
    return channel


def _factory(name: str, where: str) -> Any:
    module, _, function = where.partition(":")
    try:
        return getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError):
        raise SettingsError(f"channels.{name}.factory: there is no '{where}'; write it as module:function.") from None
