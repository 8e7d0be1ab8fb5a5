from __future__ import annotations

import cmath
import io
import json
import math
import os
import struct
import time
import wave
from pathlib import Path

import pytest
from tests.programs.desk.screen import until

from postroom.programs.desk.chimes import END_HERTZ, START_HERTZ, Chimes, player, someone_is_speaking, tones


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
