"""What stands under a Discord message: rows of buttons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from postroom.domain.errors import ValidationError
from postroom.domain.fields import text_problem
from postroom.domain.markup import Button, ButtonStyle, Markup
from postroom.world.channels.telegram_keyboard import fits_a_button, one_line
from postroom.world.channels.telegram_text import cut

IN_A_ROW: Final = 5
MOST_ROWS: Final = 5
MOST_BUTTONS: Final = IN_A_ROW * MOST_ROWS
LONGEST_LABEL: Final = 80
LONGEST_TOKEN: Final = 100
LONGEST_LINK: Final = 512
_ROW, _BUTTON = 1, 2
_PLAIN, _LINK = 2, 5
_STYLES: Final = {ButtonStyle.PRIMARY: 1, ButtonStyle.SUCCESS: 3, ButtonStyle.DANGER: 4}


def components(markup: Markup | None) -> list[dict[str, Any]]:
    """Empty without buttons, which in an edit takes away what stood there."""
    buttons = [[one for one in row if fits_under(one)] for row in (markup.buttons if markup else ())]
    if sum(map(len, buttons)) > MOST_BUTTONS:
        raise ValidationError(f"a Discord message has at most {MOST_BUTTONS} buttons")
    return [{"type": _ROW, "components": [_key(one) for one in row]} for row in _rows(buttons)]


def fits_under(button: Button) -> bool:
    """A link that Discord takes in no button would cost the whole message."""
    return button.url is None or (len(button.url) <= LONGEST_LINK and fits_a_button(button))


def _rows(given: Sequence[Sequence[Button]]) -> list[Sequence[Button]]:
    """As they were meant if that many rows fit, else one after the other."""
    meant = [part for row in given for part in _batched(row)]
    return meant if len(meant) <= MOST_ROWS else _batched([one for row in given for one in row])


def _batched(row: Sequence[Button]) -> list[Sequence[Button]]:
    return [row[start : start + IN_A_ROW] for start in range(0, len(row), IN_A_ROW)]


def _key(button: Button) -> dict[str, Any]:
    key = {"type": _BUTTON, "label": cut(one_line(button.label), LONGEST_LABEL)}
    if button.url is not None:
        return key | {"style": _LINK, "url": button.url}
    token = button.token or ""
    if not token or text_problem(token) or len(token) > LONGEST_TOKEN:
        raise ValidationError(f"a button's token must have 1 to {LONGEST_TOKEN} characters")
    return key | {"style": _STYLES[button.style] if button.style else _PLAIN, "custom_id": token}
