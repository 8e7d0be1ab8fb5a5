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


def test_the_screen_is_free_when_the_last_window_gave_it_back_or_fell_silent(tmp_path: Path) -> None:
    file = tmp_path / "turn"
    assert turn.is_free(file)
    turn.take(file, "a")
    assert not turn.is_free(file)
    turn.give_back(file, "b")
    assert not turn.is_free(file)
    turn.give_back(file, "a")
    assert turn.is_free(file)
    turn.keep(file, "b")
    assert turn.is_free(file)
    turn.keep(file, "a")
    assert not turn.is_free(file)
