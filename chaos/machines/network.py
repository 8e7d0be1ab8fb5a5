"""
Machines as network namespaces, each with two wires: one to PostgreSQL and Redis, one to everything else.

The ends of the wires are on two bridges of this host, on which the servers listen.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chaos.scenario import NotPermitted

_PLACES: Final = range(1, 250)
_NOBODY: Final = "02:00:00:00:00:fe"
_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Machine:
    """`number` is its place in both networks, from 2 on; 1 is this host."""

    place: int
    number: int

    @property
    def namespace(self) -> str:
        return f"postroom-{self.place}-{self.number}"

    @property
    def file(self) -> Path:
        return Path("/run/netns") / self.namespace

    @property
    def back(self) -> str:
        """Its address on the side of the database."""
        return f"198.18.{self.place}.{self.number}"

    @property
    def front(self) -> str:
        """Its address on the side of people, providers and the other machines."""
        return f"198.19.{self.place}.{self.number}"

    def wire(self, side: str) -> str:
        """This host's end of it."""
        return f"pr{side}{self.place}-{self.number}"


class Network:
    """`place` keeps two runs on one host apart."""

    def __init__(self, place: int, machines: int) -> None:
        self.place = place
        self.here = Machine(place, 1)
        self.machines = [Machine(place, number) for number in range(2, 2 + machines)]

    def part(self, machine: Machine) -> None:
        """Away from PostgreSQL and Redis; providers and callers are still reached."""
        _ip("link", "set", machine.wire("b"), "down")

    def cut_off(self, machine: Machine) -> None:
        """From everything."""
        for side in ("b", "f"):
            _ip("link", "set", machine.wire(side), "down")

    def deafen(self, machine: Machine) -> None:
        """One way only: what it says arrives at the servers, and what they answer goes to an address nobody has."""
        bridge = bridge_of(self.place, "b")
        _ip("neigh", "replace", machine.back, "lladdr", _NOBODY, "dev", bridge, "nud", "permanent")

    def mute(self, machine: Machine) -> None:
        """The other way only: what the servers say arrives, and what it says to them goes to nobody."""
        wire = ("dev", "wire-b", "nud", "permanent")
        _ip("-n", machine.namespace, "neigh", "replace", self.here.back, "lladdr", _NOBODY, *wire)

    def heal(self, machine: Machine) -> None:
        for side in ("b", "f"):
            _ip("link", "set", machine.wire(side), "up")
        for words in (
            ("neigh", "del", machine.back, "dev", bridge_of(self.place, "b")),
            ("-n", machine.namespace, "neigh", "del", self.here.back, "dev", "wire-b"),
        ):
            with suppress(NotPermitted):
                _ip(*words)

    def lay(self) -> None:
        for side, net in (("b", 18), ("f", 19)):
            bridge = bridge_of(self.place, side)
            _ip("address", "add", f"198.{net}.{self.place}.1/24", "dev", bridge)
            _ip("link", "set", bridge, "up")
        for machine in self.machines:
            _ip("netns", "add", machine.namespace)
            _ip("-n", machine.namespace, "link", "set", "lo", "up")
            for side, address in (("b", machine.back), ("f", machine.front)):
                self._wire(machine, side, address)

    def _wire(self, machine: Machine, side: str, address: str) -> None:
        near, far = machine.wire(side), f"wire-{side}"
        _ip("link", "add", near, "type", "veth", "peer", "name", far, "netns", machine.namespace)
        _ip("link", "set", near, "master", bridge_of(self.place, side), "up")
        _ip("-n", machine.namespace, "address", "add", f"{address}/24", "dev", far)
        _ip("-n", machine.namespace, "link", "set", far, "up")

    def remove(self) -> None:
        """What is not there any more is no trouble."""
        wires = [machine.wire(side) for machine in self.machines for side in ("b", "f")]
        bridges = [bridge_of(self.place, side) for side in ("b", "f")]
        for words in (
            *(("link", "delete", name) for name in wires),
            *(("netns", "delete", machine.namespace) for machine in self.machines),
            *(("link", "delete", name) for name in bridges),  # last: they say that the place is taken
        ):
            with suppress(NotPermitted, subprocess.TimeoutExpired):
                _ip(*words)


def bridge_of(place: int, side: str) -> str:
    return f"pr{side}{place}"


@contextmanager
def network(machines: int) -> Iterator[Network]:
    """Raises `NotPermitted` where this user or this kernel makes no namespaces."""
    net = Network(_free_place(), machines)
    try:
        net.lay()
        yield net
    finally:
        net.remove()


def _free_place() -> int:
    """The first place whose bridges are not there yet; a bridge that could be made is ours."""
    if os.geteuid() != 0:
        raise NotPermitted("network namespaces need root")
    for place in _PLACES:
        if not _is_taken(place) and _took(place):
            return place
    raise NotPermitted("every place for a network is taken")


def _is_taken(place: int) -> bool:
    return any(Path("/sys/class/net", bridge_of(place, side)).exists() for side in ("b", "f"))


def _took(place: int) -> bool:
    """False when another run was quicker; the first bridge decides."""
    try:
        _ip("link", "add", bridge_of(place, "b"), "type", "bridge")
    except NotPermitted:
        if _is_taken(place):
            return False
        raise
    _ip("link", "add", bridge_of(place, "f"), "type", "bridge")
    return True


def _ip(*words: str) -> None:
    try:
        done = subprocess.run(["ip", *words], capture_output=True, text=True, timeout=_SECONDS, check=False)
    except FileNotFoundError:
        raise NotPermitted("the program ip (iproute2) is not here") from None
    if done.returncode != 0:
        raise NotPermitted(f"ip {' '.join(words)}: {done.stderr.strip()}")
