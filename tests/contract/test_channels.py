"""Every channel of this repository passes the suite that authors of channels install."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.contract.cases import CASES

from postroom.testing import Case
from postroom.testing.checks import Check
from postroom.testing.run import checks, examine


def every_check() -> Iterator[object]:
    for case in CASES:
        for check in checks(case):
            yield pytest.param(case, check, id=f"{case.name}-{check.id}")


@pytest.mark.requirement("house:channel-suite")
@pytest.mark.parametrize(("case", "check"), list(every_check()))
def test_a_channel_passes_the_suite(case: Case, check: Check) -> None:
    examine(case, check)
