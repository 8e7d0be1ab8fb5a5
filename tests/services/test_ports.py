"""Free ports are free, different, and never one that is in use."""

from __future__ import annotations

import socket
from types import SimpleNamespace

import pytest

from tests.services import ports
from tests.services.ports import free_port


def test_ports_are_different_and_can_be_bound() -> None:
    found = [free_port() for _ in range(20)]

    assert len(set(found)) == len(found)
    for port in found:
        with socket.socket() as server:
            server.bind(("127.0.0.1", port))


def test_a_port_in_use_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    free = free_port() + 1
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken: int = server.getsockname()[1]
        offers = iter([taken, taken, free, free + 1])
        monkeypatch.setattr(ports, "_dice", SimpleNamespace(randrange=lambda low, high: next(offers)))

        assert free_port() in (free, free + 1)
