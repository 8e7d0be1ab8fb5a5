"""What every command has in common: a version, and failures in words on standard error."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from postroom.domain.principal import OPERATOR
from postroom.doors.guard.tokens import TokenFile
from tests.app.living import PORTS, QUICK, living
from tests.cli.command import postroom, postroom_beside
from tests.services.ports import free_port


def test_the_version_is_the_packages(home: Path) -> None:
    done = postroom("--version")

    assert (done.code, done.out) == (0, f"postroom {version('postroom')}\n")


@pytest.mark.parametrize("command", [["notify", "Hello"], ["approvals", "list"]], ids=lambda command: command[0])
@pytest.mark.parametrize("has_token", [True, False], ids=["once started", "never started"])
def test_without_a_household_a_command_asks_whether_it_runs(
    home: Path, command: list[str], has_token: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in PORTS:
        monkeypatch.setenv(f"POSTROOM_PORTS__{name.upper()}", str(free_port()))
    if has_token:
        TokenFile(home / "tokens.json").create(OPERATOR)

    done = postroom(*command)

    assert (done.code, done.out) == (1, "")
    assert "is the household running? `postroom up` starts it." in done.error


def test_a_mistake_ends_the_real_command_with_one_sentence_on_standard_error(home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "postroom", "why", "01a1"], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("postroom: ") and done.stderr.count("\n") == 1


async def test_a_message_that_is_refused_is_told_on_standard_error(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    general = free_port()
    monkeypatch.setenv("POSTROOM_PORTS__GENERAL", str(general))
    async with living(home, QUICK, {"ports": {"general": general}}):
        done = await postroom_beside("notify", "Hello", "--to", "Nobody I know")

    assert (done.code, done.out) == (1, "")
    assert done.error.startswith("Not delivered: ") and "known contact" in done.error
