from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.programs.desk.window.countdown import due_at, notice

SECONDS = st.floats(0, 1000)


@given(SECONDS, SECONDS, st.none() | SECONDS, st.floats(0, 10))
def test_it_never_gives_up_early_nor_while_someone_types(
    opened: float, timeout: float, active: float | None, grace: float
) -> None:
    due = due_at(opened=opened, timeout=timeout, active=active, grace=grace)
    assert due is not None
    assert due >= opened + timeout
    assert active is None or due >= active + grace
    assert due == opened + timeout or (active is not None and due == active + grace)


def test_without_a_timeout_it_waits_for_ever() -> None:
    assert due_at(opened=0, timeout=None, active=5, grace=10) is None
    assert notice(opened=0, timeout=None, due=None, now=1e9) == ""


@pytest.mark.parametrize(
    ("now", "expected"),
    [(0, "Closes in 1:30"), (30.5, "Closes in 1:00"), (31, "Closes in 59 s"), (89.9, "Closes in 1 s")],
)
def test_the_time_left_is_shown(now: float, expected: str) -> None:
    assert notice(opened=0, timeout=90, due=90, now=now) == expected


def test_overtime_is_shown_as_waiting() -> None:
    assert notice(opened=0, timeout=90, due=99, now=91) == "Waiting while you type"
