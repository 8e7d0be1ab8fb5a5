"""A channel of the household's own: the settings name the function that makes it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from postroom.kernel.values.errors import SettingsError
from postroom.message.attachment import FileContents
from postroom.message.channel import UNDECLARED, Capabilities, Channel, Probe
from postroom.settings.accounts import ChannelSettings


class Undeclared:
    """A channel written before channels declared what they can: it goes on as it did."""

    def __init__(self, channel: Any, capabilities: Capabilities) -> None:
        self._channel = channel
        self.name: str = channel.name
        self.capabilities = capabilities
        self.address, self.prepare = channel.address, channel.prepare
        self.send, self.close = channel.send, channel.close
        if isinstance(channel, Probe):
            self.probe = channel.probe

    def __repr__(self) -> str:
        return repr(self._channel)


def own_channel(name: str, settings: ChannelSettings, files: FileContents | None = None) -> Channel:
    """
    Whoever writes the settings may run code here; nobody else can name a factory.

    One that says it carries files is given the way to their bytes as `files`.
    """
    factory = _factory(name, settings.factory)
    options = {option: value.reveal() for option, value in settings.options.items()}
    said = _said(name, factory)
    given: Mapping[str, object] = {**options, "files": files} if said and said.files else options
    try:
        channel = factory(**given)
    except (TypeError, ValueError) as error:
        raise SettingsError(
            f"channels.{name}: {settings.factory} does not take these options ({error}); correct the section."
        ) from None
    if getattr(channel, "name", None) != name:
        raise SettingsError(
            f"channels.{name}: {settings.factory} makes a channel of another name; call the section like it."
        )
    made: Channel = channel if _said(name, channel) else Undeclared(channel, said or UNDECLARED)
    return made


def declared(name: str, settings: ChannelSettings) -> Capabilities:
    """What its factory says of it, for parts that never make it; they need not even have its module."""
    try:
        return _said(name, _factory(name, settings.factory)) or UNDECLARED
    except Exception:  # somebody else's module; the part that sends with it says what is wrong
        return UNDECLARED


def _said(name: str, speaker: Any) -> Capabilities | None:
    said = getattr(speaker, "capabilities", None)
    if isinstance(said, property) or said is None:
        return None
    if not isinstance(said, Capabilities):
        raise SettingsError(f"channels.{name}: capabilities must be a postroom.message.channel.Capabilities.")
    return said


def _factory(name: str, where: str) -> Any:
    module, _, function = where.partition(":")
    try:
        return getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError):
        raise SettingsError(f"channels.{name}.factory: there is no '{where}'; write it as module:function.") from None
