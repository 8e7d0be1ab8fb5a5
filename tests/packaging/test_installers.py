"""`uv tool install` and `pipx install` of the wheel give a Postroom of its own, which runs in an empty home."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT
from tests.household.processes import environment, wait_for
from tests.packaging.installers import UV, install

pytestmark = pytest.mark.timeout(300)
_PINNED = str(ROOT / "requirements" / "run.txt")


def variables(folder: Path) -> dict[str, str]:
    """An account whose home is empty; what was downloaded before is beside it."""
    cache = subprocess.check_output([UV, "cache", "dir"], text=True).strip()
    own = environment(folder / ".postroom") | {"HOME": str(folder), "UV_CACHE_DIR": cache}
    own.pop("PYTHONPATH", None)
    own.pop("VIRTUAL_ENV", None)
    path = os.pathsep.join([str(folder / ".local" / "bin"), str(Path(UV).parent), own["PATH"]])
    return own | {"PATH": path, "PIPX_DEFAULT_BACKEND": "uv", "UV_CONSTRAINT": _PINNED, "XDG_DATA_HOME": ""}


@pytest.mark.requirement("side:installed")
def test_uv_installs_it_and_it_tells_serves_and_keeps(wheel: Path, tmp_path: Path) -> None:
    own = variables(tmp_path)
    install([UV, "tool", "install", "--quiet", "--python", sys.executable, wheel], own, tmp_path)

    assert_it_works(tmp_path / ".local" / "bin" / "postroom", own, tmp_path)


@pytest.mark.requirement("side:installed")
def test_pipx_installs_it(wheel: Path, tmp_path: Path) -> None:
    own = variables(tmp_path)
    pipx = [UV, "tool", "run", "--quiet", "--python", sys.executable, "pipx"]
    install([*pipx, "install", "--python", sys.executable, wheel], own, tmp_path)

    assert said(tmp_path / ".local" / "bin" / "postroom", own, tmp_path, "--version").startswith("postroom ")


def assert_it_works(program: Path, own: dict[str, str], folder: Path) -> None:
    pipe = subprocess.PIPE
    household = subprocess.Popen([program, "up"], cwd=folder, env=own, stdout=pipe, stderr=subprocess.STDOUT, text=True)
    try:
        wait_for(household, "Postroom is up.")
        assert said(program, own, folder, "notify", "Hello").startswith("delivered: ")
        console = f"http://127.0.0.1:{own['POSTROOM_PORTS__API']}/console/login"
        with urllib.request.urlopen(console, timeout=10) as answer:
            assert answer.status == 200 and b"Postroom" in answer.read()
    finally:
        household.terminate()
        household.communicate(timeout=30)


def said(program: Path, own: dict[str, str], folder: Path, *words: str) -> str:
    done = subprocess.run([program, *words], cwd=folder, env=own, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
