"""Look at one thing after another, and keep what came of it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from postroom.testing.case import Case
from postroom.testing.check import Check


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    check: Check
    failure: str | None = None

    @property
    def failed(self) -> bool:
        return self.failure is not None


def look(case: Case, check: Check) -> None:
    """Raises AssertionError when the channel is at fault."""
    if inspect.iscoroutinefunction(check.look):
        asyncio.run(check.look(case))
    else:
        check.look(case)


def run(case: Case, every: Iterable[Check], seen: Callable[[CheckResult], None] = lambda _: None) -> list[CheckResult]:
    results = []
    for check in every:
        results.append(_result(case, check))
        seen(results[-1])
    return results


def _result(case: Case, check: Check) -> CheckResult:
    if check.not_applicable is not None:
        return CheckResult(check=check)
    try:
        look(case, check)
    except AssertionError as error:
        return CheckResult(check=check, failure=str(error) or "it does not hold")
    except Exception as error:  # whatever the channel lets escape is its failure, and the others are looked at as well
        return CheckResult(check=check, failure=f"{type(error).__name__}, which is no error of ours")
    return CheckResult(check=check)
