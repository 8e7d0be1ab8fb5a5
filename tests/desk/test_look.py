from __future__ import annotations

import cmath
import io
import json
import math
import os
import struct
import time
import wave
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.desk.screen import until

from postroom.desk.look import (
    END_HERTZ,
    PALETTES,
    PROBE_SECONDS,
    START_HERTZ,
    Chimes,
    Palette,
    System,
    is_dark,
    is_high_contrast,
    palette_for,
    palette_name,
    player,
    someone_is_speaking,
    tones,
)


@dataclass(slots=True, kw_only=True)
class Outside:
    platform: str = "linux"
    programs: Mapping[str, str] = field(default_factory=dict)
    """What a command line prints, by a part of it; anything else fails."""
    values: Mapping[tuple[str, str], Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def output(self, *command: str) -> str | None:
        line = " ".join(command)
        self.asked.append(line)
        return next((printed for part, printed in self.programs.items() if part in line), None)

    def registry(self, path: str, name: str) -> Any:
        return self.values.get((path, name))


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


def samples(sound: bytes) -> tuple[int, ...]:
    with wave.open(io.BytesIO(sound)) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 24_000)
        return struct.unpack(f"<{file.getnframes()}h", file.readframes(file.getnframes()))


def loudness(part: tuple[int, ...], hertz: float) -> float:
    """How much of one frequency is in a piece of sound."""
    turn = -2j * math.pi * hertz / 24_000
    return abs(sum(value * cmath.exp(turn * index) for index, value in enumerate(part))) / len(part)


@pytest.mark.parametrize(("hertz", "first", "second"), [(START_HERTZ, 800, 1000), (END_HERTZ, 1000, 800)])
@pytest.mark.requirement("popup:chime-tones")
def test_a_chime_is_two_tones_between_two_silences(hertz: tuple[float, ...], first: int, second: int) -> None:
    sound = samples(tones(hertz))
    assert len(sound) == 12_000
    assert not any(sound[:2400])
    assert not any(sound[7200:])
    for part, present, absent in ((sound[2400:4800], first, second), (sound[4800:7200], second, first)):
        assert loudness(part, present) > 10 * loudness(part, absent)


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A sound player that keeps what it was given, after thinking about it for a while."""
    program = tmp_path / "pw-play"
    program.write_text(
        f'#!/bin/sh\ncp "$1" "{tmp_path}/unfinished"\nmv "{tmp_path}/unfinished" "{tmp_path}/played.wav"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path / "played.wav"


@pytest.mark.requirement("popup:chime-tones")
def test_a_chime_is_handed_to_the_systems_player(played: Path, tmp_path: Path) -> None:
    Chimes(tmp_path).start()
    until(played.exists, "the sound")
    assert played.read_bytes() == tones(START_HERTZ)


def test_a_player_that_hangs_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "aplay"
    program.write_text("#!/bin/sh\nexec sleep 30\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    started = time.monotonic()
    Chimes(tmp_path).end()
    assert time.monotonic() - started < 4, "a player is ended after five seconds; that was waited for"


def test_without_a_player_there_is_silence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert player() is None
    Chimes(tmp_path).start()


@pytest.mark.parametrize(
    ("content", "speaking"),
    [(json.dumps({"pid": os.getpid()}), True), ('{"pid": 999999999}', False), ("{", False), (None, False)],
    ids=["held", "left behind", "broken", "free"],
)
def test_nothing_is_played_into_someones_speech(tmp_path: Path, content: str | None, speaking: bool) -> None:
    conch = tmp_path / "conch"
    if content is not None:
        conch.write_text(content)
    assert someone_is_speaking(conch) is speaking


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


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def script(folder: Path, name: str, body: str) -> None:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)


def test_a_program_is_asked_and_its_words_are_returned(programs: Path) -> None:
    script(programs, "setting", 'echo "value of $1"')
    assert System().output("setting", "x") == "value of x"


@pytest.mark.parametrize("body", ["exit 3", "exec sleep 30"], ids=["fails", "hangs"])
def test_a_program_that_does_not_answer_costs_little(programs: Path, body: str) -> None:
    script(programs, "setting", body)
    started = time.monotonic()
    assert System().output("setting") is None
    assert time.monotonic() - started < PROBE_SECONDS + 10


def test_a_missing_program_or_value_is_no_answer(programs: Path) -> None:
    assert System().output("no-such-program") is None
    assert System().registry("a", "b") is None
