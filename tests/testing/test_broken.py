"""Each broken channel fails the suite at what is broken, and nowhere else."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path

import pytest

from postroom.testing.run import checks, run
from tests.testing.pager_case import CASE, case_of

FEW_EXAMPLES = 12  # enough to find what is broken here; that more of them find nothing else is seen once
THAT_WAIT = {"read-then-silence", "drip-past-deadline"}  # for a deadline; looked at where they are to fail, and once
BROKEN = sorted(path.stem for path in (Path(__file__).parent / "broken").glob("[a-z]*.py"))


def test_a_channel_that_does_everything_right_passes_everything() -> None:
    results = run(CASE, checks(CASE))

    assert [(one.check.id, one.failure) for one in results if one.failed] == []
    assert [one.check.id for one in results if one.check.not_applicable] == []


@pytest.mark.requirement("house:channel-suite-bites")
@pytest.mark.requirement("content:suite-files")
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_channel_fails_exactly_there(name: str) -> None:
    broken = importlib.import_module(f"tests.testing.broken.{name}")
    case = replace(case_of(broken.Broken), examples=FEW_EXAMPLES)
    looked_at = [check for check in checks(case) if check.id not in THAT_WAIT - broken.FAILS]

    failed = {one.check.id: one.failure for one in run(case, looked_at) if one.failed}

    assert set(failed) == broken.FAILS, failed


def test_there_are_at_least_twelve_of_them() -> None:
    assert len(BROKEN) >= 12
