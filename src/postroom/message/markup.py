"""What stands under a message for the person to press or to fill in, and which message another one replaces."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any

from postroom.kernel.values.fields import without_none
from postroom.kernel.values.ids import DeliveryId, record


class ButtonStyle(StrEnum):
    PRIMARY = "primary"
    SUCCESS = "success"
    DANGER = "danger"


@record
class Button:
    """
    Pressing it says `token` to us, or opens `url`; exactly one of the two.

    Both can be as good as an answer, so neither is ever logged, shown by `repr` or told to an agent.
    """

    label: str
    token: str | None = field(default=None, repr=False)
    url: str | None = field(default=None, repr=False)
    style: ButtonStyle | None = None

    def __post_init__(self) -> None:
        if (self.token is None) == (self.url is None):
            raise ValueError("a button has either a token or a url")


Rows = tuple[tuple[Button, ...], ...]


@record
class Markup:
    """
    `force_reply` opens the person's keyboard for a reply, with `placeholder` in it; a message has that or buttons.

    `reply_to` is the mailbox an answer by e-mail goes to, where it is not the sender's.
    """

    buttons: Rows = ()
    force_reply: bool = False
    placeholder: str | None = None
    reply_to: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.force_reply and self.buttons:
            raise ValueError("a message has buttons or asks for a reply, not both")

    @property
    def every_button(self) -> tuple[Button, ...]:
        return tuple(button for row in self.buttons for button in row)

    @property
    def labels(self) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(button.label for button in row) for row in self.buttons)


@record
class Revision:
    """
    The delivery that is to say something else now, and the provider's names for its parts, in order.

    `conversation`: where they stand, as the receipt said; None when that is the address. `files`: so many of the
    last parts are files, which have no text to edit. `deletes`: it is to be gone.

    Earlier revisions may have added messages (`more`, in order) and taken some of the first ones away (`gone`).
    """

    delivery_id: DeliveryId
    provider_ids: tuple[str, ...]
    conversation: str | None = None
    files: int = 0
    deletes: bool = False
    more: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    @property
    def standing(self) -> tuple[str, ...]:
        return tuple(one for one in (*self.provider_ids, *self.more) if one not in self.gone)

    @property
    def worded(self) -> tuple[str, ...]:
        """Those with words, where files come after them; a single file has the words as its caption."""
        texts = self.provider_ids[: len(self.provider_ids) - self.files] or self.provider_ids[:1]
        return tuple(one for one in (*texts, *self.more) if one not in self.gone)


def markup_object(markup: Markup) -> dict[str, Any]:
    """What is not set is left out."""
    return without_none(
        {
            "buttons": [[_button_object(button) for button in row] for row in markup.buttons] or None,
            "force_reply": markup.force_reply or None,
            "placeholder": markup.placeholder,
            "reply_to": markup.reply_to,
        }
    )


def read_markup(value: object) -> Markup:
    """Raises ValueError when it is anything but what `markup_object` makes."""
    given = _object(value, {"buttons", "force_reply", "placeholder", "reply_to"})
    rows = _list(given.get("buttons", []))
    return Markup(
        buttons=tuple(tuple(_read_button(one) for one in _list(row)) for row in rows),
        force_reply=given.get("force_reply", False) is True,
        placeholder=_text(given.get("placeholder")),
        reply_to=_text(given.get("reply_to")),
    )


def markup_text(markup: Markup | None) -> str | None:
    return None if markup is None else json.dumps(markup_object(markup), ensure_ascii=False, separators=(",", ":"))


def markup_of_text(text: str | None) -> Markup | None:
    return None if text is None else read_markup(json.loads(text))


def revision_text(revision: Revision | None) -> str | None:
    if revision is None:
        return None
    named = [revision.delivery_id, *revision.provider_ids]
    more = without_none(
        {"in": revision.conversation, "files": revision.files or None, "deletes": revision.deletes or None}
    )
    return json.dumps({"parts": named, **more} if more else named)


def revision_of_text(text: str | None) -> Revision | None:
    if text is None:
        return None
    kept = json.loads(text)
    kept = kept if isinstance(kept, dict) else {"parts": kept}
    delivery_id, *provider_ids = kept["parts"]
    return Revision(
        delivery_id=DeliveryId(delivery_id),
        provider_ids=tuple(provider_ids),
        conversation=kept.get("in"),
        files=kept.get("files", 0),
        deletes=kept.get("deletes", False),
    )


def _button_object(button: Button) -> dict[str, Any]:
    style = button.style and str(button.style)
    return without_none({"label": button.label, "token": button.token, "url": button.url, "style": style})


def _read_button(value: object) -> Button:
    given = _object(value, {"label", "token", "url", "style"})
    label, style = _text(given.get("label")), given.get("style")
    if not label:
        raise ValueError("a button has a label")
    return Button(
        label=label,
        token=_text(given.get("token")),
        url=_text(given.get("url")),
        style=None if style is None else ButtonStyle(style),
    )


def _object(value: object, known: set[str]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or value.keys() - known:
        raise ValueError("an object with other fields than these was given")
    return value


def _list(value: object) -> Sequence[Any]:
    if not isinstance(value, list):
        raise ValueError("a list is needed")
    return value


def _text(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError("a text is needed")
    return value
