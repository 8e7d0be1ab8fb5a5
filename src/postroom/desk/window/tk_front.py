"""The window drawn with Tk, which every Python brings along."""

from __future__ import annotations

import contextlib
import sys
import tkinter as tk
from tkinter import font as tkfont

from postroom.desk.history import Who
from postroom.desk.look import PALETTES
from postroom.desk.model import PopupOutcome
from postroom.desk.window.tk_widgets import (
    FlatButton,
    Scrolled,
    TkChoices,
    TkForm,
    TkFormHands,
    TkNoInput,
    TkReplyInput,
    TkSecretInput,
    rows_needed,
    style_scrollbars,
)
from postroom.desk.window.window import (
    LINGER_SECONDS,
    PULSE_MILLISECONDS,
    Area,
    Sitting,
    centred,
    monitor_for,
    monitors,
)

WIDTH = 560
_PADDING = 14
INSIDE = WIDTH - 2 * _PADDING
_HISTORY_ROWS = 8
_MESSAGE_ROWS = 16
_FOCUS_CHECK_MILLISECONDS = 500
_SHIFT = 0x1
_LINGER_CHECK_MILLISECONDS = 500
_PREVIEW_MILLISECONDS = 250


def run(sitting: Sitting) -> int:
    try:
        root = tk.Tk(className="Postroom")
    except tk.TclError:
        sitting.fail(PopupOutcome.HEADLESS)
        return 1
    root.report_callback_exception = lambda *_: _broken(root, sitting)
    TkWindow(root, sitting).show()
    root.mainloop()
    return 0


def _broken(root: tk.Tk, sitting: Sitting) -> None:
    """A window that no longer does what it should is no use; what was typed is on disk."""
    sitting.fail(PopupOutcome.CRASHED)
    root.destroy()


class TkWindow:
    def __init__(self, root: tk.Tk, sitting: Sitting) -> None:
        root.withdraw()
        self._root = root
        self._sitting = sitting
        self._sheet = sitting.sheet
        self._palette = PALETTES[sitting.sheet.palette]
        self._choices: TkChoices | None = None
        self._form: TkForm | None = None
        self._copied = False
        self._lingered = 0
        self._fonts()
        style_scrollbars(root, self._palette)
        root.configure(bg=self._palette.background)
        root.title(" ".join(self._sheet.title.split()))
        self._body = tk.Frame(root, bg=self._palette.background, padx=_PADDING, pady=_PADDING)
        self._body.pack(fill="both", expand=True)
        self._build()
        self._bind()

    def show(self) -> None:
        root = self._root
        root.update_idletasks()
        whole = Area(x=0, y=0, width=root.winfo_screenwidth(), height=root.winfo_screenheight())
        monitor = monitor_for(monitors(whole), root.winfo_pointerxy())
        place = centred(monitor, max(WIDTH, self._body.winfo_reqwidth()), self._body.winfo_reqheight())
        root.geometry(f"{place.width}x{place.height}+{place.x}+{place.y}")
        root.minsize(min(place.width, 360), min(place.height, 220))
        root.attributes("-topmost", True)
        with contextlib.suppress(tk.TclError):
            root.attributes("-type", "dialog")
        root.deiconify()
        root.lift()
        self._take_focus()

    # what it looks like

    def _fonts(self) -> None:
        default = tkfont.nametofont("TkDefaultFont").actual()
        size = max(11, abs(int(default["size"])) + 1)
        self._font = tkfont.Font(family=default["family"], size=size)
        self._small = tkfont.Font(family=default["family"], size=size - 1)
        self._bold = tkfont.Font(family=default["family"], size=size - 1, weight="bold")
        self._root.option_add("*Label.font", self._font)

    def _build(self) -> None:
        if self._sheet.project:
            self._label(self._sheet.project, self._bold, self._palette.accent).pack(anchor="w", pady=(0, 8))
        if self._sheet.history:
            self._history().pack(fill="both", expand=True, pady=(0, 10))
        self._message().pack(fill="both", expand=True)
        if not self._sheet.wait_for_response:
            self._footer()
            return
        if self._sheet.problem:
            self._problem().pack(anchor="w", pady=(10, 0))
        if self._sheet.options:
            self._options().pack(fill="x", pady=(10, 0))
        if self._sheet.fields:
            self._fields().pack(fill="x", pady=(10, 0))
        self._offer = tk.Frame(self._body, bg=self._palette.background)
        self._offer.pack(fill="x")
        self._input = self._reply()
        self._footer()
        self._show_offer()

    def _reply(self) -> TkReplyInput | TkSecretInput | TkNoInput:
        if not self._sheet.has_reply:
            return TkNoInput(self._message_text)
        kind = TkSecretInput if self._sheet.secret else TkReplyInput
        reply = kind(self._body, self._palette, self._font, submit=self._submit, changed=self._sitting.typed)
        reply.widget().pack(fill="x", pady=(10, 0))
        reply.insert(self._sheet.text)
        return reply

    def _problem(self) -> tk.Label:
        label = self._label(self._sheet.problem, self._font, self._palette.warning)
        label.configure(wraplength=INSIDE, justify="left")
        return label

    def _fields(self) -> TkForm:
        hands = TkFormHands(submit=self._submit, changed=lambda: self._sitting.typed(""))
        fields, secret = self._sheet.fields, self._sheet.secret
        self._form = TkForm(self._body, self._palette, self._font, fields, hands, width=INSIDE, secret=secret)
        return self._form

    def _label(self, text: str, font: tkfont.Font, colour: str, parent: tk.Misc | None = None) -> tk.Label:
        return tk.Label(parent or self._body, text=text, font=font, fg=colour, bg=self._palette.background)

    def _history(self) -> Scrolled:
        lines = "\n".join(text for _, text in self._sheet.history)
        rows = rows_needed(lines, self._small, WIDTH - 60, _HISTORY_ROWS) + len(self._sheet.history)
        area = Scrolled(self._body, self._palette, rows=min(rows, _HISTORY_ROWS), font=self._small, name="history")
        text = area.text
        text.configure(fg=self._palette.muted, bg=self._palette.background, spacing3=2)
        text.tag_configure("who", font=self._bold, foreground=self._palette.accent)
        for index, (who, said) in enumerate(self._sheet.history):
            name = "You" if who == Who.PERSON else "Assistant"
            text.insert("end", ("\n" if index else "") + f"{name}\n", "who", said)
        area.make_read_only()
        text.see("end")
        text.bind("<Map>", lambda _: text.yview_moveto(1.0))
        return area

    def _message(self) -> Scrolled:
        rows = rows_needed(self._sheet.message, self._font, WIDTH - 60, _MESSAGE_ROWS)
        area = Scrolled(self._body, self._palette, rows=max(2, rows), font=self._font, name="message")
        area.text.configure(spacing2=2, spacing3=2)
        area.text.insert("end", self._sheet.message)
        area.make_read_only()
        self._message_text = area.text
        return area

    def _options(self) -> TkChoices:
        options = self._sheet.options
        self._choices = TkChoices(self._body, self._palette, self._font, options, width=INSIDE, pressed=self._choose)
        return self._choices

    def _footer(self) -> None:
        frame = tk.Frame(self._body, bg=self._palette.background)
        frame.pack(fill="x", side="bottom", pady=(12, 0))
        own_line = bool(self._sheet.decline_label)  # three buttons leave no room beside them
        parent = self._body if own_line else frame
        self._notice = self._label(self._sitting.notice()[0], self._small, self._palette.muted, parent)
        if self._sheet.wait_for_response:
            self._buttons(frame)
        else:
            FlatButton(frame, "Close", self._cancel, self._palette).pack(side="right")
        self._notice.pack(**{"anchor": "w", "pady": (8, 0)} if own_line else {"side": "left"})

    def _buttons(self, frame: tk.Frame) -> None:
        """In the order in which Tab reaches them."""
        sheet = self._sheet
        if not sheet.ends_by_choosing:
            FlatButton(frame, sheet.submit_label, self._submit, self._palette, primary=True).pack(side="right")
        gap = 0 if sheet.ends_by_choosing else 8
        FlatButton(frame, sheet.cancel_label, self._cancel, self._palette).pack(side="right", padx=(0, gap))
        if sheet.decline_label:
            FlatButton(frame, sheet.decline_label, self._decline, self._palette).pack(side="left")

    def _show_offer(self) -> None:
        for child in self._offer.winfo_children():
            child.destroy()
        if self._sitting.offer() is None:
            self._offer.configure(height=1)
            return
        label = self._sitting.offer_label()
        self._label(label, self._small, self._palette.muted, self._offer).pack(side="left", pady=(8, 0))
        use = FlatButton(self._offer, "Use it", self._use_offer, self._palette)
        discard = FlatButton(self._offer, "Discard", self._discard_offer, self._palette)
        for button in (discard, use):
            button.configure(font=self._small, pady=2, padx=8)
            button.pack(side="right", padx=(6, 0), pady=(8, 0))

    # what it does

    def _bind(self) -> None:
        root = self._root
        root.protocol("WM_DELETE_WINDOW", lambda: self._end(PopupOutcome.DISMISSED))
        root.bind("<Escape>", lambda _: self._cancel())
        root.bind("<KeyPress>", self._key)
        root.bind("<Control-Prior>", lambda _: self._message_text.yview_scroll(-1, "pages"))
        root.bind("<Control-Next>", lambda _: self._message_text.yview_scroll(1, "pages"))
        for sequence in ("<<Copy>>", "<<Cut>>"):
            root.bind(sequence, lambda _: self._remember_copying())
        root.bind("<Map>", self._mapped)
        if not self._sheet.wait_for_response:
            root.bind("<Motion>", lambda _: self._sitting.active())

    def _key(self, event: tk.Event[tk.Misc]) -> None:
        """The window can have the keyboard some moments before its input has; those keys count as well."""
        self._sitting.active()
        if event.widget is not self._root or not self._sheet.wait_for_response:
            return
        if event.keysym in ("Return", "KP_Enter") and not int(event.state) & _SHIFT:
            self._submit()
        elif event.char == "\r" or event.char.isprintable():
            self._input.insert(event.char.replace("\r", "\n"))

    def _mapped(self, event: tk.Event[tk.Misc]) -> None:
        if event.widget is not self._root:
            return
        self._root.unbind("<Map>")
        self._sitting.shown()
        self._pulse()
        self._root.after(_FOCUS_CHECK_MILLISECONDS, self._take_focus)
        if self._sheet.preview:
            self._root.after(_PREVIEW_MILLISECONDS, self._end_preview)

    def _take_focus(self) -> None:
        """A message without a question does not take the keyboard away from what the person is doing."""
        if self._sheet.wait_for_response and self._root.focus_displayof() in (None, self._root):
            self._input.take_focus()

    def _end_preview(self) -> None:
        self._end(PopupOutcome.DISPLAYED)

    def _pulse(self) -> None:
        if self._sitting.over:
            return
        outcome = self._sitting.pulse()
        if outcome is not None:
            self._root.update()  # keys that were pressed before the end belong to the draft
            if not self._sitting.over:
                self._end(outcome)
            return
        text, warning = self._sitting.notice()
        self._notice.configure(text=text, fg=self._palette.warning if warning else self._palette.muted)
        self._root.after(PULSE_MILLISECONDS, self._pulse)

    def _choose(self, number: int) -> None:
        if not self._sheet.allow_multiple:
            self._submit([self._sheet.options[number]])
        elif self._choices:
            self._choices.toggle(number)

    def _submit(self, chosen: list[str] | None = None) -> None:
        numbers = self._choices.chosen() if self._choices else []
        picked = chosen or [self._sheet.options[number] for number in numbers]
        if self._sitting.submit(self._input.read(), picked, self._filled()):
            self._leave()

    def _decline(self) -> None:
        if self._sitting.decline():
            self._leave()

    def _filled(self) -> dict[str, list[str]]:
        return self._form.read() if self._form else {}

    def _cancel(self) -> None:
        self._end(PopupOutcome.CANCELLED)

    def _use_offer(self) -> None:
        offer = self._sitting.offer()
        if offer is not None:
            self._input.insert(offer[0])
            self._sitting.typed(self._input.read())
            self._discard_offer()

    def _discard_offer(self) -> None:
        self._sitting.take_offer()
        self._show_offer()
        self._input.focus()

    def _end(self, outcome: PopupOutcome) -> None:
        if self._sheet.wait_for_response:
            self._sitting.typed(self._input.read())  # Tk tells of the last keys after the one that ended it
        self._sitting.end(outcome, fields={} if self._sheet.secret else self._filled())
        self._leave()

    def _remember_copying(self) -> None:
        self._copied = True

    def _leave(self) -> None:
        """Text copied here would vanish with the process, so it stays unseen until something else is copied."""
        self._root.withdraw()
        self._root.update_idletasks()
        if self._copied and sys.platform.startswith("linux"):
            self._linger(self._clipboard())
        else:
            self._root.destroy()

    def _linger(self, copied: str | None) -> None:
        self._lingered += _LINGER_CHECK_MILLISECONDS
        if copied is not None and copied == self._clipboard() and self._lingered <= LINGER_SECONDS * 1000:
            self._root.after(_LINGER_CHECK_MILLISECONDS, self._linger, copied)
        else:
            self._root.destroy()

    def _clipboard(self) -> str | None:
        try:
            return self._root.clipboard_get()
        except tk.TclError:
            return None
