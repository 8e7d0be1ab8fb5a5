"""
The buttons of a notification, and what comes back of them.

The telephone itself posts to the topic for answers: the button's token, and the topic the card went to. That topic is
the only identity a card on ntfy has; the token is the proof that it was read there.
"""

from __future__ import annotations

import re
from typing import Any, Final

from postroom.domain.errors import ValidationError
from postroom.domain.fields import text_problem
from postroom.domain.markup import Button, Markup
from postroom.world.channels.ntfy.text import utf8_length
from postroom.world.channels.telegram_text import cut

MOST: Final = 3
TOPIC: Final = re.compile(r"[-_A-Za-z0-9]{1,64}")
_PRESSED: Final = re.compile(r"(?P<token>[!-~]{1,64}) (?P<topic>[-_A-Za-z0-9]{1,64})")
_TOKEN: Final = re.compile(r"[!-~]{1,64}")
_LABEL_BYTES: Final = 120
_URL_BYTES: Final = 600


def actions_of(markup: Markup, topic: str, answers_url: str) -> list[dict[str, Any]]:
    """Links that find no place stand in the text; for what is pressed there is no other place."""
    pressed = [_press(button, topic, answers_url) for button in markup.every_button if button.token is not None]
    if len(pressed) > MOST:
        raise ValidationError(f"an ntfy message has at most {MOST} buttons")
    return [*pressed, *(_view(button) for button in _links(markup)[: MOST - len(pressed)] if _fits(button))]


def with_links(text: str, markup: Markup | None) -> str:
    """The links that are no buttons, below the text."""
    if markup is None:
        return text
    room = MOST - sum(button.token is not None for button in markup.every_button)
    lines = [
        f"{_one_line(button.label)}: {button.url}"
        for place, button in enumerate(_links(markup))
        if place >= room or not _fits(button)
    ]
    return "\n\n".join([text.rstrip(), "\n".join(lines)]) if lines else text


def read_pressed(body: str) -> tuple[str, str] | None:
    """The token and the topic of the card, or None when this was no press."""
    found = _PRESSED.fullmatch(body.strip())
    return (found["token"], found["topic"]) if found else None


def _press(button: Button, topic: str, answers_url: str) -> dict[str, Any]:
    if not answers_url:
        raise ValidationError("buttons on ntfy need a topic for the answers: set answers_topic")
    if not _TOKEN.fullmatch(button.token or ""):
        raise ValidationError("a button's token must have 1 to 64 printable characters")
    return {
        "action": "http",
        "label": _one_line(button.label),
        "url": answers_url,
        "method": "POST",
        "body": f"{button.token} {topic}",
        "clear": True,
    }


def _view(button: Button) -> dict[str, Any]:
    return {"action": "view", "label": _one_line(button.label), "url": button.url}


def _links(markup: Markup) -> list[Button]:
    return [button for button in markup.every_button if button.url is not None]


def _fits(button: Button) -> bool:
    url = button.url or ""
    return url.startswith(("http://", "https://")) and utf8_length(url) <= _URL_BYTES


def _one_line(label: str) -> str:
    if problem := text_problem(label):
        raise ValidationError(f"a button's text {problem}")
    if not (line := " ".join(label.split())):
        raise ValidationError("a button's text must not be blank")
    return cut(line, _LABEL_BYTES, utf8_length)
