"""The reference pages are what the code says, and the code says something about everything."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from scripts.reference.settings import undescribed

from postroom.doors.butler.modules.catalogue import MODULES
from postroom.system.roster.config import ButlerConfig
from postroom.system.settings import Settings
from tests.architecture.tree import ROOT

SCRIPT = ROOT / "scripts" / "generate-reference.py"


def test_the_pages_are_what_the_code_says() -> None:
    done = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True, timeout=100, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


def test_pages_that_are_something_else_are_named(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs" / "reference", tmp_path, dirs_exist_ok=True)
    (tmp_path / "errors.md").write_text("changed by hand")
    done = subprocess.run(
        [sys.executable, SCRIPT, "--check", "--folder", tmp_path],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert done.returncode == 1
    assert "errors.md is not what the code says" in done.stdout


@pytest.mark.parametrize("model", [Settings, ButlerConfig, *(make().config for make in MODULES.values())])
def test_every_setting_says_what_it_means(model: type) -> None:
    assert list(undescribed(model)) == []
