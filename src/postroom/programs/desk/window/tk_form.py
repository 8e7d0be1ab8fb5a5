"""A form: one labelled line after the other, to be scrolled when there are many."""

from __future__ import annotations

import tkinter as tk
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from tkinter import font as tkfont
from tkinter import ttk

from postroom.programs.desk.palette import Palette
from postroom.programs.desk.window.tk_choices import TkChoices
from postroom.programs.desk.window.tk_input import LineInput, TkSecretInput
from postroom.programs.desk.wire import FormField

HEIGHT = 380
_BAR = 16  # the scroll bar's share of the width


@dataclass(frozen=True, slots=True, kw_only=True)
class TkFormHands:
    """What a line of the form does when something is done in it."""

    submit: Callable[[], None]
    changed: Callable[[], None]


class TkForm(tk.Frame):
    def __init__(
        self,
        parent: tk.Misc,
        palette: Palette,
        font: tkfont.Font,
        fields: Sequence[FormField],
        hands: TkFormHands,
        *,
        width: int,
        secret: bool,
    ) -> None:
        super().__init__(parent, bg=palette.background)
        self._palette, self._font, self._hands = palette, font, hands
        self._width, self._line = width - _BAR, TkSecretInput if secret else LineInput
        self._canvas = tk.Canvas(self, bg=palette.background, highlightthickness=0, width=width)
        self._rows = tk.Frame(self._canvas, bg=palette.background)
        self._readers = {field.name: self._row(field) for field in fields}
        self._place()

    def read(self) -> dict[str, list[str]]:
        """Only what was filled in."""
        found = {name: reader() for name, reader in self._readers.items()}
        return {name: values for name, values in found.items() if values}

    def _row(self, field: FormField) -> Callable[[], list[str]]:
        star = " *" if field.required else ""
        self._label(field.label + star, self._palette.text).pack(anchor="w", pady=(8, 2))
        if field.hint:
            self._label(field.hint, self._palette.muted).pack(anchor="w", pady=(0, 2))
        return self._picked(field) if field.choices else self._typed(field)

    def _label(self, text: str, colour: str) -> tk.Label:
        return tk.Label(
            self._rows,
            text=text,
            fg=colour,
            bg=self._palette.background,
            font=self._font,
            wraplength=self._width,
            justify="left",
        )

    def _typed(self, field: FormField) -> Callable[[], list[str]]:
        line = self._line(
            self._rows, self._palette, self._font, submit=self._hands.submit, changed=lambda _: self._hands.changed()
        )
        line.insert("".join(field.value))
        line.widget().pack(fill="x")
        return lambda: [line.read()] if line.read().strip() else []

    def _picked(self, field: FormField) -> Callable[[], list[str]]:
        values = [value for value, _ in field.choices]

        def pressed(number: int) -> None:
            choices.toggle(number, alone=not field.several)
            self._hands.changed()

        labels = [label for _, label in field.choices]
        choices = TkChoices(self._rows, self._palette, self._font, labels, width=self._width, pressed=pressed)
        for number in [number for number, value in enumerate(values) if value in field.value]:
            choices.toggle(number, alone=not field.several)
        choices.pack(fill="x")
        return lambda: [values[number] for number in choices.chosen()]

    def _place(self) -> None:
        self._rows.update_idletasks()
        height = self._rows.winfo_reqheight()
        inner = self._canvas.create_window(0, 0, window=self._rows, anchor="nw", width=self._width)
        self._canvas.configure(height=min(height, HEIGHT), scrollregion=(0, 0, self._width, height))
        self._canvas.pack(side="left", fill="both", expand=True)
        if height <= HEIGHT:
            self._canvas.itemconfigure(inner, width=self._width + _BAR)
            return
        bar = ttk.Scrollbar(self, orient="vertical", command=self._canvas.yview, style="Desk.Vertical.TScrollbar")
        self._canvas.configure(yscrollcommand=bar.set)
        bar.pack(side="right", fill="y")
        self._rows.bind_all("<FocusIn>", self._follow, add=True)
        self.bind_all("<MouseWheel>", lambda event: self._scroll(-1 if event.delta > 0 else 1))
        self.bind_all("<Button-4>", lambda _: self._scroll(-1))
        self.bind_all("<Button-5>", lambda _: self._scroll(1))

    def _scroll(self, lines: int) -> None:
        self._canvas.yview_scroll(lines, "units")

    def _follow(self, event: tk.Event[tk.Misc]) -> None:
        """Brings the line that has the keyboard into sight."""
        if not str(event.widget).startswith(f"{self._rows}."):
            return
        top = event.widget.winfo_rooty() - self._rows.winfo_rooty()
        seen = self._canvas.canvasy(0)
        bottom = top + event.widget.winfo_height()
        if top < seen or bottom > seen + self._canvas.winfo_height():
            self._canvas.yview_moveto(max(0, top - 40) / self._rows.winfo_height())
