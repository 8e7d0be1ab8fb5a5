"""From a message to the calls of Slack's Web API that bring it."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, assert_never

from postroom.domain.delivery import REPEAT_MARK, Format, Intent, Message
from postroom.domain.errors import ValidationError
from postroom.domain.fields import text_problem
from postroom.domain.ids import DeliveryId
from postroom.domain.markup import Revision
from postroom.world.channels.graphemes import is_single
from postroom.world.channels.slack.address import address, is_message_id
from postroom.world.channels.slack.blocks import actions, section
from postroom.world.channels.slack.call import DELETE, DELETE_FILE, FILE_ID, POST, PUBLISH, REACT, UPDATE, SlackCall
from postroom.world.channels.slack.emoji import name_of
from postroom.world.channels.slack.rich_shown import content, rich_of, rich_parts
from postroom.world.channels.slack.text import escaped, parts, with_mark

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
        return _edits(message, message.revises, key)
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
    """Buttons stand under the last text; the files come after it, each published by itself."""
    if not message.text:
        raise ValidationError("message must not be blank")
    _check_text(message.text)
    to = {"channel": _address(message)} | where
    bodies = _bodies(message, key, to, _contents(message))
    bodies[-1]["blocks"] += actions(message.markup)
    return (*(SlackCall(method=POST, body=body) for body in bodies), *_files(message, to))


def _bodies(message: Message, key: bytes, to: dict[str, Any], texts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        to | shown | _NO_MARKUP | _NO_PREVIEWS | _marked(key, message.delivery_id, number)
        for number, shown in enumerate(texts)
    ]


def _files(message: Message, to: dict[str, Any]) -> Iterator[SlackCall]:
    for place, one in enumerate(message.attachments, 1):
        is_marked = message.repeated and place == len(message.attachments)
        yield SlackCall(method=PUBLISH, body=to | ({"initial_comment": REPEAT_MARK} if is_marked else {}), file=one)


def _edits(message: Message, revises: Revision, key: bytes) -> Sequence[SlackCall]:
    """
    What had the buttons first: they are to go at once. A text that needs more messages than stand there goes on in
    answers to the first, and messages it needs no more are deleted.
    """
    channel = revises.conversation or _address(message)
    if revises.deletes:
        return tuple(_deletion(one, channel) for one in revises.standing)
    if message.markup is not None and message.markup.force_reply:
        raise ValidationError("an edit cannot ask for a reply")
    under, stamps = actions(message.markup), _stamps(revises)
    if not message.text:
        body = {"channel": channel, "ts": stamps[-1], "blocks": under}
        return (SlackCall(method=UPDATE, body=body, keeps_text=True),)
    texts = _parts(message, repeated=message.repeated)
    texts[-1]["blocks"] += under
    changed = [
        SlackCall(method=UPDATE, body={"channel": channel, "ts": stamp, "parse": "none"} | shown)
        for stamp, shown in zip(stamps, texts, strict=False)
    ]
    *others, last = [*changed, *(_deletion(one, channel) for one in stamps[len(texts) :])]
    added = _bodies(message, key, {"channel": channel, "thread_ts": stamps[0]}, texts[len(stamps) :])
    return (last, *others, *(SlackCall(method=POST, body=body) for body in added))


def _deletion(sent_id: str, place: str) -> SlackCall:
    """A file of which Slack did not say in which message it stands is deleted itself."""
    if sent_id.startswith(FILE_ID):
        return SlackCall(method=DELETE_FILE, body={"file": sent_id.removeprefix(FILE_ID)})
    return SlackCall(method=DELETE, body={"channel": place, "ts": _stamp(sent_id)})


def _reaction(message: Message) -> SlackCall:
    emoji = (message.emoji or "").strip()
    if not is_single(emoji):
        raise ValidationError("emoji must be exactly one emoji")
    body = {"channel": _address(message), "timestamp": _thread(message), "name": name_of(emoji)}
    return SlackCall(method=REACT, body=body)


def _contents(message: Message) -> list[dict[str, Any]]:
    """Before files a mark makes no part of its own: it would come where a file was."""
    plain = _parts(message, repeated=False)
    marked = _parts(message, repeated=True) if message.repeated else plain
    return plain if message.attachments and len(marked) != len(plain) else marked


def _parts(message: Message, *, repeated: bool) -> list[dict[str, Any]]:
    if message.format is Format.MARKDOWN:
        return [content(part) for part in rich_parts(rich_of(message.text), repeated=repeated)]
    pieces = parts(message.text)
    return [_shown(piece) for piece in (with_mark(pieces, REPEAT_MARK) if repeated else pieces)]


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
    """Of the texts: the files came after them, and have nothing to edit."""
    if not revises.worded:
        raise ValidationError("only a Slack message can be edited")
    return [_stamp(one) for one in revises.worded]


def _stamp(sent_id: str) -> str:
    if not _SENT_ID.fullmatch(sent_id):
        raise ValidationError("only a Slack message can be edited")
    return sent_id
