"""The page about the code names every slice, in the order of the contract, and no path that is not there."""

from __future__ import annotations

import ast
import re
import tomllib

import pytest

from tests.architecture.tree import ROOT, source_files

PAGE = ROOT / "docs" / "explanation" / "where-is-what.md"
PATHS = re.findall(r"`((?:src|tests|scripts)/[\w/.-]+)`", PAGE.read_text())
SLICES, _, PROTOCOLS = PAGE.read_text().partition("## Where a Protocol stands")
FOLDERS = re.findall(r"^\| `(\w+)` \|", SLICES, re.M)


@pytest.mark.parametrize("path", sorted(set(PATHS)))
def test_a_named_path_is_there(path: str) -> None:
    assert (ROOT / path).exists()


def test_every_slice_has_its_row_in_the_order_of_the_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    order = next(one["layers"] for one in contracts if one["id"] == "slices")

    assert [name for line in order for name in line.split(" | ") if name != "__main__"] == FOLDERS


def test_every_protocol_has_its_reason() -> None:
    rows = re.findall(r"^\| (`.+?) \| .+ \|$", PROTOCOLS, re.M)
    listed = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in source_files()]
    classes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    written = [one.name for one in classes if any(ast.unparse(base) == "Protocol" for base in one.bases)]

    assert sorted(listed) == sorted(written)
