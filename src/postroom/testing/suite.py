"""The suite as tests of pytest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from postroom.testing.case import Case
from postroom.testing.check import Check
from postroom.testing.checks import checks
from postroom.testing.run import look


def suite(case: Case) -> dict[str, Callable[..., None]]:
    """Names and tests for a test file: `globals().update(suite(CASE))`."""
    every = checks(case)

    @pytest.mark.parametrize("check", every, ids=[check.id for check in every])
    def test(check: Any) -> None:
        examine(case, check)

    return {f"test_{case.name.replace('-', '_')}": test}


def examine(case: Case, check: Check) -> None:
    """One check, as pytest sees it: passed, failed with a sentence, or skipped with the reason."""
    if check.not_applicable is not None:
        pytest.skip(check.not_applicable)
    try:
        look(case, check)
    except AssertionError as error:
        pytest.fail(f"{check.sentence} But {error}", pytrace=False)
