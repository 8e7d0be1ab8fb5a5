"""The widgets of a window that Tk itself does not have: buttons, choices, and what a person types into."""

from __future__ import annotations

import contextlib
import sys
import tkinter as tk
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from tkinter import font as tkfont
from tkinter import ttk
from typing import Any

from postroom.desk.look import Palette
from postroom.desk.model import SheetField

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


# The field a reply is typed into, with the keys people expect.

ROWS = 4
_MODIFIED = 0x4 | 0x8  # Control or Alt, as X counts them
_COMMAND = "Command" if sys.platform == "darwin" else "Control"


class Pasting:
    """Tk handles further keys while it waits for the owner of the clipboard; here they wait for their turn."""

    def __init__(self, field: tk.Text | tk.Entry) -> None:
        self._field = field
        self._is_waiting = False
        self._held: list[tk.Event[tk.Misc]] = []
        tag = f"Pasting{field}"
        field.bindtags((tag, *field.bindtags()))
        field.bind_class(tag, "<KeyPress>", self._hold)

    def paste(self, read: Callable[[], str], insert: Callable[[str], None]) -> None:
        self._is_waiting = True
        try:
            with contextlib.suppress(tk.TclError):
                insert(read())
        finally:
            self._is_waiting = False
        while self._held and not self._is_waiting:
            self._press(self._held.pop(0), insert)

    def _hold(self, event: tk.Event[tk.Misc]) -> str | None:
        if not self._is_waiting:
            return None
        self._held.append(event)
        return "break"

    def _press(self, event: tk.Event[tk.Misc], insert: Callable[[str], None]) -> None:
        if event.char.isprintable() and event.char and not int(event.state) & _MODIFIED:
            insert(event.char)
            return
        with contextlib.suppress(tk.TclError):  # the one before it may have closed the window
            self._field.event_generate("<KeyPress>", keysym=event.keysym, state=event.state)


class TkReplyInput:
    """Several lines; Enter submits and Shift+Enter breaks the line."""

    def __init__(
        self,
        parent: tk.Misc,
        palette: Palette,
        font: tkfont.Font,
        *,
        submit: Callable[[], None],
        changed: Callable[[str], None],
    ) -> None:
        self._scrolled = Scrolled(parent, palette, rows=ROWS, font=font, name="reply")
        self._text = self._scrolled.text
        self._text.configure(undo=True, autoseparators=True, maxundo=-1)
        self._changed = changed
        self._pasting = Pasting(self._text)
        self._bind(submit)

    def widget(self) -> tk.Widget:
        return self._scrolled

    def focus(self) -> None:
        self._text.focus_set()

    def take_focus(self) -> None:
        """Also from another program; Tk waits for the window to appear if it has to."""
        self._text.focus_force()

    def read(self) -> str:
        return self._text.get("1.0", "end-1c")

    def insert(self, text: str) -> None:
        """In place of what is selected, as one step for undo."""
        self._text.edit_separator()
        with contextlib.suppress(tk.TclError):
            self._text.delete("sel.first", "sel.last")
        self._text.insert("insert", text)
        self._text.edit_separator()
        self._text.see("insert")

    def _bind(self, submit: Callable[[], None]) -> None:
        keys: dict[str, Callable[[], None]] = {
            "<Return>": submit,
            "<KP_Enter>": submit,
            f"<{_COMMAND}-Return>": submit,
            f"<{_COMMAND}-KP_Enter>": submit,
            "<Shift-Return>": lambda: self.insert("\n"),
            "<Shift-KP_Enter>": lambda: self.insert("\n"),
            "<<Paste>>": self._paste,
            "<<SelectAll>>": self._select_all,
            f"<{_COMMAND}-a>": self._select_all,
            f"<{_COMMAND}-A>": self._select_all,
            f"<{_COMMAND}-z>": self._undo,
            f"<{_COMMAND}-Z>": self._redo,
            f"<{_COMMAND}-y>": self._redo,
            f"<{_COMMAND}-w>": lambda: None,
            "<Tab>": lambda: _focus(self._text.tk_focusNext()),
            "<Shift-Tab>": lambda: _focus(self._text.tk_focusPrev()),
        }
        if sys.platform.startswith("linux"):
            keys["<ISO_Left_Tab>"] = keys["<Shift-Tab>"]
        for sequence, action in keys.items():
            self._text.bind(sequence, _only(action))
        self._text.bind("<<Modified>>", self._modified)

    def _paste(self) -> None:
        self._pasting.paste(self._text.clipboard_get, self.insert)

    def _select_all(self) -> None:
        self._text.tag_add("sel", "1.0", "end-1c")
        self._text.mark_set("insert", "end-1c")

    def _undo(self) -> None:
        with contextlib.suppress(tk.TclError):
            self._text.edit_undo()

    def _redo(self) -> None:
        with contextlib.suppress(tk.TclError):
            self._text.edit_redo()

    def _modified(self, _: object) -> None:
        if self._text.edit_modified():
            self._text.edit_modified(False)
            self._changed(self.read())


class LineInput:
    """One line."""

    _dots = ""

    def __init__(
        self,
        parent: tk.Misc,
        palette: Palette,
        font: tkfont.Font,
        *,
        submit: Callable[[], None],
        changed: Callable[[str], None],
    ) -> None:
        self._frame = tk.Frame(parent, bg=palette.surface, highlightthickness=2, padx=8, pady=6)
        self._frame.configure(highlightcolor=palette.accent, highlightbackground=palette.border)
        self._entry = tk.Entry(
            self._frame,
            show=self._dots,
            font=font,
            relief="flat",
            borderwidth=0,
            highlightthickness=0,
            exportselection=False,
            **text_colours(palette),
        )
        self._entry.pack(fill="x")
        for event, ring in (("<FocusIn>", palette.accent), ("<FocusOut>", palette.border)):
            self._entry.bind(event, lambda _, ring=ring: self._frame.configure(highlightbackground=ring))  # type: ignore[misc]
        self._changed = changed
        self._pasting = Pasting(self._entry)
        for sequence in ("<Return>", "<KP_Enter>", f"<{_COMMAND}-Return>"):
            self._entry.bind(sequence, _only(submit))
        for sequence in (f"<{_COMMAND}-a>", f"<{_COMMAND}-A>", "<<SelectAll>>"):
            self._entry.bind(sequence, _only(lambda: self._entry.select_range(0, "end")))
        for sequence in ("<<Copy>>", "<<Cut>>") if self._dots else ():
            self._entry.bind(sequence, _only(lambda: None))
        self._entry.bind("<<Paste>>", _only(self._paste))
        self._entry.bind("<KeyRelease>", lambda _: changed(self.read()))

    def widget(self) -> tk.Widget:
        return self._frame

    def focus(self) -> None:
        self._entry.focus_set()

    def take_focus(self) -> None:
        """Also from another program; Tk waits for the window to appear if it has to."""
        self._entry.focus_force()

    def read(self) -> str:
        return self._entry.get()

    def insert(self, text: str) -> None:
        with contextlib.suppress(tk.TclError):
            self._entry.delete("sel.first", "sel.last")
        self._entry.insert("insert", text)

    def _paste(self) -> None:
        self._pasting.paste(lambda: self._entry.clipboard_get().strip("\n"), self.insert)
        self._changed(self.read())


class TkSecretInput(LineInput):
    """Shows dots; what is typed is read once, at the end."""

    _dots = "•"


class TkNoInput:
    """Only choosing answers; the keyboard begins where a stray key decides nothing."""

    def __init__(self, first: tk.Misc) -> None:
        self._first = first

    def focus(self) -> None:
        self._first.focus_set()

    def take_focus(self) -> None:
        self._first.focus_force()

    def read(self) -> str:
        return ""

    def insert(self, _text: str) -> None:
        """There is nowhere to put it."""


def _only(action: Callable[[], None]) -> Callable[[object], str]:
    """Our action instead of Tk's own."""

    def handle(_: object) -> str:
        action()
        return "break"

    return handle


def _focus(widget: tk.Misc | None) -> None:
    if widget is not None:
        widget.focus_set()


# A form: one labelled line after the other, to be scrolled when there are many.

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
        fields: Sequence[SheetField],
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

    def _row(self, field: SheetField) -> Callable[[], list[str]]:
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

    def _typed(self, field: SheetField) -> Callable[[], list[str]]:
        line = self._line(
            self._rows, self._palette, self._font, submit=self._hands.submit, changed=lambda _: self._hands.changed()
        )
        line.insert("".join(field.value))
        line.widget().pack(fill="x")
        return lambda: [line.read()] if line.read().strip() else []

    def _picked(self, field: SheetField) -> Callable[[], list[str]]:
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
