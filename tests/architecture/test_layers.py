"""The import contracts of pyproject.toml hold, and a forbidden import would really break them."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT, SOURCE, shown

DOORS = ("butler", "switchboard", "messenger", "agents", "desk", "connectors", "registry", "gateway", "console")
WORK = ("domain", "delivery", "inbox", "contacts", "approvals", "intents")


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo"],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(root / "src")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_contracts_hold(copy: Path) -> None:
    result = lint(copy)

    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("module", "imported", "contract"),
    [
        pytest.param("domain/wrong.py", "postroom.domain.ports", "imports go downward only", id="upward"),
        pytest.param("butler/wrong.py", "postroom.doors.messenger", "imports go downward only", id="door to door"),
        pytest.param("novelty/__init__.py", "postroom.domain", "imports go downward only", id="a package without line"),
        pytest.param("delivery/wrong.py", "time", "work does no I/O and reads no clock", id="work reads the clock"),
        pytest.param(
            "delivery/wrong.py", "postroom.world.store", "work does no I/O and reads no clock", id="work stores"
        ),
        pytest.param("messenger/wrong.py", "postroom.world.channels", "doors never touch the world", id="door sends"),
    ],
)
def test_a_forbidden_import_breaks_a_contract(copy: Path, module: str, imported: str, contract: str) -> None:
    wrong = copy / "src" / "postroom" / module
    wrong.parent.mkdir(exist_ok=True)
    wrong.write_text(f'"""Wrong on purpose."""\n\nimport {imported}\n')

    result = lint(copy)

    assert result.returncode == 1
    assert f"{contract} BROKEN" in result.stdout


def test_packages_of_doors_and_work_import_nothing_but_their_own_modules() -> None:
    packages = [SOURCE / name / "__init__.py" for name in (*DOORS, *WORK)]

    assert [shown(path) for path in packages if path.exists() and _foreign_imports(path)] == []


def _foreign_imports(path: Path) -> list[ast.stmt]:
    """Apart from those that change nothing."""
    nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)]
    own = f"postroom.{path.parent.name}"
    harmless = ("__future__", "typing", own)
    return [
        node
        for node in nodes
        if not (
            isinstance(node, ast.ImportFrom) and (node.module in harmless or f"{node.module}".startswith(f"{own}."))
        )
    ]
