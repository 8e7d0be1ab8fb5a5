"""What the Dockerfile tells a container engine to do, done without one: built, started, found healthy."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT
from tests.household.processes import environment, wait_for
from tests.packaging.installers import UV, install
from tests.packaging.test_containers import instructions

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """Its file system below a folder: only what is copied is there when it is built."""
    for line in (one for one in instructions("COPY") if "--from" not in one):
        *names, to = line.split()
        for name in names:
            _copy(
                ROOT / name, tmp_path / "src" / (to if Path(to).name == Path(name).name else f"{to}/{Path(name).name}")
            )
    steps = [step.strip() for step in instructions("RUN")[0].split("&&")]
    for step in steps:
        _build(step, tmp_path)
    (tmp_path / "data").mkdir(mode=0o700)
    return tmp_path


@pytest.mark.requirement("side:container")
def test_its_steps_give_a_household_that_its_own_check_finds_healthy(image: Path) -> None:
    variables, port = _variables(image)
    entry = [*json.loads(instructions("ENTRYPOINT")[0]), *json.loads(instructions("CMD")[-1])]
    words = [str(image / "opt" / "postroom" / "bin" / entry[0]), *entry[1:]]
    pipe = subprocess.PIPE
    household = subprocess.Popen(words, env=variables, stdout=pipe, stderr=subprocess.STDOUT, text=True)
    try:
        wait_for(household, "Postroom is up.")
        checked = subprocess.run(_check(image, port), env=variables, timeout=60, check=False)
    finally:
        household.terminate()
        household.communicate(timeout=30)

    assert checked.returncode == 0
    assert (image / "data" / "postroom.db").exists()


def test_its_user_data_and_check_are_named_once_and_agree() -> None:
    made = " ".join(instructions("RUN"))

    assert "--uid 10001" in made and "-m 700 /data" in made
    assert instructions("VOLUME") == ["/data"] and "POSTROOM_HOME=/data" in instructions("ENV")[0]
    assert instructions("STOPSIGNAL") == ["SIGTERM"]


def _copy(source: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, to, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    else:
        shutil.copy(source, to)


def _build(step: str, folder: Path) -> None:
    """pip's part is uv's here, which has the packages already."""
    venv = str(folder / "opt" / "postroom")
    if step.startswith("python -m venv "):
        install([UV, "venv", "--quiet", "--python", sys.executable, venv], os.environ, folder / "src")
        return
    assert step.startswith("/opt/postroom/bin/pip install --no-cache-dir "), step
    words = step.split()[3:]
    if "-r" in words:  # it must be possible; what they are is seen, not copied, which would take most of the time
        words.append("--dry-run")
        packages = next(Path(venv).glob("lib/python*/site-packages"))
        (packages / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"])
    install([UV, "pip", "install", "--quiet", "--python", f"{venv}/bin/python", *words], os.environ, folder / "src")


def _variables(image: Path) -> tuple[dict[str, str], str]:
    own = environment(image / "data")
    path = f"{image / 'opt' / 'postroom' / 'bin'}:{own['PATH']}"
    kept = {name: value for name, value in own.items() if name.startswith("POSTROOM_")}
    return kept | {"PATH": path, "HOME": str(image / "data"), "PYTHONUNBUFFERED": "1"}, own["POSTROOM_PORTS__API"]


def _check(image: Path, port: str) -> list[str]:
    words = json.loads(instructions("HEALTHCHECK")[0].split("CMD ", 1)[1])
    program = str(image / "opt" / "postroom" / "bin" / words[0])
    return [program, *(word.replace("40200", port) for word in words[1:])]
