"""The channel `auto`: the first that is set up, in the person's own order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from postroom.domain.channel_names import AUTO
from postroom.domain.errors import FieldError, ValidationError
from postroom.domain.outgoing import Outgoing
from postroom.domain.ports import Channel
from postroom.domain.seams import AddressBook


async def in_own_order(outgoing: Outgoing, book: AddressBook, channels: Mapping[str, Channel]) -> Outgoing:
    """Raises ValidationError when no channel reaches the person; what names its channel stays as it is."""
    if outgoing.channel != AUTO:
        return outgoing
    own = [*await book.channels_of(outgoing.recipient), *_by_form(outgoing.recipient, channels)]
    found = next((name for name in own if name in channels), None)
    if found is None:
        told = "auto finds no channel that is set up and reaches this person; name one"
        raise ValidationError.of([FieldError("delivery.channel", told, "no_channel")])
    return replace(outgoing, channel=found)


def _by_form(recipient: str | None, channels: Mapping[str, Channel]) -> list[str]:
    """A mailbox is plain to see; on other channels a name may look like an address."""
    if recipient is None or "@" not in recipient.strip()[1:]:
        return []
    letters = [name for name, one in channels.items() if one.capabilities.style == "letter"]
    return [name for name in letters if channels[name].address(recipient)]
