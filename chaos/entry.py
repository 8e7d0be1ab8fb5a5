"""What came of one scenario in a run."""

from __future__ import annotations

from dataclasses import dataclass

from chaos.scenario import Result, Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    scenario: Scenario
    result: Result | None
    seconds: float
    error: str = ""
    not_run: str = ""  # why this host cannot run it

    @property
    def passed(self) -> bool:
        return self.result is not None and self.result.passed

    def line(self) -> str:
        word = "ok  " if self.passed else "none" if self.not_run else "FAIL"
        head = f"{word} {self.scenario.name:38}{self.seconds:6.1f} s  "
        if self.result is None:
            return head + (f"not run: {self.not_run}" if self.not_run else self.error)
        note = f" ({self.result.note})" if self.result.note else ""
        return head + self.result.comparison.line() + note + "".join(f"\n       {one}" for one in self.result.said[:8])
