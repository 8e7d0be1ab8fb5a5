"""Only a call that stands alone in its message may be deferred."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from postroom.programs.hook.transcript import is_alone


def line(message: str, *calls: str) -> str:
    content = [{"type": "tool_use", "id": call, "name": "Bash", "input": {}} for call in calls]
    return json.dumps({"type": "assistant", "message": {"id": message, "content": content}}) + "\n"


@pytest.mark.requirement("connect:headless-alone")
@pytest.mark.parametrize(
    ("text", "alone"),
    [
        (line("m1", "a") + line("m2", "wanted"), True),
        (line("m1", "wanted", "b"), False),
        (line("m1", "wanted") + line("m1", "b"), False),
        (line("m1", "other"), False),
        ('garbage "tool_use"\n[1, "tool_use"]\n', False),
    ],
)
def test_a_call_is_alone_when_its_message_holds_no_other(tmp_path: Path, text: str, alone: bool) -> None:
    (tmp_path / "t.jsonl").write_text(text)
    moments = iter(range(0, 1000, 5))

    assert is_alone(tmp_path / "t.jsonl", "wanted", now=lambda: next(moments), pause=lambda _: None) is alone


def test_a_message_that_is_still_being_written_is_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    writes = iter([line("m1", "wanted"), line("m1", "b")])

    def pause(_seconds: float) -> None:
        with file.open("a") as transcript:
            transcript.write(next(writes, ""))

    assert is_alone(file, "wanted", now=lambda: 0, pause=pause) is False
