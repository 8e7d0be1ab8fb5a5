"""The import contracts of pyproject.toml hold, and a forbidden import would really break them."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT, SOURCE, shown

ROOMS = ("domain", "system", "work", "world", "doors", "programs")


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
        pytest.param("domain/wrong.py", "postroom.system.clock", "rooms import downward only", id="upward"),
        pytest.param("novelty/__init__.py", "postroom.domain", "rooms import downward only", id="a room without line"),
        pytest.param("work/wrong.py", "postroom.world.store", "rooms import downward only", id="work stores"),
        pytest.param("work/inbox/wrong.py", "postroom.work.intents", "work is divided", id="work to other work"),
        pytest.param("work/delivery/wrong.py", "time", "work does no I/O", id="work reads the clock"),
        pytest.param("world/channels/wrong.py", "postroom.world.store", "adapters do not know", id="a channel stores"),
        pytest.param("doors/butler/wrong.py", "postroom.doors.messenger", "doors do not know", id="door to door"),
        pytest.param("doors/messenger/wrong.py", "postroom.world.channels", "doors never touch", id="door sends"),
        pytest.param("testing/wrong.py", "postroom.world.channels", "rooms import downward only", id="suite cheats"),
        pytest.param("programs/desk/wrong.py", "postroom.work.delivery", "programs stand alone", id="program works"),
    ],
)
def test_a_forbidden_import_breaks_a_contract(copy: Path, module: str, imported: str, contract: str) -> None:
    wrong = copy / "src" / "postroom" / module
    wrong.parent.mkdir(exist_ok=True)
    wrong.write_text(f'"""Wrong on purpose."""\n\nimport {imported}\n')

    result = lint(copy)

    assert result.returncode == 1
    assert re.search(rf"{contract}.* BROKEN", result.stdout)


def test_what_stands_in_the_source_folder_is_the_house_and_its_faces() -> None:
    faces = {"agents", "channels", "connectors", "testing"}  # paths that others import

    assert {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"} == {
        *ROOMS,
        *faces,
        "app",
        "cli",
    }


def test_packages_of_doors_and_work_import_nothing_but_their_own_modules() -> None:
    packages = [path for room in ("domain", "work", "doors") for path in (SOURCE / room).rglob("__init__.py")]

    assert [shown(path) for path in packages if path.exists() and _foreign_imports(path)] == []


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
