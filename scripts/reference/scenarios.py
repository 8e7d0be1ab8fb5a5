"""docs/reference/scenarios.md: for every scenario of the specifications, the tests that show it."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from scripts.reference.markdown import code, page, table
from tests.requirements import REQUIREMENTS, Requirement

TESTS: Final = Path(__file__).parents[2] / "tests"
MOST_SHOWN: Final = 2

# In the order in which somebody reads them; each has its page among the contracts.
_SPECIFICATIONS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "notify-contract.md": ("notify.v1", "notify.md"),
        "popup-notify-tool.md": ("The popup", "popup.md"),
        "send-notification-tool.md": ("send_notification", "send-notification.md"),
        "messenger-role.md": ("The messenger", "messenger.md"),
        "intent-normalization.md": ("Intents and adapters", "intents.md"),
    }
)

_INTRODUCTION: Final = """\
Five specifications say what Postroom must do. Here is each requirement and scenario of them, in its order, with what
must be seen and the tests that show it; where many do, the two that show least else. A test names its scenario by the
id (`@pytest.mark.requirement("{example}")`), and a whole run fails while one has no test. These ids, and those of all
that was promised beyond the specifications, are in `tests/requirements.py`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing:
    """A test, or a whole file of them, and how many requirements it says it shows."""

    file: Path
    test: str | None
    of: int

    def link(self) -> str:
        place = self.file.relative_to(TESTS).as_posix()
        return f"[{code(self.test or place)}](../../tests/{place})"


def scenarios_page() -> str:
    shown = _showings()
    introduction = _INTRODUCTION.format(example=REQUIREMENTS[0].id)
    return page("Scenarios and their tests", introduction, [_part(spec, shown) for spec in _SPECIFICATIONS])


def _part(spec: str, shown: Mapping[str, Sequence[Showing]]) -> str:
    title, contract = _SPECIFICATIONS[spec]
    listed = [one for one in REQUIREMENTS if one.spec == spec]
    header = ("requirement", "id", "what must be seen", "shown by")
    first = (
        0 if len({one.requirement for one in listed}) > 1 else 1
    )  # the popup's specification has no headings for them
    rows = table(header[first:], [_row(one, shown[one.id])[first:] for one in listed])
    return f"## {title}\n\nThe specification `{spec}`; [the contract](../contracts/{contract}).\n\n{rows}"


def _row(one: Requirement, showings: Sequence[Showing]) -> tuple[str, str, str, str]:
    first = sorted(showings, key=lambda shown: (shown.of, shown.file, shown.test or ""))[:MOST_SHOWN]
    more = len(showings) - len(first)
    told = ", ".join(shown.link() for shown in first) + (f" and {more} more" if more else "")
    return one.requirement, code(one.id), one.scenario, told


def _showings() -> Mapping[str, Sequence[Showing]]:
    found: dict[str, list[Showing]] = defaultdict(list)
    for file in sorted(TESTS.rglob("test_*.py")):
        text = file.read_text(encoding="utf-8")
        if "requirement(" in text:
            for test, ids in _marked(ast.parse(text)):
                for name in ids:
                    found[name].append(Showing(file=file, test=test, of=len(ids)))
    return found


def _marked(tree: ast.Module) -> Iterator[tuple[str | None, list[str]]]:
    """The ids at each test, and those that stand for the whole file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            ids = [name for decorator in node.decorator_list for name in _ids(decorator)]
            yield node.name, ids
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            name = ast.unparse(statement.targets[0])
            yield (name if name.startswith("Test") else None), list(_ids(statement.value))


def _ids(expression: ast.expr) -> Iterator[str]:
    for node in ast.walk(expression):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "requirement":
            yield from (str(one.value) for one in node.args if isinstance(one, ast.Constant))
