"""Answers to choose from, as buttons that flow onto as many lines as they need."""

from __future__ import annotations

import tkinter as tk
from collections.abc import Callable, Sequence
from tkinter import font as tkfont

from postroom.programs.desk.palette import Palette
from postroom.programs.desk.window.tk_parts import FlatButton

_AROUND = 44  # what a button adds to its label


class TkChoices(tk.Frame):
    """Each press is told by its number; which of them are chosen is kept here."""

    def __init__(
        self,
        parent: tk.Misc,
        palette: Palette,
        font: tkfont.Font,
        labels: Sequence[str],
        *,
        width: int,
        pressed: Callable[[int], None],
    ) -> None:
        super().__init__(parent, bg=palette.background)
        self._palette = palette
        self._chosen: set[int] = set()
        self._buttons: list[FlatButton] = []
        line, used = self._line(), 0
        for number, label in enumerate(labels):
            needed = font.measure(label) + _AROUND
            if used and used + needed > width:
                line, used = self._line(), 0
            button = FlatButton(line, label, lambda number=number: pressed(number), palette)  # type: ignore[misc]
            button.configure(wraplength=width - 52, justify="left")
            button.pack(side="left", padx=(0, 6))
            self._buttons.append(button)
            used += needed

    def toggle(self, number: int, *, alone: bool = False) -> None:
        """`alone`: what was chosen before no longer is."""
        before = set(self._chosen)
        self._chosen = {number} - before if alone else before ^ {number}
        for changed in before ^ self._chosen:
            self._buttons[changed].paint(chosen=changed in self._chosen)

    def chosen(self) -> list[int]:
        return sorted(self._chosen)

    def _line(self) -> tk.Frame:
        line = tk.Frame(self, bg=self._palette.background)
        line.pack(fill="x", pady=2)
        return line
