"""How a popup looks and sounds: the system's light or dark, its contrast, our colours, and two small sounds."""

from __future__ import annotations

import io
import json
import math
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import wave
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

# Short questions to the operating system: a program's output or a registry value, or nothing.

PROBE_SECONDS = 0.3


class System:
    """The one this runs on."""

    @property
    def platform(self) -> str:
        return sys.platform

    def output(self, *command: str) -> str | None:
        """What the program printed; None when it is missing, fails or takes too long."""
        try:
            done = subprocess.run(  # noqa: S603
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=PROBE_SECONDS,
                env=_without_autolaunch(),
                check=True,
            )
        except (OSError, subprocess.SubprocessError):
            return None
        return done.stdout.decode(errors="replace").strip()

    def registry(self, path: str, name: str) -> Any:
        """A value below HKEY_CURRENT_USER; None when there is none."""
        if sys.platform != "win32":
            return None
        import winreg

        try:
            with winreg.OpenKey(winreg.HKEY_CURRENT_USER, path) as key:
                return winreg.QueryValueEx(key, name)[0]
        except OSError:
            return None


def _without_autolaunch() -> dict[str, str]:
    """A session without a message bus is asked nothing; no bus is started for it."""
    if sys.platform == "win32":
        return dict(os.environ)
    return {"DBUS_SESSION_BUS_ADDRESS": f"unix:path=/run/user/{os.getuid()}/bus", **os.environ}


# The colours of the window.


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


# Light or dark, plain or high contrast: what the system is set to.

_PERSONALIZE = r"Software\Microsoft\Windows\CurrentVersion\Themes\Personalize"
_HIGH_CONTRAST = r"Control Panel\Accessibility\HighContrast"
_PORTAL = ("gdbus", "call", "--session", "--timeout", "1", "--dest", "org.freedesktop.portal.Desktop")
_READ_ONE = ("--object-path", "/org/freedesktop/portal/desktop", "--method", "org.freedesktop.portal.Settings.ReadOne")


def palette_for(theme: str, system: System) -> str:
    """The palette's name; a theme the caller chose is taken, `auto` asks the system."""
    dark = is_dark(system) if theme == "auto" else theme == "dark"
    return palette_name(dark=dark, high_contrast=is_high_contrast(system))


def is_dark(system: System) -> bool:
    """Light whenever the system does not say."""
    match system.platform:
        case "darwin":
            return (system.output("defaults", "read", "-g", "AppleInterfaceStyle") or "").lower() == "dark"
        case "win32":
            return bool(system.registry(_PERSONALIZE, "AppsUseLightTheme") == 0)
        case _:
            scheme = _gsettings(system, "org.gnome.desktop.interface", "color-scheme")
            if scheme in ("prefer-dark", "prefer-light"):
                return scheme == "prefer-dark"
            return _portal(system, "color-scheme") == 1


def is_high_contrast(system: System) -> bool:
    match system.platform:
        case "darwin":
            return system.output("defaults", "read", "com.apple.universalaccess", "increaseContrast") == "1"
        case "win32":
            flags = system.registry(_HIGH_CONTRAST, "Flags")
            return str(flags).isdigit() and int(flags) & 1 == 1
        case _:
            setting = _gsettings(system, "org.gnome.desktop.a11y.interface", "high-contrast")
            return setting == "true" or (setting is None and _portal(system, "contrast") == 1)


def _gsettings(system: System, schema: str, key: str) -> str | None:
    value = system.output("gsettings", "get", schema, key)
    return None if value is None else value.strip("'")


def _portal(system: System, key: str) -> int | None:
    """The desktop portal answers on KDE and others, where gsettings knows nothing: `(<uint32 1>,)`."""
    reply = system.output(*_PORTAL, *_READ_ONE, "org.freedesktop.appearance", key)
    found = re.search(r"uint32 (\d+)", reply or "")
    return int(found[1]) if found else None


# The two small sounds around a popup, the same tones VoiceMode plays.

_SAMPLE_RATE: Final = 24_000
START_HERTZ: Final = (800.0, 1000.0)
END_HERTZ: Final = (1000.0, 800.0)
_TONE_SECONDS: Final = 0.1
_FADE_SECONDS: Final = 0.01
_LEADING_SECONDS: Final = 0.1
_TRAILING_SECONDS: Final = 0.2
_AMPLITUDE: Final = 0.075
_PLAYERS: Final = (("pw-play",), ("paplay",), ("aplay", "-q"), ("afplay",))
_PLAYER_SECONDS: Final = 5.0


def tones(hertz: tuple[float, ...]) -> bytes:
    """A mono 16-bit WAV file."""
    silence_before, silence_after = (
        bytes(2 * round(_SAMPLE_RATE * seconds)) for seconds in (_LEADING_SECONDS, _TRAILING_SECONDS)
    )
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(_SAMPLE_RATE)
        sound.writeframes(silence_before + b"".join(map(_tone, hertz)) + silence_after)
    return file.getvalue()


def _tone(hertz: float) -> bytes:
    count, fade = round(_SAMPLE_RATE * _TONE_SECONDS), _SAMPLE_RATE * _FADE_SECONDS
    samples = (
        round(32_767 * _AMPLITUDE * min(1.0, index / fade, (count - index) / fade) * math.sin(_angle(hertz, index)))
        for index in range(count)
    )
    return struct.pack(f"<{count}h", *samples)


def _angle(hertz: float, index: int) -> float:
    return 2 * math.pi * hertz * index / _SAMPLE_RATE


class Chimes:
    """Plays in the background and fails in silence; a sound is never worth waiting for."""

    def __init__(self, voicemode: Path) -> None:
        self._conch = voicemode / "conch"

    def start(self) -> None:
        self._play(START_HERTZ)

    def end(self) -> None:
        self._play(END_HERTZ)

    def _play(self, hertz: tuple[float, ...]) -> None:
        threading.Thread(target=self._play_now, args=(hertz,), daemon=True).start()

    def _play_now(self, hertz: tuple[float, ...]) -> None:
        if not someone_is_speaking(self._conch):
            play(tones(hertz))


def player() -> tuple[str, ...] | None:
    """The command that plays the sound file named after it."""
    for name, *options in _PLAYERS:
        path = shutil.which(name)
        if path:
            return (path, *options)
    return None


def play(sound: bytes) -> None:
    if sys.platform == "win32":
        import winsound

        winsound.PlaySound(sound, winsound.SND_MEMORY)
        return
    command = player()
    if command is None:
        return
    with tempfile.NamedTemporaryFile(suffix=".wav") as file:
        file.write(sound)
        file.flush()
        try:
            subprocess.run(  # noqa: S603
                [*command, file.name],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_PLAYER_SECONDS,
                check=False,
            )
        except (OSError, subprocess.SubprocessError):
            return


def someone_is_speaking(conch: Path) -> bool:
    """VoiceMode's conch names the process that holds the voice channel."""
    if sys.platform == "win32":  # asking whether a process lives would end it there
        return False
    try:
        pid = int(json.loads(conch.read_text(encoding="utf-8"))["pid"])
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return True
