"""The picture that the documentation shows of the popup: the real window, on a display of its own."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.desk.caller import Caller
from tests.desk.screen import Screen

_TITLE = "Claude Code"
_ASKED = "The tests of shop 2.15 are green. Shall I deploy it now, or wait until the shop is quiet tonight?"
_TYPED = "Tonight, and tell me when it is done."


def take_popup(picture: Path) -> None:
    """While the person types; nothing of it is answered."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        screen = Screen(Path(folder))
        stack.callback(screen.stop)
        desk = Caller(screen.environ, Path(folder))
        stack.callback(desk.stop)
        call = desk.call(_ASKED, title=_TITLE, options=["Now", "Tonight"], project="shop", theme="light")
        window = screen.window(_TITLE)
        screen.type(_TYPED)
        screen.picture(picture, window)
        screen.key("Escape")
        call.result()
