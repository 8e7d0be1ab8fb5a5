from __future__ import annotations

import pytest

from postroom.programs.desk.palette import MINIMUM_CONTRAST, PALETTES, contrast, palette_name


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
    for text, behind in palette.readable_pairs()
]


@pytest.mark.parametrize(("name", "text", "behind"), PAIRS)
@pytest.mark.requirement("popup:contrast")
@pytest.mark.requirement("popup:high-contrast")
def test_every_text_can_be_read(name: str, text: str, behind: str) -> None:
    assert contrast(text, behind) >= (7 if name.startswith("contrast") else MINIMUM_CONTRAST)


def test_every_colour_of_a_palette_is_checked_or_is_no_text() -> None:
    for palette in PALETTES.values():
        checked = {colour for pair in palette.readable_pairs() for colour in pair}
        assert {getattr(palette, name) for name in palette.__slots__ if name != "border"} <= checked


@pytest.mark.parametrize("dark", [True, False])
@pytest.mark.parametrize("high_contrast", [True, False])
def test_every_look_has_a_palette(dark: bool, high_contrast: bool) -> None:
    name = palette_name(dark=dark, high_contrast=high_contrast)
    assert ("dark" in name) is dark
    assert contrast(PALETTES[name].background, "#ffffff" if dark else "#000000") > 10
