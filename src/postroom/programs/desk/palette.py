"""The colours of the window, and how well one can be read on another."""

from __future__ import annotations

from dataclasses import dataclass

MINIMUM_CONTRAST = 4.5


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

    def readable_pairs(self) -> tuple[tuple[str, str], ...]:
        """Every colour that text is written in, with every colour it is written on."""
        return (
            (self.text, self.background),
            (self.text, self.surface),
            (self.muted, self.background),
            (self.muted, self.surface),
            (self.accent, self.background),
            (self.accent, self.surface),
            (self.warning, self.background),
            (self.on_accent, self.accent),
            (self.on_button, self.button),
            (self.on_selection, self.selection),
        )


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


def contrast(one: str, other: str) -> float:
    """The WCAG 2 contrast ratio of two `#rrggbb` colours, from 1 to 21."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    red, green, blue = (_linear(int(colour[index : index + 2], 16) / 255) for index in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else float(((channel + 0.055) / 1.055) ** 2.4)
