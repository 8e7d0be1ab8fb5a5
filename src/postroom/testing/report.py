"""What came of the suite, as Markdown to paste."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from importlib.metadata import version

from postroom.testing.check import CheckGroup
from postroom.testing.run import CheckResult


def report(name: str, results: Sequence[CheckResult]) -> str:
    return "\n".join(_lines(name, results)) + "\n"


def mark(result: CheckResult) -> str:
    if result.check.not_applicable is not None:
        return "not applicable"
    return "**failed**" if result.failed else "ok"


def _lines(name: str, results: Sequence[CheckResult]) -> Iterator[str]:
    yield f"### The channel `{name}` in the suite of Postroom"
    yield ""
    yield f"postroom {version('postroom')}, Python {platform.python_version()}. {_summary(results)}"
    yield ""
    yield f"Capabilities proved: {_proved(results)}."
    for group in CheckGroup:
        rows = [one for one in results if one.check.group is group]
        if rows:
            yield from _table(group, rows)


def _summary(results: Sequence[CheckResult]) -> str:
    marks = [mark(one) for one in results]
    failed, absent = marks.count("**failed**"), marks.count("not applicable")
    return f"{marks.count('ok')} ok, {failed} failed, {absent} not applicable."


def _proved(results: Sequence[CheckResult]) -> str:
    names = [
        one.check.id.partition("/")[2] for one in results if one.check.group is CheckGroup.CAPABILITY and _holds(one)
    ]
    return ", ".join(f"`{name}`" for name in names) or "none"


def _holds(result: CheckResult) -> bool:
    return not result.failed and result.check.not_applicable is None


def _table(group: CheckGroup, rows: Sequence[CheckResult]) -> Iterator[str]:
    yield ""
    yield f"| {group} | | |"
    yield "|---|---|---|"
    for one in rows:
        yield f"| `{one.check.id}` | {_cell(one.check.sentence)} | {_cell(_ending(one))} |"


def _ending(result: CheckResult) -> str:
    said = result.failure or result.check.not_applicable
    return f"{mark(result)}: {said}" if said else mark(result)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
