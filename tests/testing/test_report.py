"""The report to paste."""

from __future__ import annotations

from postroom.testing.case import Case
from postroom.testing.check import Check, CheckGroup
from postroom.testing.report import report
from postroom.testing.run import CheckResult


def look(case: Case) -> None:
    """Holds."""


def result(name: str, group: CheckGroup, *, failure: str | None = None, absent: str | None = None) -> CheckResult:
    check = Check(id=name, group=group, sentence="A | B.", look=look, not_applicable=absent)
    return CheckResult(check=check, failure=failure)


def test_it_counts_names_what_is_proved_and_shows_reasons() -> None:
    text = report(
        "pager",
        [
            result("accepted", CheckGroup.SITUATION),
            result("redirect", CheckGroup.SITUATION, failure="it\nwas | followed"),
            result("swollen", CheckGroup.SITUATION, absent="it is never packed"),
            result("capability/edits", CheckGroup.CAPABILITY),
            result("capability/files", CheckGroup.CAPABILITY, failure="none arrived"),
        ],
    )

    assert "2 ok, 2 failed, 1 not applicable." in text
    assert "Capabilities proved: `edits`." in text
    assert "| `redirect` | A \\| B. | **failed**: it was \\| followed |" in text
    assert "| `swollen` | A \\| B. | not applicable: it is never packed |" in text
    assert "| Inbound |" not in text
