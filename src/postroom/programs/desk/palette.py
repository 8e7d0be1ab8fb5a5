"""The colours of the window."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Palette:
    background: str
    surface: str
    """Behind the message and the reply."""
    text: str
    muted: str
    accent: str
    """The submit button, the focus ring and the person's name."""
    on_accent: str
    button: str
    on_button: str
    border: str
    warning: str
    selection: str
    on_selection: str


PALETTES = {
    "light": Palette(
        background="#f4f5f7",
        surface="#ffffff",
        text="#1b1f24",
        muted="#57606a",
        accent="#0a5bc4",
        on_accent="#ffffff",
        button="#e3e6ea",
        on_button="#1b1f24",
        border="#c9ced6",
        warning="#a3330a",
        selection="#0a5bc4",
        on_selection="#ffffff",
    ),
    "dark": Palette(
        background="#1e2227",
        surface="#282d34",
        text="#eceff3",
        muted="#a9b3bf",
        accent="#7ab7ff",
        on_accent="#0b1a2b",
        button="#3a4149",
        on_button="#f2f4f7",
        border="#464e58",
        warning="#ffb086",
        selection="#7ab7ff",
        on_selection="#0b1a2b",
    ),
    "contrast-light": Palette(
        background="#ffffff",
        surface="#ffffff",
        text="#000000",
        muted="#1a1a1a",
        accent="#00308f",
        on_accent="#ffffff",
        button="#ffffff",
        on_button="#000000",
        border="#000000",
        warning="#8b0000",
        selection="#00308f",
        on_selection="#ffffff",
    ),
    "contrast-dark": Palette(
        background="#000000",
        surface="#000000",
        text="#ffffff",
        muted="#f0f0f0",
        accent="#ffe14d",
        on_accent="#000000",
        button="#000000",
        on_button="#ffffff",
        border="#ffffff",
        warning="#ffb3a1",
        selection="#ffe14d",
        on_selection="#000000",
    ),
}


def palette_name(*, dark: bool, high_contrast: bool) -> str:
    shade = "dark" if dark else "light"
    return f"contrast-{shade}" if high_contrast else shade
