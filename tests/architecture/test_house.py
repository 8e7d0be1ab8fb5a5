"""The house: the import contracts of pyproject.toml hold, and a forbidden import would break them."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT, SOURCE, shown, source_files

MOST_ENTRIES = 15


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
        pytest.param("kernel/wrong.py", "postroom.message.delivery", "slices import downward only", id="upward"),
        pytest.param("novelty/__init__.py", "postroom.kernel", "slices import downward only", id="no line of its own"),
        pytest.param("delivery/wrong.py", "postroom.questions.model", "slices import downward only", id="a question"),
        pytest.param("testing/wrong.py", "postroom.sandbox.ledger", "slices import downward only", id="suite cheats"),
        pytest.param("attention/keeper.py", "postroom.attention.acts", "nothing inside a slice", id="calls a door"),
        pytest.param("people/model.py", "postroom.people.store.tables", "rules and models", id="a model stores"),
        pytest.param("questions/rules/wrong.py", "random", "rules and models", id="a rule throws dice"),
    ],
)
def test_a_forbidden_import_breaks_a_contract(copy: Path, module: str, imported: str, contract: str) -> None:
    wrong = copy / "src" / "postroom" / module
    wrong.parent.mkdir(exist_ok=True)
    with wrong.open("a", encoding="utf-8") as file:
        file.write(f"\nimport {imported}\n")

    result = lint(copy)

    assert result.returncode == 1
    assert re.search(rf"{contract}.* BROKEN", result.stdout)


def test_every_slice_has_its_line_in_the_order() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    order = next(one["layers"] for one in contracts if one["id"] == "slices")
    listed = {name for line in order for name in line.split(" | ")} - {"__main__"}

    assert {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"} == listed


def test_a_folder_can_be_seen_at_one_glance() -> None:
    """Fifteen entries at most below the top, which is the table of contents."""
    folders = {path.parent for path in source_files()} - {SOURCE}
    crowded = {shown(one): len(_entries(one)) for one in folders if len(_entries(one)) > MOST_ENTRIES}

    assert crowded == {}


def test_packages_import_nothing_but_their_own_modules() -> None:
    faces = {SOURCE, SOURCE / "agents", SOURCE / "settings", SOURCE / "testing"}  # what others import of them
    packages = [path for path in SOURCE.rglob("__init__.py") if path.parent not in faces]

    assert [shown(path) for path in packages if _foreign_imports(path)] == []


def _entries(folder: Path) -> list[Path]:
    return [
        one
        for one in folder.iterdir()
        if one.name not in ("__init__.py", "__pycache__") and (one.is_dir() or one.suffix == ".py")
    ]


def _foreign_imports(path: Path) -> list[ast.stmt]:
    """Apart from those that change nothing."""
    nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)]
    own = ".".join(("postroom", *path.parent.relative_to(SOURCE).parts))
    harmless = ("__future__", "typing", own)
    return [
        node
        for node in nodes
        if not (
            isinstance(node, ast.ImportFrom) and (node.module in harmless or f"{node.module}".startswith(f"{own}."))
        )
    ]
