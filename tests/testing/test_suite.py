"""The suite under pytest: passed, skipped with the reason, failed with a sentence."""

from __future__ import annotations

import pytest

from tests.architecture.tree import ROOT

WRONG = """
from dataclasses import replace
from postroom.testing import suite
from tests.testing.broken.shows_the_token import Broken
from tests.testing.pager_case import case_of

CASE = replace(case_of(Broken), not_applicable={"manners/closing": "it is never closed"})
globals().update(suite(CASE))
"""


def test_each_check_is_a_test_of_pytest(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makepyfile(test_it=WRONG)

    result = pytester.runpytest_subprocess("-rs", "-k", "manners", "-p", "no:cacheprovider")

    result.assert_outcomes(passed=8, failed=1, skipped=1)
    result.stdout.fnmatch_lines(["*it is never closed*"])
    result.stdout.fnmatch_lines(["*No repr shows a secret or the message. But a repr shows a secret*"])
