"""One display per run, one server per front end; both are shared, everything they keep is wiped for each test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.programs.desk.caller import Caller
from tests.programs.desk.screen import Screen

TOOLKITS = [
    "tk",
    pytest.param("qt", marks=pytest.mark.skipif(find_spec("PySide6") is None, reason="PySide6 is not installed")),
]
ARTEFACTS = Path(__file__).parents[3] / "artefacts" / "desk"


@pytest.fixture(scope="session")
def screen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Screen]:
    screen = Screen(tmp_path_factory.mktemp("screen"))
    yield screen
    screen.stop()


@pytest.fixture(scope="session", params=TOOLKITS)
def shared_desk(
    request: pytest.FixtureRequest, screen: Screen, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Caller]:
    desk = Caller(
        screen.environ,
        tmp_path_factory.mktemp(request.param),
        toolkit=request.param,
        progress_seconds=0.3,
        typing_grace_seconds=1.5,
        display_only_seconds=1.5,
    )
    yield desk
    desk.stop()


@pytest.fixture
def desk(shared_desk: Caller, screen: Screen) -> Iterator[Caller]:
    """A front end's server with no past."""
    screen.point(640, 400)
    for folder in (shared_desk.home, shared_desk.voicemode):
        shutil.rmtree(folder, ignore_errors=True)
    yield shared_desk
