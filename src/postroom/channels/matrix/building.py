"""A message as the calls that bring it into a room of Matrix; pure, so what can never succeed is refused here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, assert_never
from urllib.parse import quote

from postroom.channels.matrix.kind import MATRIX
from postroom.channels.shared import check_text, emoji_of, utf8_length, web_links, with_links
from postroom.kernel.http.answers import JsonBody
from postroom.kernel.text.rich import RichText, html_of, marked, pieces, readable, split
from postroom.kernel.values.errors import ValidationError
from postroom.message.delivery import REPEAT_MARK, Format, Intent, Message, ReceiptKind
from postroom.message.markup import Button, Markup, Revision

_SERVER: Final = r"(?:[A-Za-z0-9.-]{1,230}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?"
_USER: Final = re.compile(rf"@[!-9;-~]{{1,200}}:{_SERVER}")
_ROOM: Final = re.compile(rf"![!-9;-~]{{1,200}}(?::{_SERVER})?")  # since version 12 a room names no server
_EVENT: Final = re.compile(r"\$[!-~]{1,254}")
_LONGEST: Final = 255
_LIMIT: Final = MATRIX.max_units or 0
_MOST_CONTENT_BYTES: Final = 60_000  # of 65,536; the server adds hashes, signatures and what came before

MESSAGE: Final = "m.room.message"
REACTION: Final = "m.reaction"


def address(text: str) -> str | None:
    """A room's id, or a person's; an #alias can be given to another room, so it is no address."""
    text = text.strip(" ")
    return text if len(text) <= _LONGEST and (is_user(text) or _ROOM.fullmatch(text)) else None


def is_user(place: object) -> bool:
    return isinstance(place, str) and _USER.fullmatch(place) is not None


def is_event(name: object) -> bool:
    return isinstance(name, str) and _EVENT.fullmatch(name) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixCall:
    """
    `place` is a room, or a person whose direct room is found first. What is said stays out of `repr`.

    A homeserver takes a second call with the same `transaction` for the first one.
    """

    act: ReceiptKind
    place: str
    transaction: str
    type: str = MESSAGE
    about: str = ""
    """The event that is edited, taken back or reacted to."""
    content: JsonBody = field(default_factory=dict, repr=False)

    @property
    def path(self) -> str:
        """Below the room."""
        if self.act is ReceiptKind.DELETE:
            return f"redact/{quote(self.about, safe='')}/{quote(self.transaction, safe='')}"
        return f"send/{self.type}/{quote(self.transaction, safe='')}"

    @property
    def private(self) -> list[str]:
        """What no error may quote."""
        return [str(self.content.get(name, "")) for name in ("body", "formatted_body")]


def build(message: Message) -> Sequence[MatrixCall]:
    place = address(message.address)
    if place is None:
        raise ValidationError("recipient is neither a room's id (!…) nor a person's (@name:server) on Matrix")
    if message.revises is not None:
        return tuple(_edits(message, message.revises, message.revises.conversation or place))
    match message.intent:
        case Intent.SEND:
            return tuple(_said(message, place, {}))
        case Intent.REPLY:
            return tuple(_said(message, place, {"m.relates_to": {"m.in_reply_to": {"event_id": _thread(message)}}}))
        case Intent.REACT:
            return (_reaction(message, place),)
        case _:
            assert_never(message.intent)


def _said(message: Message, place: str, first_only: JsonBody) -> Iterator[MatrixCall]:
    for number, content in enumerate(_contents(message)):
        yield MatrixCall(
            act=ReceiptKind.SENT,
            place=place,
            transaction=_transaction(message, number),
            content=content | (first_only if number == 0 else {}),
        )


def _edits(message: Message, revises: Revision, place: str) -> Iterator[MatrixCall]:
    """What is longer now goes on in messages of its own; what stands there and is needed no more is taken back."""
    standing = revises.standing
    if not standing or not all(map(is_event, standing)):
        raise ValidationError("the messages to change on Matrix must be named by their event ids")
    contents = [] if revises.deletes else _contents(message)
    for number, content in enumerate(contents):
        about = standing[number] if number < len(standing) else ""
        yield MatrixCall(
            act=ReceiptKind.EDIT if about else ReceiptKind.SENT,
            place=place,
            transaction=_transaction(message, number),
            about=about,
            content=_replacing(content, about) if about else content,
        )
    for number, about in enumerate(standing[len(contents) :], start=len(contents)):
        yield MatrixCall(act=ReceiptKind.DELETE, place=place, transaction=_transaction(message, number), about=about)


def _replacing(content: JsonBody, about: str) -> JsonBody:
    """The words stand there twice: a client that knows no edits shows the outer ones as a message."""
    edit = {"m.new_content": content, "m.relates_to": {"rel_type": "m.replace", "event_id": about}}
    outer = {**content, "body": f"* {content['body']}", **edit}
    if "formatted_body" in content:
        outer["formatted_body"] = f"* {content['formatted_body']}"
    return outer if _fits(outer) else {**_plain("*"), **edit}


def _reaction(message: Message, place: str) -> MatrixCall:
    about = _thread(message)
    relation = {"rel_type": "m.annotation", "event_id": about, "key": emoji_of(message)}
    return MatrixCall(
        act=ReceiptKind.REACTION,
        place=place,
        transaction=_transaction(message, 0),
        type=REACTION,
        about=about,
        content={"m.relates_to": relation},
    )


def _transaction(message: Message, number: int) -> str:
    return f"{message.delivery_id}.{number}"


def _thread(message: Message) -> str:
    if not is_event(message.thread):
        raise ValidationError("the message to answer on Matrix must be named by its event id ($…)")
    return str(message.thread)


# The words.


def _contents(message: Message) -> list[JsonBody]:
    check_text(message)
    if not message.text:
        raise ValidationError("nothing on Matrix can be pressed, so an edit needs its words")
    links = _links(message.markup)
    if message.format is not Format.MARKDOWN:
        parts = split(with_links(message.text, links), _LIMIT, utf8_length)
        return [_plain(one) for one in (marked(parts, REPEAT_MARK, _LIMIT, utf8_length) if message.repeated else parts)]
    rich = web_links(message.text)
    rich = rich.followed_by(with_links(rich.text, links))
    shown = [_formatted(part) for part in pieces(rich, split(rich.text, _LIMIT, utf8_length))]
    return [*shown, _plain(REPEAT_MARK)] if message.repeated else shown


def _links(markup: Markup | None) -> list[Button]:
    """Nothing can be pressed, so a link stands below the words; what a press says to us can stand nowhere."""
    buttons = markup.every_button if markup else ()
    if any(one.url is None for one in buttons):
        raise ValidationError("a button on Matrix must be a link")
    return list(buttons)


def _plain(text: str) -> JsonBody:
    """
    m.text: for m.notice, which is meant for programs, most people's telephones are told to stay silent.

    Without `m.mentions` a homeserver would look for names in the words, and ring for whoever is called so.
    """
    return {"msgtype": "m.text", "body": text, "m.mentions": {}}


def _formatted(part: RichText) -> JsonBody:
    """`body` reads well by itself, and is all that is said where the HTML would make the event too large."""
    plain = _plain(readable(part))
    html = html_of(part)
    if html == part.text:
        return plain
    shown = {**plain, "format": "org.matrix.custom.html", "formatted_body": html}
    return shown if _fits(shown) else plain


def _fits(content: JsonBody) -> bool:
    return len(json.dumps(content, ensure_ascii=False).encode()) <= _MOST_CONTENT_BYTES
