"""The page about the code names every slice, in the order of the contract, and no path that is not there."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.architecture.tree import ROOT

PAGE = ROOT / "docs" / "explanation" / "where-is-what.md"
PATHS = re.findall(r"`((?:src|tests|scripts)/[\w/.-]+)`", PAGE.read_text())
FOLDERS = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.M)


@pytest.mark.parametrize("path", sorted(set(PATHS)))
def test_a_named_path_is_there(path: str) -> None:
    assert (ROOT / path).exists()


def test_every_slice_has_its_row_in_the_order_of_the_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    order = next(one["layers"] for one in contracts if one["id"] == "slices")

    assert [name for line in order for name in line.split(" | ") if name != "__main__"] == FOLDERS
