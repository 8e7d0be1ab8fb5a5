"""From a message to the calls of Slack's Web API that bring it."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Sequence
from typing import Any, Final, assert_never

from postroom.domain.delivery import REPEAT_MARK, Intent, Message
from postroom.domain.errors import ValidationError
from postroom.domain.fields import text_problem
from postroom.domain.ids import DeliveryId
from postroom.domain.markup import Revision
from postroom.world.channels.graphemes import is_single
from postroom.world.channels.slack.address import address, is_message_id
from postroom.world.channels.slack.blocks import actions, section
from postroom.world.channels.slack.call import DELETE, POST, REACT, UPDATE, SlackCall
from postroom.world.channels.slack.emoji import name_of
from postroom.world.channels.slack.text import escaped, over, parts, with_mark

EVENT_TYPE: Final = "postroom_delivery"
_SENT_ID = re.compile(r"\d{1,12}(\.\d{1,6})?", re.ASCII)
_NO_PREVIEWS: Final = {"unfurl_links": False, "unfurl_media": False}
_NO_MARKUP: Final = {"mrkdwn": False, "parse": "none", "link_names": False}


def marking_key(bot_token: str) -> bytes:
    """Other apps may read what is hung on a message, so it is a hash that only the holder of the token can make."""
    return hmac.digest(bot_token.encode(), b"postroom: marks of slack messages", hashlib.sha256)


def build(message: Message, key: bytes) -> Sequence[SlackCall]:
    if message.revises is not None:
        _check_text(message.text)
        return _edits(message, message.revises)
    match message.intent:
        case Intent.SEND:
            return _posts(message, key, {})
        case Intent.REPLY:
            return _posts(message, key, {"thread_ts": _thread(message)})
        case Intent.REACT:
            return (_reaction(message),)
        case _:
            assert_never(message.intent)


def _posts(message: Message, key: bytes, where: dict[str, Any]) -> Sequence[SlackCall]:
    """Buttons stand under the last part."""
    if not message.text:
        raise ValidationError("message must not be blank")
    _check_text(message.text)
    pieces = parts(message.text)
    if message.repeated:
        pieces = with_mark(pieces, REPEAT_MARK)
    to = {"channel": _address(message)} | where
    bodies = [
        to | _shown(piece) | _NO_MARKUP | _NO_PREVIEWS | _marked(key, message.delivery_id, number)
        for number, piece in enumerate(pieces)
    ]
    bodies[-1]["blocks"] += actions(message.markup)
    return tuple(SlackCall(method=POST, body=body) for body in bodies)


def _edits(message: Message, revises: Revision) -> Sequence[SlackCall]:
    """The last part first: it has the buttons, and they are to go at once."""
    if revises.deletes:
        place = revises.conversation or _address(message)
        return tuple(SlackCall(method=DELETE, body={"channel": place, "ts": one}) for one in _stamps(revises))
    if message.markup is not None and message.markup.force_reply:
        raise ValidationError("an edit cannot ask for a reply")
    channel, under = revises.conversation or _address(message), actions(message.markup)
    stamps = _stamps(revises)
    last = {"channel": channel, "ts": stamps[-1]}
    if not message.text:
        return (SlackCall(method=UPDATE, body=last | {"blocks": under}, keeps_text=True),)
    *before, end = over(message.text, len(stamps))
    bodies = [
        {"channel": channel, "ts": stamp} | _shown(piece) for stamp, piece in zip(stamps[:-1], before, strict=True)
    ]
    closing = last | _shown(end)
    closing["blocks"] += under
    return tuple(SlackCall(method=UPDATE, body=body | {"parse": "none"}) for body in (closing, *bodies))


def _reaction(message: Message) -> SlackCall:
    emoji = (message.emoji or "").strip()
    if not is_single(emoji):
        raise ValidationError("emoji must be exactly one emoji")
    body = {"channel": _address(message), "timestamp": _thread(message), "name": name_of(emoji)}
    return SlackCall(method=REACT, body=body)


def _shown(piece: str) -> dict[str, Any]:
    """The block is what people see; `text` is for notifications and screen readers."""
    return {"text": escaped(piece), "blocks": [section(piece)]}


def _marked(key: bytes, delivery_id: DeliveryId, part: int) -> dict[str, Any]:
    mark = hmac.new(key, f"{delivery_id}:{part}".encode(), hashlib.sha256).hexdigest()[:32]
    return {"metadata": {"event_type": EVENT_TYPE, "event_payload": {"mark": mark}}}


def _check_text(text: str) -> None:
    if text and not text.strip():
        raise ValidationError("message must not be blank")
    if problem := text_problem(text):
        raise ValidationError(f"message {problem}")


def _address(message: Message) -> str:
    canonical = address(message.address)
    if canonical is None:
        raise ValidationError("recipient is no Slack id of a person (U…), a channel (C…) or a direct message (D…)")
    return canonical


def _thread(message: Message) -> str:
    if message.thread is None or not is_message_id(message.thread):
        raise ValidationError("the Slack message to answer must be named by its ts, such as 1700000000.000100")
    return message.thread


def _stamps(revises: Revision) -> list[str]:
    if not revises.provider_ids or not all(_SENT_ID.fullmatch(one) for one in revises.provider_ids):
        raise ValidationError("only a Slack message can be edited")
    return list(revises.provider_ids)
