"""A message as a service of Apprise takes it: plain text in pieces, with a title over the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from postroom.domain.delivery import REPEAT_MARK, Intent, Message
from postroom.domain.errors import ValidationError
from postroom.domain.fields import text_problem
from postroom.world.channels.email_links import links
from postroom.world.channels.telegram_text import cut, marked, split

ADDRESS: Final = "-"
_LEAST_BODY: Final = 40
_LONGEST_TITLE: Final = 250


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceLimits:
    """In characters; a title of 0 stands in the text itself."""

    body: int
    title: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprisePart:
    text: str = field(repr=False)
    title: str = field(default="", repr=False)


def address(text: str) -> str | None:
    """The URL in the settings is the address; a message has nothing to add."""
    return ADDRESS if text.strip() == ADDRESS else None


def build(message: Message, limits: ServiceLimits) -> Sequence[ApprisePart]:
    _check(message)
    title = _title(message.subject or "", limits)
    room = max(limits.body - (len(title) + 2 if limits.title <= 0 else 0), _LEAST_BODY)
    texts = split("\n\n".join([message.text.rstrip(), *links(message.markup)]), room)
    if message.repeated:
        texts = marked(texts, REPEAT_MARK, room)
    first, *others = texts
    return (ApprisePart(text=first, title=title), *(ApprisePart(text=text) for text in others))


def _check(message: Message) -> None:
    if address(message.address) is None:
        raise ValidationError("recipient must be -: the URL in the settings says where messages go")
    if message.revises is not None:
        raise ValidationError("what was sent with Apprise cannot be edited")
    if message.intent is not Intent.SEND:
        raise ValidationError("Apprise can only send: it knows neither replies nor reactions")
    if not message.text.strip():
        raise ValidationError("message must not be blank")
    for name, text in (("message", message.text), ("subject", message.subject or "")):
        if problem := text_problem(text):
            raise ValidationError(f"{name} {problem}")


def _title(subject: str, limits: ServiceLimits) -> str:
    most = limits.title if limits.title > 0 else min(_LONGEST_TITLE, limits.body // 4)
    return cut(" ".join(subject.split()), most)
