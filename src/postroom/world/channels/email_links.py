"""Buttons in a mail: a line with a link for each, since a mail has nothing to press."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from postroom.domain.errors import ValidationError
from postroom.domain.fields import text_problem
from postroom.domain.markup import Button, Markup

_LINK: Final = re.compile(r"[!-~]+")  # anything else would end it for the reader's program


def links(markup: Markup | None) -> list[str]:
    """One paragraph for each row of buttons."""
    return ["\n".join(_line(button) for button in row) for row in (markup.buttons if markup else ()) if row]


def private_of(markup: Markup | None) -> Iterator[str]:
    """What no error may quote: a link is as good as an answer."""
    return (button.url for button in (markup.every_button if markup else ()) if button.url)


def _line(button: Button) -> str:
    label = " ".join(button.label.split())
    if not label or text_problem(label):
        raise ValidationError("a button's text must be one line that is not blank")
    return f"{label}: {_link(button.url)}"


def _link(url: str | None) -> str:
    if url is None:
        raise ValidationError("a button in an e-mail must be a link")
    if not _LINK.fullmatch(url) or not _is_web_address(url):
        raise ValidationError("a button's link must be a web address")
    return url


def _is_web_address(url: str) -> bool:
    try:
        address = urlsplit(url)
        return address.scheme in ("http", "https") and bool(address.hostname)
    except ValueError:
        return False
