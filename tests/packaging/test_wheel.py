"""The wheel installs into an empty environment and runs from an empty directory."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT, SOURCE
from tests.household.processes import environment, wait_for

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its dependencies are those of this environment, seen but not copied; Postroom itself is only the wheel's."""
    folder = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=60)
    packages = next(folder.glob("lib/python*/site-packages"))
    (packages / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"])
    pip = [sys.executable, "-m", "pip", "-qq", "--python", folder / "bin" / "python", "install", "--no-deps", wheel]
    subprocess.run(pip, check=True, timeout=60)
    return folder / "bin"


def test_it_holds_everything_that_the_package_holds(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.startswith("postroom/")}
    there = {
        path.relative_to(SOURCE.parent).as_posix()
        for path in SOURCE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }

    assert packed == there


def test_it_runs_from_an_empty_directory_and_delivers(installed: Path, home: Path, tmp_path: Path) -> None:
    variables = environment(home) | {"HOME": str(tmp_path)}
    variables.pop("PYTHONPATH", None)
    empty = tmp_path / "empty"
    empty.mkdir()
    household = subprocess.Popen(
        [installed / "postroom", "up"],
        cwd=empty,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        wait_for(household, "Postroom is up.")
        sent = run(installed, empty, variables, "notify", "Hello from a wheel")
        where = run(installed, empty, variables, "-c")
    finally:
        household.terminate()
        household.communicate(timeout=30)

    assert sent.startswith("delivered: ")
    assert str(installed.parent) in where
    assert list(empty.iterdir()) == []


@pytest.mark.requirement("house:channel-suite-installed")
def test_the_suite_for_channels_proves_one_that_is_not_ours(installed: Path, tmp_path: Path) -> None:
    for name in ("beeper_channel.py", "beeper_case.py"):
        shutil.copy(ROOT / "examples" / name, tmp_path)
    command = [installed / "python", "-m", "postroom.testing", "beeper_case:CASE"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("### The channel `beeper`")
    assert " 0 failed" in done.stdout
    assert "not applicable: the gateway says every error by its status" in done.stdout


def test_what_the_suite_needs_is_an_extra_of_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith("/METADATA")]
        said = archive.read(name).decode()

    for package in ("hypothesis", "pytest"):
        assert re.search(rf"^Requires-Dist: {package}.*extra == 'testing'", said, re.M)


def run(installed: Path, folder: Path, variables: dict[str, str], command: str, *arguments: str) -> str:
    """`-c` asks where the package that runs comes from."""
    words = [installed / "postroom", command, *arguments]
    if command == "-c":
        words = [installed / "python", "-c", "import postroom; print(postroom.__file__)"]
    done = subprocess.run(words, cwd=folder, env=variables, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
