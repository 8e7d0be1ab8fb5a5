"""A port is free, ours, or somebody else's, and the doctor can tell."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest
from tests.household.living import PORTS, living, settings_for
from tests.services.ports import free_port

from postroom.cli.doctor.doctor import look_at_ports
from postroom.household.store import shipped


async def test_the_ports_of_a_running_household_are_well(home: Path) -> None:
    ports = {name: free_port() for name in PORTS}
    async with living(home, {"ports": ports}) as household:
        found = await look_at_ports(household.settings, shipped(household.settings))

    assert {finding.detail for finding in found} == {f"{name} is running there" for name in PORTS}
    assert all(finding.ok for finding in found)


@pytest.mark.parametrize("part", ["health", "api", "sandbox", "sandbox_smtp", "sandbox_imap"])
async def test_a_port_that_somebody_else_has_is_a_problem(home: Path, part: str) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        settings = settings_for(home, {"ports": {part: other.getsockname()[1]}})

        [problem] = [one for one in await look_at_ports(settings, shipped(settings)) if not one.ok]

    assert f"POSTROOM_PORTS__{part.upper()}" in problem.advice


async def test_another_web_server_is_not_taken_for_ours(home: Path) -> None:
    async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{"status":"up"}')
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        settings = settings_for(home, {"ports": {"api": server.sockets[0].getsockname()[1]}})
        found = await look_at_ports(settings, shipped(settings))

    assert [one.detail for one in found if not one.ok] == ["taken by another program, wanted for api"]


async def test_without_a_sandbox_nobody_asks_for_its_ports(home: Path) -> None:
    settings = settings_for(home, {"sandbox": False})

    found = await look_at_ports(settings, shipped(settings))

    assert not [one for one in found if "sandbox" in one.detail]


async def test_ports_that_another_household_holds_are_a_problem(home: Path, tmp_path: Path) -> None:
    ports = {name: free_port() for name in PORTS}
    async with living(tmp_path / "another", {"ports": ports}):
        settings = settings_for(home, {"ports": ports})
        found = await look_at_ports(settings, shipped(settings))

    assert {finding.detail for finding in found} == {f"held by another household, wanted for {name}" for name in PORTS}
    assert not any(finding.ok for finding in found)


async def test_the_same_home_by_another_name_is_the_same_household(home: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(home)
    ports = {name: free_port() for name in PORTS}
    async with living(home, {"ports": ports}):
        settings = settings_for(tmp_path / "link", {"ports": ports})
        found = await look_at_ports(settings, shipped(settings))

    assert all(finding.ok for finding in found)
