"""`make law` lets go of a test that adds nothing, and of no other; and its mistakes are mistakes."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from scripts.law import choosing
from scripts.law.choosing import chosen
from scripts.law.mutants import sites
from scripts.law.points import Point, Seen, numbers, same_lines, together

POINTS = [Point(f"src/postroom/{place}/work.py", line, None) for place in ("inbox", "people") for line in range(1, 11)]
RULE = """
def longest(some, bound=3):
    if some and len(some) > bound:
        return some[: bound - 1]
    return list(some)
"""


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Seen]:
    """Four tests of one file: of a requirement, of one module, of two slices, and of lines that no other touches."""
    monkeypatch.setattr(choosing, "ROOT", tmp_path)
    monkeypatch.setattr(choosing, "NAMING", ())
    (tmp_path / "tests/inbox").mkdir(parents=True)
    touched = {"scenario": range(6), "inner": range(5), "outer": range(4, 14), "lone": range(14, 20)}
    file = "tests/inbox/test_work.py"
    (tmp_path / file).write_text("".join(f"def test_{name}():\n    pass\n" for name in touched))
    return {
        f"{file}::test_{name}": Seen(
            f"{file}::test_{name}",
            file,
            frozenset({"requirement"} if name == "scenario" else ()),
            0.1,
            together(points),
        )
        for name, points in touched.items()
    }


def test_a_test_may_go_when_others_that_stay_touch_all_that_it_does(suite: dict[str, Seen]) -> None:
    choice = chosen(suite, POINTS, needed=())

    assert [one.function for one in choice.may_go] == ["test_inner"]
    assert choice.stay == 3


def test_a_test_that_alone_notices_a_mistake_stays(suite: dict[str, Seen]) -> None:
    assert chosen(suite, POINTS, needed=["tests/inbox/test_work.py::test_inner"]).may_go == []


def test_each_mistake_changes_the_function_in_another_way() -> None:
    made = []
    for number in range(len(list(sites(ast.parse(RULE))))):
        tree = ast.parse(RULE)
        list(sites(tree))[number].change()
        made.append(ast.unparse(tree))

    assert len({*made, ast.unparse(ast.parse(RULE))}) == len(made) + 1
    assert any("some or len(some) > bound" in text for text in made)
    assert any("len(some) >= bound" in text for text in made)


def test_a_line_is_found_where_it_stood_before_others_came() -> None:
    assert same_lines("new\none\ntwo\n", "one\ngone\ntwo\n") == {2: 1, 3: 3}


def test_a_set_of_points_is_one_number_and_back() -> None:
    assert list(numbers(together([0, 7, 8, 4000]))) == [0, 7, 8, 4000]
