"""Slack's envelopes, as what people wrote and pressed; an envelope that is neither, or nonsense, says nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from postroom.domain.assurance import Flag
from postroom.domain.inbound_message import InboundEvent, InboundFile, InboundMessage, Press
from postroom.world.channels.slack.address import is_message_id, is_place, is_user
from postroom.world.channels.slack.text import typed

_HEARD: Final = frozenset(["message", "app_mention"])
_BY_HAND: Final = frozenset([None, "file_share", "thread_broadcast", "me_message"])
_ABOUT_OTHERS: Final = frozenset(["message_changed", "message_deleted", "message_replied", "ekm_access_denied"])
_NOT_THERE: Final = frozenset(["tombstone", "hidden_by_limit"])
_SLACKBOT: Final = "USLACKBOT"

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PressedIn:
    """Where a press is answered, and whom; it travels as the press's `callback_id`."""

    channel: str
    user: str
    thread: str | None = None

    @property
    def callback_id(self) -> str:
        return ":".join([self.channel, self.user, self.thread or ""])


def pressed_in(callback_id: str) -> PressedIn | None:
    channel, user, thread = (*callback_id.split(":"), "", "")[:3]
    if not is_place(channel) or not is_user(user):
        return None
    return PressedIn(channel=channel, user=user, thread=thread if is_message_id(thread) else None)


def inbound_event(channel: str, envelope: Object) -> InboundEvent | None:
    payload = _object(envelope.get("payload"))
    match envelope.get("type"):
        case "events_api":
            return _message(channel, _object(payload.get("event")), _own_user(payload))
        case "interactive":
            return _press(channel, payload) if payload.get("type") == "block_actions" else None
        case _:
            return None


def _message(channel: str, event: Object, bot: str | None) -> InboundMessage | None:
    """A mention in a channel comes twice, as itself and as a message; both have the same name."""
    place, stamp, text = event.get("channel"), event.get("ts"), event.get("text")
    if event.get("type") not in _HEARD or event.get("subtype") in _ABOUT_OTHERS or event.get("hidden"):
        return None
    if not is_place(place) or not is_message_id(stamp):
        return None
    sender, flags = _sender(event), _flags(event)
    is_alone = event.get("channel_type") == "im"
    return InboundMessage(
        channel=channel,
        number=0,
        message_id=str(stamp),
        places=_places(str(place), sender, is_alone),
        sender=sender,
        text=typed(text, bot) if isinstance(text, str) else None,
        replies_to=_root(event),
        alone=is_alone and sender is not None and not flags,
        addressed=event.get("type") == "app_mention" or (bot is not None and f"<@{bot}>" in str(text)),
        said_at_us=_microseconds(str(stamp)),
        flags=flags,
        offers=tuple(offer(one) for one in _objects(event.get("files"))),
    )


def offer(told: Object) -> InboundFile:
    """Of a file that is only known by its id Slack tells the rest when it is asked."""
    url, size = told.get("url_private_download") or told.get("url_private"), told.get("size")
    name, gone = told.get("name") or told.get("title"), told.get("mode") in _NOT_THERE
    return InboundFile(
        reference=str(url or f"id:{told.get('id')}"),
        name=str(name or "file"),
        size=size if isinstance(size, int) else None,
        problem="Slack does not have it any more" if gone else "",
    )


def _press(channel: str, payload: Object) -> Press | None:
    """A button that opens a link is announced as well, without a value; that is for nobody to hear."""
    pressed = next((one for one in _objects(payload.get("actions")) if isinstance(one.get("value"), str)), None)
    place, user = _pressed_place(payload), _object(payload.get("user")).get("id")
    if pressed is None or place is None:
        return None
    sender = user if is_user(user) else None
    message, container = _object(payload.get("message")), _object(payload.get("container"))
    where = PressedIn(channel=place, user=sender or "", thread=message.get("thread_ts"))
    stamp = message.get("ts") or container.get("message_ts")
    return Press(
        channel=channel,
        event_id=f"press:{place}:{stamp}:{sender}:{pressed.get('action_ts')}",
        callback_id=where.callback_id,
        places=_places(place, sender, place.startswith("D")),
        sender=sender,
        token=pressed["value"],
        message_id=str(stamp) if stamp else None,
    )


def _pressed_place(payload: Object) -> str | None:
    named = _object(payload.get("channel")).get("id") or _object(payload.get("container")).get("channel_id")
    return named if is_place(named) else None


def _places(place: str, sender: str | None, is_alone: bool) -> tuple[str, ...]:
    """A direct message is also known by whom it is with."""
    return (place, sender) if is_alone and sender is not None else (place,)


def _sender(event: Object) -> str | None:
    user = event.get("user")
    return user if is_user(user) and not _is_bot(event) else None


def _flags(event: Object) -> frozenset[Flag]:
    marks = {
        Flag.BOT: _is_bot(event),
        Flag.AUTOMATIC: event.get("subtype") not in _BY_HAND,
        Flag.FORWARDED: any(one.get("is_share") for one in _objects(event.get("attachments"))),
    }
    return frozenset(flag for flag, is_so in marks.items() if is_so)


def _is_bot(event: Object) -> bool:
    return bool(event.get("bot_id") or event.get("bot_profile")) or event.get("user") == _SLACKBOT


def _root(event: Object) -> str | None:
    root = event.get("thread_ts")
    return root if is_message_id(root) and root != event.get("ts") else None


def _own_user(payload: Object) -> str | None:
    named = next((one.get("user_id") for one in _objects(payload.get("authorizations")) if one.get("is_bot")), None)
    return named if is_user(named) else None


def _microseconds(stamp: str) -> int:
    whole, _, fraction = stamp.partition(".")
    return int(whole) * 1_000_000 + int(fraction.ljust(6, "0"))


def _object(value: object) -> Object:
    return value if isinstance(value, Mapping) else {}


def _objects(value: object) -> list[Object]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
