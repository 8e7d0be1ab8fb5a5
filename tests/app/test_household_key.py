"""The household's own key."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from postroom.app.household_key import household_key


def test_the_key_is_made_once_and_is_another_for_each_purpose(tmp_path: Path) -> None:
    home = tmp_path / "new"
    first = household_key(home, "buttons")
    assert len(first) == 32
    assert household_key(home, "buttons") == first
    assert household_key(home, "secrets") != first
    assert [file.name for file in home.iterdir()] == ["household.key"]
    assert stat.S_IMODE((home / "household.key").stat().st_mode) == 0o600


def test_those_who_start_at_once_have_the_same_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: household_key(tmp_path, "buttons"), range(16)))) == 1
