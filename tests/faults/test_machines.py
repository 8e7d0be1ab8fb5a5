"""Machines as namespaces: what one loses and has again, and how several are counted."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator

import pytest
from chaos.ledger_compare import Comparison
from chaos.machines.counted import COLUMNS, Counted
from chaos.machines.network import Machine, Network, network
from chaos.questions.way_back import WayBack
from chaos.scenario import NotPermitted


@pytest.fixture
def net() -> Iterator[Network]:
    try:
        laid = network(1)
        found = laid.__enter__()
    except NotPermitted as error:
        pytest.skip(f"this host does not permit it: {error}")
    try:
        yield found
    finally:
        laid.__exit__(None, None, None)


def reaches(machine: Machine, address: str) -> bool:
    """A closed port answers at once, and silence is silence."""
    script = (
        "import socket, sys\n"
        "try: socket.create_connection((sys.argv[1], 9), timeout=0.5)\n"
        "except ConnectionRefusedError: sys.exit(0)\n"
        "except OSError: sys.exit(1)\n"
    )
    command = ["ip", "netns", "exec", machine.namespace, "python3", "-c", script, address]
    return subprocess.run(command, timeout=20, check=False).returncode == 0


def test_a_machine_that_is_parted_reaches_the_provider_and_not_the_database(net: Network) -> None:
    machine = net.machines[0]
    assert reaches(machine, net.here.back)

    net.part(machine)

    assert not reaches(machine, net.here.back)
    assert reaches(machine, net.here.front)
    net.heal(machine)
    assert reaches(machine, net.here.back)


def test_a_machine_that_is_cut_off_reaches_nothing(net: Network) -> None:
    net.cut_off(net.machines[0])

    assert not reaches(net.machines[0], net.here.back)
    assert not reaches(net.machines[0], net.here.front)


@pytest.mark.parametrize("harm", [Network.deafen, Network.mute], ids=["deaf", "mute"])
def test_a_machine_that_is_parted_one_way_has_no_answer_until_it_is_healed(
    net: Network, harm: Callable[[Network, Machine], None]
) -> None:
    machine = net.machines[0]

    harm(net, machine)

    assert not reaches(machine, net.here.back)
    assert reaches(machine, net.here.front)
    net.heal(machine)
    assert reaches(machine, net.here.back)


def test_nothing_of_a_network_is_left_afterwards(net: Network) -> None:
    net.remove()

    assert not net.machines[0].file.exists()


@pytest.mark.parametrize(
    "harm",
    [
        Counted(messages=Comparison(lost=1), questions=WayBack()),
        Counted(messages=Comparison(duplicates_unmarked=1), questions=WayBack()),
        Counted(messages=Comparison(), questions=WayBack(two_winners=1)),
        Counted(messages=Comparison(), questions=WayBack(twice_unmarked=1)),
    ],
)
def test_harm_to_messages_or_to_questions_is_not_sound(harm: Counted) -> None:
    assert not harm.sound
    assert len(harm.numbers) == len(COLUMNS)


def test_marked_copies_are_sound() -> None:
    assert Counted(messages=Comparison(duplicates_marked=3), questions=WayBack(twice_marked=1)).sound
