"""A message in Slack's Block Kit: its text without any markup, and the buttons under it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from postroom.domain.errors import ValidationError
from postroom.domain.fields import text_problem
from postroom.domain.markup import Button, ButtonStyle, Markup
from postroom.world.channels.slack.text import escaped, shortened

MOST_BUTTONS: Final = 25
LONGEST_LABEL: Final = 75
LONGEST_TOKEN: Final = 2000
LONGEST_URL: Final = 3000
_WEB_ADDRESS = re.compile(r"https?://[^\s<>]+")
_STYLES: Final = {ButtonStyle.PRIMARY: "primary", ButtonStyle.SUCCESS: "primary", ButtonStyle.DANGER: "danger"}


def section(text: str) -> dict[str, Any]:
    """
    `plain_text` is what Slack does not format; a message's own `text` it formats whatever `mrkdwn` says.

    `emoji` is about how they are drawn: without it, even a real one is shown by its name.
    """
    return {"type": "section", "text": _plain(escaped(text))}


def actions(markup: Markup | None) -> list[dict[str, Any]]:
    """Nothing to press: no block, for an empty one is refused. A reply needs no box here, every message has one."""
    buttons = markup.every_button if markup else ()
    if len(buttons) > MOST_BUTTONS:
        raise ValidationError(f"a Slack message has at most {MOST_BUTTONS} buttons")
    return [{"type": "actions", "elements": _elements(buttons)}] if buttons else []


def _elements(buttons: Sequence[Button]) -> list[dict[str, Any]]:
    return [_element(number, button) for number, button in enumerate(buttons)]


def _element(number: int, button: Button) -> dict[str, Any]:
    """`action_id` has to differ from button to button; what was pressed is said by `value`."""
    element = {"type": "button", "text": _plain(_label(button)), "action_id": f"postroom-{number}", **_action(button)}
    return element | ({"style": _STYLES[button.style]} if button.style else {})


def _action(button: Button) -> dict[str, str]:
    if button.url is not None:
        if len(button.url) > LONGEST_URL or not _WEB_ADDRESS.fullmatch(button.url):
            raise ValidationError(f"a Slack button opens a web address of at most {LONGEST_URL} characters")
        return {"url": button.url}
    token = button.token or ""
    if not token or text_problem(token) or len(token) > LONGEST_TOKEN:
        raise ValidationError(f"a button's token must have 1 to {LONGEST_TOKEN} characters")
    return {"value": token}


def _label(button: Button) -> str:
    if problem := text_problem(button.label):
        raise ValidationError(f"a button's text {problem}")
    line = " ".join(button.label.split())
    if not line:
        raise ValidationError("a button's text must not be blank")
    return shortened(line, LONGEST_LABEL)


def _plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, "emoji": True}
