"""Events of Discord's Gateway, as what people wrote and pressed; one that is neither, or nonsense, says nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from postroom.domain.assurance import Flag
from postroom.domain.inbound_message import InboundEvent, InboundFile, InboundMessage, Press
from postroom.world.channels.discord.places import USER, made_at_us, snowflake

_WRITTEN: Final = frozenset({0, 19})  # by somebody: a message, a reply; the rest are notes by Discord itself
_FORWARD: Final = 1
_COMPONENT: Final = 3
_BUTTON: Final = 2
_DIRECT: Final = 1  # the type of a channel with one person
_WITH_THE_BOT: Final = 1  # the context of an interaction there


def inbound_event(channel: str, name: object, told: object, bot_id: str) -> InboundEvent | None:
    if not isinstance(told, Mapping):
        return None
    if name == "MESSAGE_CREATE":
        return _message(channel, told, bot_id)
    return _press(channel, told) if name == "INTERACTION_CREATE" else None


def _message(channel: str, told: Mapping[str, Any], bot_id: str) -> InboundMessage | None:
    number, place, writer = snowflake(told.get("id")), snowflake(told.get("channel_id")), _user(told.get("author"))
    text, replies_to = _text(told, bot_id), _replies_to(told)
    if number is None or place is None or told.get("type", 0) not in _WRITTEN:
        return None
    if writer == bot_id:
        return None  # Discord tells a bot of its own messages; to hear them would make its own words a conversation
    flags, alone = _flags(told), _is_direct(told) and writer is not None and not _is_bot(told)
    if not alone and text is None and replies_to is None:
        return None  # Discord hides from a bot what is not for it, so there is nothing to hear
    return InboundMessage(
        channel=channel,
        number=int(number),
        message_id=number,
        places=(place, f"{USER}{writer}") if alone else (place,),
        sender=None if _is_bot(told) or writer is None else f"{USER}{writer}",
        text=text,
        replies_to=replies_to,
        alone=alone,
        addressed=bool(bot_id) and re.search(rf"<@!?{bot_id}>", str(told.get("content"))) is not None,
        said_at_us=made_at_us(number),
        flags=flags,
        offers=_offers(told.get("attachments")),
    )


def _offers(listed: object) -> tuple[InboundFile, ...]:
    given = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    return tuple(
        InboundFile(
            reference=str(one.get("url") or ""),
            name=str(one.get("filename") or "file"),
            size=size if isinstance(size := one.get("size"), int) else None,
        )
        for one in given
    )


def _press(channel: str, told: Mapping[str, Any]) -> Press | None:
    data, number, token = told.get("data"), snowflake(told.get("id")), told.get("token")
    if told.get("type") != _COMPONENT or not isinstance(data, Mapping) or data.get("component_type") != _BUTTON:
        return None
    pressed, place, by = data.get("custom_id"), snowflake(told.get("channel_id")), _presser(told)
    if not isinstance(pressed, str) or not isinstance(token, str) or number is None:
        return None
    presser = _user(by)
    direct = [f"{USER}{presser}"] if presser and _is_direct_press(told) else []
    return Press(
        channel=channel,
        event_id=f"press:{number}",
        callback_id=f"{number}:{token}",
        places=(place, *direct) if place else (),
        sender=f"{USER}{presser}" if presser and not _is_marked_bot(by) else None,
        token=pressed,
        message_id=snowflake(message.get("id")) if isinstance(message := told.get("message"), Mapping) else None,
        flags=frozenset({Flag.BOT}) if _is_marked_bot(by) else frozenset(),
    )


def _presser(told: Mapping[str, Any]) -> object:
    """In a server the user stands inside the member."""
    member = told.get("member")
    return member.get("user") if isinstance(member, Mapping) else told.get("user")


def _text(told: Mapping[str, Any], bot_id: str) -> str | None:
    """Without the bot's own name before it, by which it is called in a server."""
    content = told.get("content")
    if not isinstance(content, str) or not content:
        return None
    return re.sub(rf"^\s*<@!?{bot_id}>\s*", "", content) if bot_id else content


def _replies_to(told: Mapping[str, Any]) -> str | None:
    about = told.get("message_reference")
    if not isinstance(about, Mapping) or _is_forward(told):
        return None
    return snowflake(about.get("message_id"))


def _flags(told: Mapping[str, Any]) -> frozenset[Flag]:
    marks = {Flag.FORWARDED: _is_forward(told), Flag.BOT: _is_bot(told)}
    return frozenset(flag for flag, is_so in marks.items() if is_so)


def _is_forward(told: Mapping[str, Any]) -> bool:
    about = told.get("message_reference")
    return bool(told.get("message_snapshots")) or (isinstance(about, Mapping) and about.get("type") == _FORWARD)


def _is_bot(told: Mapping[str, Any]) -> bool:
    """The author of a message from a webhook is the webhook."""
    return told.get("webhook_id") is not None or _is_marked_bot(told.get("author"))


def _is_marked_bot(user: object) -> bool:
    """Discord leaves the mark out for people."""
    return not isinstance(user, Mapping) or user.get("bot", False) is not False or user.get("system") is True


def _is_direct(told: Mapping[str, Any]) -> bool:
    return told.get("guild_id") is None and told.get("channel_type", _DIRECT) == _DIRECT


def _is_direct_press(told: Mapping[str, Any]) -> bool:
    """Two people may use a bot in their own direct channel, where it is not one of the two."""
    if told.get("guild_id") is not None or told.get("member") is not None:
        return False
    channel = told.get("channel")
    kind = channel.get("type", _DIRECT) if isinstance(channel, Mapping) else _DIRECT
    return told.get("context", _WITH_THE_BOT) == _WITH_THE_BOT and kind == _DIRECT


def _user(user: object) -> str | None:
    return snowflake(user.get("id")) if isinstance(user, Mapping) else None
