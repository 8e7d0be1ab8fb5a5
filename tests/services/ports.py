"""Free loopback ports that nobody else is handed by chance."""

from __future__ import annotations

import os
import random
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LOWEST = 20_000
_DEFAULT_EPHEMERAL = 32_768
_handed_out: set[int] = set()
_dice = random.SystemRandom()  # a property test seeds the other one, and every worker alike
_SHARES = 8


def free_port() -> int:
    """
    A loopback port that nothing listens on.

    It lies below the range from which the kernel serves outgoing connections
    and servers on port 0, so it is still free when its server comes to bind it.
    """
    for _ in range(1_000):
        port = _dice.randrange(*_share())
        if port not in _handed_out and _is_free(port):
            _handed_out.add(port)
            return port
    raise RuntimeError("no free loopback port found")


@contextmanager
def connection_from(port: int = 0) -> Iterator[socket.socket]:
    """An outgoing connection that has this port at its own end, or any; its end leaves nothing behind."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as caller:
        caller.bind(("127.0.0.1", port))
        caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        caller.connect(server.getsockname())
        yield caller


def _share() -> tuple[int, int]:
    """Workers draw from lots of their own, so that two of them never reach for one port."""
    size = (_ephemeral_start() - _LOWEST) // _SHARES
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    place = (1 + int(worker.removeprefix("gw"))) % _SHARES if worker.startswith("gw") else 0
    return _LOWEST + place * size, _LOWEST + (place + 1) * size


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _ephemeral_start() -> int:
    try:
        start = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return _DEFAULT_EPHEMERAL
    return start if start > _LOWEST + 1_000 else _DEFAULT_EPHEMERAL
