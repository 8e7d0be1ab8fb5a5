from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.desk import drafts


@given(st.text(min_size=1).filter(str.strip))
def test_a_draft_is_kept_to_the_letter(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.mktemp("drafts")
    drafts.save(folder / "a.json", text)
    assert [draft.text for draft in drafts.waiting(folder)] == [text]


def test_the_newest_comes_first_and_broken_files_are_left_alone(tmp_path: Path) -> None:
    for name in ("1", "3", "2"):
        drafts.save(tmp_path / f"{name}.json", f"text {name}")
    (tmp_path / "4.json").write_text("{")
    assert [draft.text for draft in drafts.waiting(tmp_path)] == ["text 3", "text 2", "text 1"]
    assert (tmp_path / "4.json").exists()


def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    file = tmp_path / "project" / "a.json"
    drafts.save(file, "private")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_an_emptied_text_leaves_no_file(tmp_path: Path) -> None:
    drafts.save(tmp_path / "a.json", "x")
    drafts.save(tmp_path / "a.json", " \n")
    assert not list(tmp_path.iterdir())


def test_very_old_drafts_make_room(tmp_path: Path) -> None:
    for number in range(drafts.KEPT + 3):
        drafts.save(tmp_path / f"{number:03}.json", str(number))
    drafts.prune(tmp_path)
    kept = drafts.waiting(tmp_path)
    assert len(kept) == drafts.KEPT
    assert kept[-1].text == "3"


def test_projects_do_not_share_drafts() -> None:
    folders = {drafts.folder_for(Path("d"), path, label) for path in ("/a", "/b") for label in ("", "x")}
    assert len(folders) == 4


def test_a_turn_is_over_when_someone_else_takes_it(tmp_path: Path) -> None:
    file = tmp_path / "desk" / "turn"
    assert not drafts.turn_is_over(file, "first")
    drafts.take_turn(file, "first")
    assert not drafts.turn_is_over(file, "first")
    drafts.take_turn(file, "second")
    assert drafts.turn_is_over(file, "first")
    assert not drafts.turn_is_over(file, "second")
    assert [entry.name for entry in file.parent.iterdir()] == ["turn"]


def test_the_screen_is_free_when_the_last_window_gave_it_back_or_fell_silent(tmp_path: Path) -> None:
    file = tmp_path / "turn"
    assert drafts.screen_is_free(file)
    drafts.take_turn(file, "a")
    assert not drafts.screen_is_free(file)
    drafts.give_turn_back(file, "b")
    assert not drafts.screen_is_free(file)
    drafts.give_turn_back(file, "a")
    assert drafts.screen_is_free(file)
    drafts.keep_turn(file, "b")
    assert drafts.screen_is_free(file)
    drafts.keep_turn(file, "a")
    assert not drafts.screen_is_free(file)
