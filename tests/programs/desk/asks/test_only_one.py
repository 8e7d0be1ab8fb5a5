"""One desk of several."""

from __future__ import annotations

from pathlib import Path

from postroom.programs.desk.asks.only_one import OnlyOne


def test_the_first_one_has_it_until_it_lets_go(tmp_path: Path) -> None:
    file = tmp_path / "desk" / "watching"
    first, second = OnlyOne(file), OnlyOne(file)
    assert first.take() and first.take() and not second.take()
    first.release()
    assert second.take() and not first.take()
    second.release()


def test_where_nothing_can_be_written_no_desk_is_kept_out(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.touch()

    assert OnlyOne(blocker / "watching").take()
