"""Every channel of this repository passes the suite that authors of channels install."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.contract.cases import CASES

from postroom.testing import Case
from postroom.testing.check import Check, CheckGroup
from postroom.testing.checks import checks
from postroom.testing.suite import examine

# A case in the former shape does not say what its provider's words are, nor what people see and press there.
FORMER_GROUPS = (CheckGroup.OWN, CheckGroup.MANNERS)


def every_check() -> Iterator[object]:
    for given in CASES:
        case = given if isinstance(given, Case) else given.installed()
        for check in checks(case):
            if isinstance(given, Case) or check.group in FORMER_GROUPS:
                yield pytest.param(case, check, id=f"{case.name}-{check.id}")


@pytest.mark.requirement("house:channel-suite")
@pytest.mark.parametrize(("case", "check"), list(every_check()))
def test_a_channel_passes_the_suite(case: Case, check: Check) -> None:
    examine(case, check)
