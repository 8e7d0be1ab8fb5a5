"""One household for all, and one desk that shows its owner's questions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.desk.asks.house import House
from tests.desk.caller import Caller
from tests.desk.screen import Screen


@pytest.fixture(scope="session")
def shared_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    house = House(tmp_path_factory.mktemp("household"))
    yield house
    house.stop()


@pytest.fixture
def house(shared_house: House) -> Iterator[House]:
    """With no question left over."""
    yield shared_house
    shared_house.cancel_all()


@pytest.fixture(scope="session")
def shared_watcher(screen: Screen, shared_house: House, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    desk = watcher(screen, shared_house, tmp_path_factory)
    yield desk
    desk.stop()


@pytest.fixture
def desk(shared_watcher: Caller, screen: Screen, house: House) -> Iterator[Caller]:
    screen.gone("Question from .*")  # of an earlier test, which would take this one's keys
    screen.point(640, 400)
    yield shared_watcher


def watcher(screen: Screen, house: House, folders: pytest.TempPathFactory, **settings: object) -> Caller:
    named = ("--household", house.url, "--token", house.token)
    # A hand here presses once, and a window that comes up late on a busy machine must not call that too early.
    quick = {"settle_seconds": 1e-9, "display_only_seconds": 1.5, **settings}
    return Caller(screen.environ, folders.mktemp("watcher"), *named, **quick)
