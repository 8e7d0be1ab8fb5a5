"""A household that stops while its question is on the screen."""

from __future__ import annotations

import socket

import pytest
from tests.programs.desk.asks.conftest import watcher
from tests.programs.desk.asks.house import House
from tests.programs.desk.screen import Screen, until

TITLE = "Question from health"


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.mark.requirement("ask:desk-waits-for-household")
def test_an_answer_given_while_the_household_is_away_arrives_when_it_is_back(
    screen: Screen, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home, ports = tmp_path_factory.mktemp("away"), {"ports": {"api": free_port()}}
    house = House(home, ports)
    desk = watcher(screen, house, tmp_path_factory)
    try:
        ask = house.ask("Which name?")
        screen.window(TITLE)
        house.stop()
        screen.type("Willow")
        assert screen.windows(TITLE)
        screen.key("Return")
        until(lambda: screen.windows("Postroom"), "the line that says so")
        house = House(home, ports)

        assert house.end_of(ask)["answer"]["text"] == "Willow"
    finally:
        desk.stop()
        house.stop()
