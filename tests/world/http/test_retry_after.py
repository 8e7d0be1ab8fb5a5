from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.domain.patience import LONGEST_SECONDS
from postroom.world.http.retry_after import DEFAULT_SECONDS, wait_seconds

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("told", "header", "expected"),
    [
        pytest.param(35, "9", 35.0, id="body before header"),
        pytest.param(None, "9", 9.0, id="header in seconds"),
        pytest.param(None, "Sun, 01 Mar 2026 12:01:00 GMT", 60.0, id="header as a date"),
        pytest.param(None, "Sun, 01 Mar 2026 12:01:00 -0000", 60.0, id="date without a zone"),
        pytest.param(None, "Sun, 01 Mar 2026 11:00:00 GMT", 0.0, id="date that has passed"),
        pytest.param(None, None, DEFAULT_SECONDS, id="nothing"),
        pytest.param("soon", "soon", DEFAULT_SECONDS, id="words"),
        pytest.param(True, None, DEFAULT_SECONDS, id="boolean"),
        pytest.param(float("nan"), "inf", DEFAULT_SECONDS, id="not a number"),
        pytest.param(-5, None, 0.0, id="negative"),
        pytest.param(10**400, None, LONGEST_SECONDS, id="absurd number"),
        pytest.param(None, "999999999999", LONGEST_SECONDS, id="absurd header"),
        pytest.param(None, "Fri, 31 Dec 9999 23:59:59 GMT", LONGEST_SECONDS, id="absurd date"),
    ],
)
def test_the_wait_is_what_the_provider_meant(told: object, header: str | None, expected: float) -> None:
    assert wait_seconds(told, header, NOW) == expected


@given(st.none() | st.text() | st.integers() | st.floats(), st.none() | st.text())
def test_the_wait_is_always_bounded(told: object, header: str | None) -> None:
    assert 0.0 <= wait_seconds(told, header, NOW) <= LONGEST_SECONDS
