"""Each broken channel fails the suite at what is broken, and nowhere else."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from postroom.testing.checks import checks
from postroom.testing.run import run
from tests.testing.pager_case import CASE, case_of

BROKEN = sorted(path.stem for path in (Path(__file__).parent / "broken").glob("[a-z]*.py"))


def test_a_channel_that_does_everything_right_passes_everything() -> None:
    results = run(CASE, checks(CASE))

    assert [(one.check.id, one.failure) for one in results if one.failed] == []
    assert [one.check.id for one in results if one.check.not_applicable] == []


@pytest.mark.requirement("house:channel-suite-bites")
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_channel_fails_exactly_there(name: str) -> None:
    broken = importlib.import_module(f"tests.testing.broken.{name}")
    case = case_of(broken.Broken)

    failed = {one.check.id: one.failure for one in run(case, checks(case)) if one.failed}

    assert set(failed) == broken.FAILS, failed


def test_there_are_at_least_twelve_of_them() -> None:
    assert len(BROKEN) >= 12
