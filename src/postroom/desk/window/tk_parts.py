"""Widgets that Tk itself does not have."""

from __future__ import annotations

import contextlib
import tkinter as tk
from collections.abc import Callable, Sequence
from tkinter import font as tkfont
from tkinter import ttk
from typing import Any

from postroom.desk.look import Palette

_SCROLL = {
    "<Up>": (-1, "units"),
    "<Down>": (1, "units"),
    "<Prior>": (-1, "pages"),
    "<Next>": (1, "pages"),
}


def text_colours(palette: Palette) -> dict[str, Any]:
    """Of whatever holds text that can be selected."""
    return {
        "bg": palette.surface,
        "fg": palette.text,
        "insertbackground": palette.text,
        "selectbackground": palette.selection,
        "selectforeground": palette.on_selection,
    }


class FlatButton(tk.Label):
    """A button that takes our colours on every platform, with mouse, Space and Enter."""

    def __init__(
        self, parent: tk.Misc, text: str, command: Callable[[], None], palette: Palette, *, primary: bool = False
    ) -> None:
        self._face = (palette.accent, palette.on_accent) if primary else (palette.button, palette.on_button)
        self._command = command
        self._palette = palette
        super().__init__(
            parent,
            text=text,
            padx=14,
            pady=5,
            takefocus=True,
            cursor="hand2",
            highlightthickness=2,
            highlightbackground=palette.background,
            highlightcolor=palette.text if primary else palette.accent,
            bg=self._face[0],
            fg=self._face[1],
        )
        for sequence in ("<ButtonRelease-1>", "<space>", "<Return>", "<KP_Enter>"):
            self.bind(sequence, self._pressed)

    def paint(self, *, chosen: bool) -> None:
        background, text = (self._palette.accent, self._palette.on_accent) if chosen else self._face
        self.configure(bg=background, fg=text, highlightcolor=self._palette.text if chosen else self._palette.accent)

    def _pressed(self, event: tk.Event[tk.Misc]) -> str:
        inside = 0 <= event.x < self.winfo_width() and 0 <= event.y < self.winfo_height()
        if event.type is not tk.EventType.ButtonRelease or inside:
            self._command()
        return "break"


class Scrolled(tk.Frame):
    """A text with a scroll bar that is there only when there is something to scroll."""

    def __init__(self, parent: tk.Misc, palette: Palette, *, rows: int, font: tkfont.Font, name: str) -> None:
        super().__init__(parent, bg=palette.surface, highlightthickness=0)
        self.text = tk.Text(
            self,
            name=name,
            height=rows,
            width=20,
            wrap="word",
            font=font,
            inactiveselectbackground=palette.selection,
            relief="flat",
            borderwidth=0,
            padx=10,
            pady=8,
            highlightthickness=2,
            highlightbackground=palette.border,
            highlightcolor=palette.accent,
            **text_colours(palette),
        )
        self._bar = ttk.Scrollbar(self, orient="vertical", command=self.text.yview, style="Desk.Vertical.TScrollbar")
        self.text.configure(yscrollcommand=self._scrolled)
        self.grid_columnconfigure(0, weight=1)
        self.grid_rowconfigure(0, weight=1)
        self.text.grid(row=0, column=0, sticky="nsew")

    def make_read_only(self) -> None:
        """Readable with the keyboard alone: it takes focus and scrolls, and text can be copied from it."""
        text = self.text
        text.configure(state="disabled", takefocus=True, cursor="arrow")
        text.bind("<Button-1>", lambda _: text.focus_set(), add=True)
        for sequence, (amount, unit) in _SCROLL.items():
            text.bind(sequence, lambda _, amount=amount, unit=unit: self._scroll(amount, unit))  # type: ignore[misc]
        for sequence in ("<<SelectAll>>", "<Control-a>", "<Control-A>", "<Command-a>"):
            with contextlib.suppress(tk.TclError):  # not every platform has a Command key
                text.bind(sequence, lambda _: self._select_all())
        text.bind("<Home>", lambda _: self._move(0.0))
        text.bind("<End>", lambda _: self._move(1.0))

    def _scroll(self, amount: int, unit: str) -> str:
        self.text.yview_scroll(amount, unit)  # type: ignore[call-overload]
        return "break"

    def _select_all(self) -> str:
        self.text.tag_add("sel", "1.0", "end-1c")
        return "break"

    def _move(self, fraction: float) -> str:
        self.text.yview_moveto(fraction)
        return "break"

    def _scrolled(self, first: float, last: float) -> None:
        """Tk hands over texts, whatever the stubs say."""
        self._bar.set(first, last)
        if float(first) <= 0.0 and float(last) >= 1.0:
            self._bar.grid_remove()
        else:
            self._bar.grid(row=0, column=1, sticky="ns")


def style_scrollbars(root: tk.Tk, palette: Palette) -> None:
    style = ttk.Style(root)
    style.theme_use("clam")
    thumb: Any = ("Vertical.Scrollbar.thumb", {"expand": "1", "sticky": "nswe"})
    trough: Any = ("Vertical.Scrollbar.trough", {"sticky": "ns", "children": [thumb]})
    style.layout("Desk.Vertical.TScrollbar", [trough])
    style.configure(
        "Desk.Vertical.TScrollbar",
        background=palette.muted,
        troughcolor=palette.background,
        bordercolor=palette.background,
        lightcolor=palette.muted,
        darkcolor=palette.muted,
        gripcount=0,
        arrowsize=11,
        relief="flat",
    )
    style.map("Desk.Vertical.TScrollbar", background=[("active", palette.accent)])


def rows_needed(text: str, font: tkfont.Font, width: int, most: int) -> int:
    """How many lines the text takes at this width, without looking further than `most`."""
    rows = 0
    for line in text.split("\n"):
        rows += 1 + font.measure(line[: most * 200]) // max(1, width)
        if rows >= most:
            return most
    return rows


# Answers to choose from, as buttons that flow onto as many lines as they need.

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
