from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.programs.desk.records import LINE_BYTES, ConversationRecord, decode, encode, split
from postroom.programs.desk.who import Who

MOMENT = datetime(2026, 11, 15, 6, 38, 47, 848101, tzinfo=UTC)


def record(text: str, who: Who = Who.PERSON) -> ConversationRecord:
    return ConversationRecord(
        version=3,
        timestamp=MOMENT,
        conversation_id="conv_20261115_063847_rt9mxu",
        who=who,
        text=text,
        project_path="/srv/project",
    )


@pytest.mark.requirement("popup:converse-shared")
def test_a_line_has_the_shape_that_voicemode_reads() -> None:
    line = json.loads(encode(record("Fix it — naïve ☕", Who.ASSISTANT)))
    assert line == {
        "version": 3,
        "timestamp": "2026-11-15T06:38:47.848101+00:00",
        "conversation_id": "conv_20261115_063847_rt9mxu",
        "type": "tts",
        "text": "Fix it — naïve ☕",
        "project_path": "/srv/project",
        "metadata": {
            "voice_mode_version": "postroom",
            "provider": "popup",
            "transport": "notify",
            "mode": "notify",
        },
    }


@given(st.text())
def test_what_is_written_is_read_back(text: str) -> None:
    assert decode(encode(record(text))) == record(text)


@given(st.text(max_size=3000))
def test_the_last_line_fits_where_voicemode_looks_for_it(text: str) -> None:
    parts = split(record(text))
    assert "".join(part.text for part in parts) == text
    lines = [encode(part) for part in parts]
    assert len(lines[-1]) <= LINE_BYTES < 1_024
    assert all(line.isascii() for line in lines)
    assert [(part.part, part.parts) for part in parts] in ([(1, 1)], [(1, 2), (2, 2)])


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"text": "x"}',
        b'{"timestamp": "x", "type": "stt", "text": "", "conversation_id": ""}',
    ],
)
def test_a_broken_line_is_no_record(line: bytes) -> None:
    assert decode(line) is None


@pytest.mark.parametrize(
    ("kind", "who"),
    [("stt", Who.PERSON), ("notify_in", Who.PERSON), ("tts", Who.ASSISTANT), ("notify_out", Who.ASSISTANT)],
)
def test_older_names_of_the_two_sides_are_known(kind: str, who: Who) -> None:
    raw = json.loads(encode(record("hi"))) | {"type": kind, "timestamp": "2026-11-15T06:38:47Z"}
    found = decode(json.dumps(raw).encode())
    assert found is not None
    assert found.who is who


@pytest.mark.parametrize("text", ["[no speech detected]", "[empty]", " "])
def test_silence_is_no_speech(text: str) -> None:
    assert record(text).silent
