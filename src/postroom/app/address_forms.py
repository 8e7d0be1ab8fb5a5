"""What counts as an address on each channel the settings know, without opening any of them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from postroom.app.known_channels import known_channels
from postroom.app.own_channel import own_channel
from postroom.domain.ports import Channel
from postroom.system.settings import Settings
from postroom.world.channels.address_forms import ADDRESS_FORMS

if TYPE_CHECKING:
    from collections.abc import Callable

    from postroom.work.people.new_person import AddressForms


def address_forms(settings: Settings) -> AddressForms:
    return {name: ADDRESS_FORMS.get(name) or _of_own_channel(settings, name) for name in known_channels(settings)}


def _of_own_channel(settings: Settings, name: str) -> Callable[[str], str | None]:
    """Made when the first address is looked at: a factory may need what only a running household has."""

    @cache
    def channel() -> Channel:
        return own_channel(name, settings.channels[name])

    return lambda text: channel().address(text)
