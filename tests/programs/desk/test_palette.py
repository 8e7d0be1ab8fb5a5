from __future__ import annotations

import pytest

from postroom.programs.desk.palette import PALETTES, Palette, palette_name

MINIMUM_CONTRAST = 4.5


def readable_pairs(palette: Palette) -> tuple[tuple[str, str], ...]:
    """Every colour that text is written in, with every colour it is written on."""
    return (
        (palette.text, palette.background),
        (palette.text, palette.surface),
        (palette.muted, palette.background),
        (palette.muted, palette.surface),
        (palette.accent, palette.background),
        (palette.accent, palette.surface),
        (palette.warning, palette.background),
        (palette.on_accent, palette.accent),
        (palette.on_button, palette.button),
        (palette.on_selection, palette.selection),
    )


def contrast(one: str, other: str) -> float:
    """The WCAG 2 contrast ratio of two `#rrggbb` colours, from 1 to 21."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    red, green, blue = (_linear(int(colour[index : index + 2], 16) / 255) for index in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else float(((channel + 0.055) / 1.055) ** 2.4)


@pytest.mark.parametrize(
    ("one", "other", "ratio"),
    [
        ("#ffffff", "#000000", 21.0),
        ("#777777", "#ffffff", 4.48),
        ("#0a84ff", "#ffffff", 3.65),
        ("#abc123", "#abc123", 1),
    ],
)
def test_contrast_is_computed_as_wcag_says(one: str, other: str, ratio: float) -> None:
    assert contrast(one, other) == contrast(other, one) == pytest.approx(ratio, abs=0.01)


PAIRS = [
    pytest.param(name, text, behind, id=f"{name}: {text} on {behind}")
    for name, palette in PALETTES.items()
    for text, behind in readable_pairs(palette)
]


@pytest.mark.parametrize(("name", "text", "behind"), PAIRS)
@pytest.mark.requirement("popup:contrast")
@pytest.mark.requirement("popup:high-contrast")
def test_every_text_can_be_read(name: str, text: str, behind: str) -> None:
    assert contrast(text, behind) >= (7 if name.startswith("contrast") else MINIMUM_CONTRAST)


def test_every_colour_of_a_palette_is_checked_or_is_no_text() -> None:
    for palette in PALETTES.values():
        checked = {colour for pair in readable_pairs(palette) for colour in pair}
        assert {getattr(palette, name) for name in palette.__slots__ if name != "border"} <= checked


@pytest.mark.parametrize("dark", [True, False])
@pytest.mark.parametrize("high_contrast", [True, False])
def test_every_look_has_a_palette(dark: bool, high_contrast: bool) -> None:
    name = palette_name(dark=dark, high_contrast=high_contrast)
    assert ("dark" in name) is dark
    assert contrast(PALETTES[name].background, "#ffffff" if dark else "#000000") > 10
