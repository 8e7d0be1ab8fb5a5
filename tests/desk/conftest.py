"""One display per run, one server; both are shared, everything they keep is wiped for each test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.desk.caller import Caller
from tests.desk.screen import Screen

ARTEFACTS = Path(__file__).parents[2] / "artefacts" / "desk"


@pytest.fixture(scope="session")
def screen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Screen]:
    screen = Screen(tmp_path_factory.mktemp("screen"))
    yield screen
    screen.stop()


@pytest.fixture(scope="session")
def shared_desk(screen: Screen, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    desk = Caller(
        screen.environ,
        tmp_path_factory.mktemp("desk"),
        progress_seconds=0.3,
        typing_grace_seconds=1.5,
        display_only_seconds=1.5,
    )
    yield desk
    desk.stop()


@pytest.fixture
def desk(shared_desk: Caller, screen: Screen) -> Iterator[Caller]:
    """A server with no past."""
    screen.point(640, 400)
    for folder in (shared_desk.home, shared_desk.voicemode):
        shutil.rmtree(folder, ignore_errors=True)
    yield shared_desk
