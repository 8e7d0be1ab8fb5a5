"""Every path that the page about the code names is there."""

from __future__ import annotations

import re

import pytest

from tests.architecture.tree import ROOT

PAGE = ROOT / "docs" / "explanation" / "where-is-what.md"
PATHS = re.findall(r"`((?:src|tests)/[\w/.]+)`", PAGE.read_text())


@pytest.mark.parametrize("path", sorted(set(PATHS)))
def test_a_named_path_is_there(path: str) -> None:
    assert (ROOT / path).exists()
