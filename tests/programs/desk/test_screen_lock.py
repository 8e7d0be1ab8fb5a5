from __future__ import annotations

from pathlib import Path

from postroom.programs.desk import screen_lock as turn


def test_a_turn_is_over_when_someone_else_takes_it(tmp_path: Path) -> None:
    file = tmp_path / "desk" / "turn"
    assert not turn.is_over(file, "first")
    turn.take(file, "first")
    assert not turn.is_over(file, "first")
    turn.take(file, "second")
    assert turn.is_over(file, "first")
    assert not turn.is_over(file, "second")
    assert [entry.name for entry in file.parent.iterdir()] == ["turn"]
