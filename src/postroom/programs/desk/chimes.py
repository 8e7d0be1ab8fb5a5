"""The two small sounds around a popup, the same tones VoiceMode plays."""

from __future__ import annotations

import io
import json
import math
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import wave
from pathlib import Path
from typing import Final

SAMPLE_RATE: Final = 24_000
START_HERTZ: Final = (800.0, 1000.0)
END_HERTZ: Final = (1000.0, 800.0)
TONE_SECONDS: Final = 0.1
FADE_SECONDS: Final = 0.01
LEADING_SECONDS: Final = 0.1
TRAILING_SECONDS: Final = 0.2
AMPLITUDE: Final = 0.075
_PLAYERS: Final = (("pw-play",), ("paplay",), ("aplay", "-q"), ("afplay",))
_PLAYER_SECONDS: Final = 5.0


def tones(hertz: tuple[float, ...]) -> bytes:
    """A mono 16-bit WAV file."""
    silence_before, silence_after = (
        bytes(2 * round(SAMPLE_RATE * seconds)) for seconds in (LEADING_SECONDS, TRAILING_SECONDS)
    )
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(SAMPLE_RATE)
        sound.writeframes(silence_before + b"".join(map(_tone, hertz)) + silence_after)
    return file.getvalue()


def _tone(hertz: float) -> bytes:
    count, fade = round(SAMPLE_RATE * TONE_SECONDS), SAMPLE_RATE * FADE_SECONDS
    samples = (
        round(32_767 * AMPLITUDE * min(1.0, index / fade, (count - index) / fade) * math.sin(_angle(hertz, index)))
        for index in range(count)
    )
    return struct.pack(f"<{count}h", *samples)


def _angle(hertz: float, index: int) -> float:
    return 2 * math.pi * hertz * index / SAMPLE_RATE


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
