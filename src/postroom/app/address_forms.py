"""What counts as an address on each channel the settings know, without opening any of them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from postroom.app.account_channel import account_channel
from postroom.app.known_channels import account_kinds
from postroom.domain.ports import Channel
from postroom.system.settings import Settings
from postroom.world.channels.address_forms import ADDRESS_FORMS

if TYPE_CHECKING:
    from collections.abc import Callable

    from postroom.work.people.new_person import AddressForms


def address_forms(settings: Settings) -> AddressForms:
    kinds = account_kinds(settings)
    return {name: ADDRESS_FORMS.get(kinds[name]) or _by_its_channel(settings, name) for name in kinds}


def _by_its_channel(settings: Settings, name: str) -> Callable[[str], str | None]:
    """Made when the first address is looked at: a factory may need what only a running household has."""

    account = next(one for one in settings.accounts if one.name == name)

    @cache
    def channel() -> Channel:
        return account_channel(account, settings.home)

    return lambda text: channel().address(text)
