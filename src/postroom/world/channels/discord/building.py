"""A message as the requests it takes on Discord; pure, and the same every time."""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any, Final, assert_never
from urllib.parse import quote

from postroom.domain.delivery import Format, Intent, Message, Receipt
from postroom.domain.errors import ValidationError
from postroom.domain.fields import text_problem
from postroom.domain.ids import DeliveryId
from postroom.domain.markup import Revision
from postroom.domain.rich_text import RichText
from postroom.world.channels.discord.components import components, fits_under
from postroom.world.channels.discord.files import with_files
from postroom.world.channels.discord.places import address, snowflake
from postroom.world.channels.discord.request import Act, DiscordRequest
from postroom.world.channels.discord.rich_shown import rich_of, rich_shown_parts
from postroom.world.channels.discord.shown_text import shown_parts
from postroom.world.channels.graphemes import is_emoji
from postroom.world.channels.telegram_keyboard import with_links

SUPPRESS_EMBEDS: Final = 1 << 2
NO_MENTIONS: Final[dict[str, Any]] = {"parse": [], "replied_user": False}
_OWN_EMOJI = re.compile(r"[A-Za-z0-9_]{2,32}:[0-9]{1,20}")  # one that a server has made


def build(message: Message) -> Sequence[DiscordRequest]:
    _check_text(message.text)
    if message.revises is not None:
        return _edits(message, message.revises)
    match message.intent:
        case Intent.SEND:
            return _texts(message, {})
        case Intent.REPLY:
            about = {"message_id": _message_id(message), "fail_if_not_exists": False}
            return _texts(message, {"message_reference": about})
        case Intent.REACT:
            return (_reaction(message),)
        case _:
            assert_never(message.intent)


def nonce(delivery_id: DeliveryId, part: int) -> str:
    """The same for every attempt at the same part, within Discord's 25 characters."""
    return urlsafe_b64encode(sha256(f"{delivery_id}:{part}".encode()).digest()[:18]).decode()


def receipt_of(request: DiscordRequest, channel_id: str, message_id: str) -> Receipt:
    """An edit and a reaction have names of their own: the message's belongs to the delivery that sent it."""
    if request.act is Act.WRITE:
        return Receipt(message_id, conversation=channel_id)
    return Receipt(f"{request.act}:{channel_id}:{request.about}", conversation=channel_id)


def _texts(message: Message, first_only: dict[str, Any]) -> Sequence[DiscordRequest]:
    """Buttons and files stand under the last part."""
    if not message.text:
        raise ValidationError("message must not be blank")
    parts = _parts(message)
    bodies = [_body(part) | _key(message.delivery_id, number) for number, part in enumerate(parts)]
    bodies[0] |= first_only
    if under := components(message.markup):
        bodies[-1]["components"] = under
    place = _place(message.address)
    requests = [
        DiscordRequest(act=Act.WRITE, place=place, method="POST", path="messages", body=body) for body in bodies
    ]
    return (*requests[:-1], with_files(requests[-1], message.attachments))


def _edits(message: Message, revises: Revision) -> Sequence[DiscordRequest]:
    """
    What had the buttons first: they are to go at once. A text that needs more messages than stand there goes on in
    answers to the first, and messages it needs no more are deleted, but for the one that has the files.
    """
    numbers = [_number(one) for one in revises.standing]
    if not numbers:
        raise ValidationError("the Discord message to edit must be named by its number")
    place = _place(revises.conversation or message.address)
    if revises.deletes:
        return tuple(_delete(place, number) for number in numbers)
    under: dict[str, Any] = {"components": components(message.markup)}
    if not message.text:
        return (_edit(place, numbers[-1], under),)
    texts: list[dict[str, Any]] = [{"content": text} for text in _parts(message)]
    texts[-1] |= under
    kept = _kept(numbers, len(texts), revises.provider_ids[-1] if revises.files else None)
    shown = dict(zip(kept, texts, strict=False))
    *others, last = [_edit(place, one, shown[one]) if one in shown else _delete(place, one) for one in numbers]
    return (last, *others, *_answers(message, place, numbers[0], texts[len(kept) :]))


def _kept(numbers: list[str], texts: int, with_files: str | None) -> list[str]:
    """So many of the first ones, and what holds the files in any case."""
    kept = numbers[:texts]
    return kept if with_files is None or with_files in kept else [*kept[:-1], with_files]


def _answers(message: Message, place: str, to: str, texts: list[dict[str, Any]]) -> Iterator[DiscordRequest]:
    about = {"message_id": to, "fail_if_not_exists": False}
    for number, text in enumerate(texts):
        body = {"flags": SUPPRESS_EMBEDS, "allowed_mentions": NO_MENTIONS, "message_reference": about} | text
        body |= _key(message.delivery_id, number)
        yield DiscordRequest(act=Act.WRITE, place=place, method="POST", path="messages", body=body)


def _parts(message: Message) -> list[str]:
    if message.format is Format.MARKDOWN:
        return rich_shown_parts(_rich(message), repeated=message.repeated)
    return shown_parts(with_links(message.text, message.markup, fits_under), repeated=message.repeated)


def _rich(message: Message) -> RichText:
    rich = rich_of(message.text)
    return rich.followed_by(with_links(rich.text, message.markup, fits_under))


def _edit(place: str, number: str, body: dict[str, Any]) -> DiscordRequest:
    body = body | {"allowed_mentions": NO_MENTIONS}
    return DiscordRequest(act=Act.EDIT, place=place, method="PATCH", path=f"messages/{number}", about=number, body=body)


def _delete(place: str, number: str) -> DiscordRequest:
    return DiscordRequest(act=Act.DELETE, place=place, method="DELETE", path=f"messages/{number}", about=number)


def _reaction(message: Message) -> DiscordRequest:
    emoji = (message.emoji or "").strip()
    if not is_emoji(emoji) and not _OWN_EMOJI.fullmatch(emoji):
        raise ValidationError("emoji must be exactly one emoji")
    about = _message_id(message)
    path = f"messages/{about}/reactions/{quote(emoji, safe='')}/@me"
    return DiscordRequest(act=Act.REACT, place=_place(message.address), method="PUT", path=path, about=about)


def _body(text: str) -> dict[str, Any]:
    return {"content": text, "flags": SUPPRESS_EMBEDS, "allowed_mentions": NO_MENTIONS}


def _key(delivery_id: DeliveryId, part: int) -> dict[str, Any]:
    return {"nonce": nonce(delivery_id, part), "enforce_nonce": True}


def _check_text(text: str) -> None:
    if text and not text.strip():
        raise ValidationError("message must not be blank")
    if problem := text_problem(text):
        raise ValidationError(f"message {problem}")


def _place(text: str) -> str:
    if (canonical := address(text)) is None:
        raise ValidationError("recipient is neither a Discord channel id nor user:ID")
    return canonical


def _message_id(message: Message) -> str:
    return _number(message.thread or "")


def _number(text: str) -> str:
    if (number := snowflake(text)) is None:
        raise ValidationError("the Discord message must be named by its number")
    return number
