"""Look at one thing after another, and keep what came of it."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

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
    asyncio.run(_looked(case, check))


async def _looked(case: Case, check: Check) -> None:
    """Always with a loop: a channel may need one as soon as it is made."""
    if (waiting := check.look(case)) is not None:
        await waiting


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
        return CheckResult(check=check, failure=_escaped(error))
    return CheckResult(check=check)


def _escaped(error: Exception) -> str:
    """Where it comes from; what it says may quote the message."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} escaped, at {Path(last.filename).name}:{last.lineno}"
