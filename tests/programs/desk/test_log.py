from __future__ import annotations

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from pathlib import Path
from random import Random
from typing import Any

import pytest

from postroom.programs.desk.log import ConversationLog
from postroom.programs.desk.who import Who

ZONE = timezone(timedelta(hours=2))


class Hands:
    """A clock whose hands the test turns."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 15, 12, 0, tzinfo=ZONE)

    def __call__(self) -> datetime:
        return self.now

    def turn(self, **amount: float) -> None:
        self.now += timedelta(**amount)


@pytest.fixture
def clock() -> Hands:
    return Hands()


@pytest.fixture
def log(tmp_path: Path, clock: Hands) -> ConversationLog:
    return ConversationLog(tmp_path, "/p", now=clock, dice=Random(7))


def file(base: Path, day: str = "2026-11-15") -> Path:
    return base / "logs" / "conversations" / f"exchanges_{day}.jsonl"


def lines(base: Path, day: str = "2026-11-15") -> list[dict[str, Any]]:
    return [json.loads(line) for line in file(base, day).read_text().splitlines()]


def last_as_voicemode_finds_it(base: Path) -> dict[str, Any]:
    """VoiceMode reads the last 1,024 bytes as UTF-8 and takes the last line of them."""
    tail = file(base).read_bytes()[-1_024:].decode("utf-8")
    found: dict[str, Any] = json.loads(tail.strip().split("\n")[-1])
    return found


def voice_line(clock: Hands, text: str, kind: str = "stt", version: int = 4) -> str:
    """As VoiceMode writes it."""
    return json.dumps(
        {
            "version": version,
            "timestamp": clock.now.isoformat(),
            "conversation_id": "conv_20261115_115900_voice1",
            "type": kind,
            "text": text,
            "project_path": "/p",
            "metadata": {"voice_mode_version": "9.0.0", "transport": "local"},
        }
    )


@pytest.mark.requirement("popup:converse-shared")
@pytest.mark.requirement("popup:converse-parallel")
@pytest.mark.requirement("popup:switch-session")
def test_a_popup_goes_on_with_the_conversation_that_was_spoken(
    log: ConversationLog, clock: Hands, tmp_path: Path
) -> None:
    file(tmp_path).parent.mkdir(parents=True)
    spoken = voice_line(clock, "Hello?", "tts") + "\n" + voice_line(clock, "Yes") + "\n"
    file(tmp_path).write_text(spoken)
    clock.turn(minutes=1)
    log.append(Who.ASSISTANT, "Typed question")
    assert file(tmp_path).read_text().startswith(spoken)
    line = lines(tmp_path)[-1]
    assert (line["conversation_id"], line["version"], line["type"]) == ("conv_20261115_115900_voice1", 4, "tts")
    assert [said.text for said in log.history(5)] == ["Hello?", "Yes", "Typed question"]


def test_a_conversation_ends_after_five_minutes_but_a_late_reply_stays_with_its_question(
    log: ConversationLog, clock: Hands, tmp_path: Path
) -> None:
    first = log.append(Who.ASSISTANT, "Question")
    clock.turn(minutes=6)
    log.append(Who.PERSON, "Late answer", conversation=first)
    clock.turn(minutes=5)
    second = log.append(Who.ASSISTANT, "New")
    assert [line["conversation_id"] for line in lines(tmp_path)] == [first, first, second]
    assert first != second


def test_a_conversation_runs_past_midnight(log: ConversationLog, clock: Hands, tmp_path: Path) -> None:
    clock.turn(hours=11, minutes=58)
    first = log.append(Who.ASSISTANT, "Late")
    clock.turn(minutes=4)
    assert log.append(Who.PERSON, "Later") == first
    assert lines(tmp_path, "2026-11-16")[0]["timestamp"].startswith("2026-11-16T00:02:00.000000+02:00")
    assert len(log.history(5)) == 2


@pytest.mark.parametrize("text", ["x" * 3000, "é" * 10_000, "😀" * 10_000], ids=["ascii", "accents", "emoji"])
def test_voicemode_finds_the_last_line_of_any_reply(log: ConversationLog, tmp_path: Path, text: str) -> None:
    conversation = log.append(Who.PERSON, text)
    assert last_as_voicemode_finds_it(tmp_path)["conversation_id"] == conversation
    assert [line.text for line in log.history(5)] == [text]


def test_only_the_owner_can_read_what_we_create(log: ConversationLog, tmp_path: Path) -> None:
    log.append(Who.PERSON, "private")
    assert stat.S_IMODE(file(tmp_path).stat().st_mode) == 0o600
    assert stat.S_IMODE(file(tmp_path).parent.stat().st_mode) == 0o700


def test_bad_lines_are_skipped_and_never_grow(log: ConversationLog, tmp_path: Path) -> None:
    file(tmp_path).parent.mkdir(parents=True)
    file(tmp_path).write_bytes(b'{"half a line": \xff\xfe')
    log.append(Who.PERSON, "whole")
    assert [line.text for line in log.history(5)] == ["whole"]
    assert file(tmp_path).read_bytes().splitlines()[0] == b'{"half a line": \xff\xfe'


def test_writers_at_the_same_time_lose_no_line(tmp_path: Path, clock: Hands) -> None:
    desks = [ConversationLog(tmp_path, "/p", now=clock, dice=Random(number)) for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        ids = set(pool.map(lambda number: desks[number % 8].append(Who.PERSON, "x" * number * 40), range(64)))
    assert len(lines(tmp_path)) >= 64
    assert len(ids) == 1
