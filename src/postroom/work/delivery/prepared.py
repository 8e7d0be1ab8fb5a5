"""The calls a message takes on a channel, in a format that the channel shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from postroom.domain.delivery import Format, Message
from postroom.domain.plain_words import plain_words
from postroom.domain.ports import Channel
from postroom.system.long_texts import beside_if_long


async def prepare_aside(channel: Channel, message: Message) -> Sequence[Any]:
    """The same, and nobody else's call waits for a long text."""
    return await beside_if_long(len(message.text), partial(prepared, channel, message))


def prepared(channel: Channel, message: Message) -> Sequence[Any]:
    """
    Raises what the channel raises.

    Markdown becomes readable text where a channel knows nothing of it, so no channel needs to. It is read anew at
    every attempt, and always comes out the same; only a newer version of Postroom may send other bytes under a key.
    """
    if message.format is Format.PLAIN or str(message.format) in channel.capabilities.formats:
        return channel.prepare(message)
    return channel.prepare(replace(message, text=plain_words(message.text, message.format), format=Format.PLAIN))
