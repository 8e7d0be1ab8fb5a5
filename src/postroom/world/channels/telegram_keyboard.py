"""What stands under a Telegram message: an inline keyboard, or a box to reply in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlsplit

from postroom.domain.errors import ValidationError
from postroom.domain.fields import text_problem
from postroom.domain.markup import Button, Markup
from postroom.world.channels.telegram_text import cut

TOKEN_BYTES: Final = 64
MOST_BUTTONS: Final = 100
LONGEST_LABEL: Final = 64
LONGEST_PLACEHOLDER: Final = 64
NO_KEYBOARD: Final[dict[str, Any]] = {"inline_keyboard": []}


def reply_markup(markup: Markup, *, selective: bool = False) -> dict[str, Any] | None:
    """`selective`: in a group, only the one who is answered is asked to reply."""
    if markup.force_reply:
        return _reply_box(markup, selective)
    return keyboard(markup) if any(map(fits_a_button, markup.every_button)) else None


def keyboard(markup: Markup) -> dict[str, Any]:
    if len(markup.every_button) > MOST_BUTTONS:
        raise ValidationError(f"a Telegram message has at most {MOST_BUTTONS} buttons")
    rows = [[_key(button) for button in row if fits_a_button(button)] for row in markup.buttons]
    return {"inline_keyboard": [row for row in rows if row]}


def with_links(text: str, markup: Markup | None, fits: Callable[[Button], bool] | None = None) -> str:
    """A link that the provider takes in no button would cost the whole message, so it stands below the text."""
    fits = fits or fits_a_button
    lines = [_line(button) for button in (markup.every_button if markup else ()) if not fits(button)]
    return "\n\n".join([text.rstrip(), "\n".join(lines)]) if lines else text


def _reply_box(markup: Markup, selective: bool) -> dict[str, Any]:
    box: dict[str, Any] = {"force_reply": True}
    if selective:
        box["selective"] = True
    if markup.placeholder:
        box["input_field_placeholder"] = cut(one_line(markup.placeholder), LONGEST_PLACEHOLDER)
    return box


def _key(button: Button) -> dict[str, Any]:
    key: dict[str, Any] = {"text": cut(one_line(button.label), LONGEST_LABEL), **_action(button)}
    return key | ({"style": str(button.style)} if button.style else {})


def _action(button: Button) -> dict[str, str]:
    if button.url is not None:
        return {"url": button.url}
    token = button.token or ""
    if not token or text_problem(token) or len(token.encode()) > TOKEN_BYTES:
        raise ValidationError(f"a button's token must have 1 to {TOKEN_BYTES} bytes")
    return {"callback_data": token}


def fits_a_button(button: Button) -> bool:
    """Telegram opens web addresses from a button, and refuses hosts without a dot, such as localhost."""
    if button.url is None:
        return True
    try:
        address = urlsplit(button.url)
        host = address.hostname or ""
    except ValueError:
        return False
    return address.scheme in ("http", "https") and ("." in host or ":" in host)


def _line(button: Button) -> str:
    return f"{one_line(button.label)}: {one_line(button.url or '')}"


def one_line(text: str) -> str:
    if problem := text_problem(text):
        raise ValidationError(f"a button's text {problem}")
    line = " ".join(text.split())
    if not line:
        raise ValidationError("a button's text must not be blank")
    return line
