from __future__ import annotations

from typing import Any

import pytest
from tests.programs.desk.outside import Outside

from postroom.programs.desk.appearance import is_dark, is_high_contrast, palette_for

PERSONALIZE = (r"Software\Microsoft\Windows\CurrentVersion\Themes\Personalize", "AppsUseLightTheme")
FLAGS = (r"Control Panel\Accessibility\HighContrast", "Flags")


@pytest.mark.parametrize(("printed", "dark"), [("Dark", True), ("Light", False)])
@pytest.mark.requirement("popup:theme-macos")
def test_macos_is_asked_with_defaults(printed: str, dark: bool) -> None:
    system = Outside(platform="darwin", programs={"defaults read -g AppleInterfaceStyle": printed})
    assert is_dark(system) is dark


@pytest.mark.parametrize(("value", "dark"), [(0, True), (1, False)])
@pytest.mark.requirement("popup:theme-windows")
def test_windows_is_asked_through_the_registry(value: int, dark: bool) -> None:
    assert is_dark(Outside(platform="win32", values={PERSONALIZE: value})) is dark


@pytest.mark.parametrize(
    ("scheme", "portal", "dark"),
    [
        ("'prefer-dark'", None, True),
        ("'prefer-light'", "(<uint32 1>,)", False),
        ("'default'", "(<uint32 1>,)", True),
        ("'default'", "(<uint32 2>,)", False),
        ("'default'", None, False),
        (None, "(<uint32 1>,)", True),
    ],
)
@pytest.mark.requirement("popup:theme-linux")
def test_linux_is_asked_with_gsettings_then_through_the_portal(
    scheme: str | None, portal: str | None, dark: bool
) -> None:
    answers = {"gsettings get org.gnome.desktop.interface color-scheme": scheme, "color-scheme": portal}
    programs = {part: printed for part, printed in answers.items() if printed is not None}
    if scheme is None:
        programs = {"org.freedesktop.appearance color-scheme": str(portal)}
    assert is_dark(Outside(programs=programs)) is dark


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32", "freebsd14"])
@pytest.mark.requirement("popup:theme-fallback")
def test_a_system_that_does_not_answer_is_light(platform: str) -> None:
    assert palette_for("auto", Outside(platform=platform)) == "light"


@pytest.mark.requirement("popup:theme-argument")
def test_a_theme_that_was_asked_for_asks_nobody_about_dark() -> None:
    system = Outside(programs={"color-scheme": "'prefer-dark'"})
    assert palette_for("light", system) == "light"
    assert palette_for("dark", Outside()) == "dark"
    assert not any("color-scheme" in line for line in system.asked)


@pytest.mark.parametrize(
    "system",
    [
        Outside(platform="darwin", programs={"increaseContrast": "1"}),
        Outside(platform="win32", values={FLAGS: "127"}),
        Outside(programs={"org.gnome.desktop.a11y.interface high-contrast": "true"}),
        Outside(programs={"org.freedesktop.appearance contrast": "(<uint32 1>,)"}),
    ],
    ids=["macOS", "Windows", "GNOME", "portal"],
)
@pytest.mark.requirement("popup:high-contrast")
def test_high_contrast_is_respected(system: Outside) -> None:
    assert is_high_contrast(system)
    assert palette_for("dark", system) == "contrast-dark"


@pytest.mark.parametrize("flags", ["126", None, "nonsense"])
def test_windows_without_high_contrast(flags: Any) -> None:
    assert not is_high_contrast(Outside(platform="win32", values={FLAGS: flags}))
