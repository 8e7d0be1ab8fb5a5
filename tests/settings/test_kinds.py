"""Kinds of channels are found by their entry point, ours and those of any package that is installed beside us."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.contract.cases import of_kind

from postroom.settings.accounts import shipped_kinds

KIND = """
from postroom.message.channel import Capabilities
from postroom.settings.accounts import AccountOptions, ChannelKind
from postroom.kernel.running.process import Secret

class PigeonOptions(AccountOptions):
    kind: str
    loft: str
    ring: Secret

KIND = ChannelKind(
    title="pigeons",
    guide="https://pigeons.example.org",
    options=PigeonOptions,
    capabilities=Capabilities(),
    channel="not_loaded_by_settings:Pigeon",
)
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """As a package stands in site-packages once it is installed."""
    about = tmp_path / "pigeons-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: pigeons\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[postroom.channels]\npigeon = pigeons:KIND\nlost = nowhere:KIND\ntelegram = pigeons:KIND\n"
    )
    (tmp_path / "pigeons.py").write_text(KIND)
    return tmp_path


def config(home: Path, package: Path, settings: str, command: str = "config") -> subprocess.CompletedProcess[str]:
    (home / "postroom.toml").write_text(settings)
    return subprocess.run(
        [sys.executable, "-m", "postroom", command, "--json", "--home", str(home)],
        env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.requirement("house:channel-kinds")
def test_an_account_may_be_of_a_kind_that_another_package_brings(home: Path, package: Path) -> None:
    told = config(home, package, '[channels.roof]\nkind = "pigeon"\nloft = "east"\nring = "canary"\n')

    assert told.returncode == 0, told.stderr
    shown = {key: one["value"] for key, one in json.loads(told.stdout).items() if key.startswith("channels.roof.")}
    assert shown == {"channels.roof.kind": "pigeon", "channels.roof.loft": "east", "channels.roof.ring": "***"}


@pytest.mark.requirement("house:channel-kinds")
def test_what_is_wrong_with_such_a_kind_is_said_in_one_sentence(home: Path, package: Path) -> None:
    near = config(home, package, '[channels.roof]\nkind = "pigeom"\n').stderr
    key = config(home, package, '[channels.roof]\nkind = "pigeon"\nloft = "east"\nrings = "canary"\n').stderr
    lost = config(home, package, '[channels.roof]\nkind = "lost"\n').stderr

    assert "there is no such kind, did you mean 'pigeon'? There are telegram, email, " in near
    assert "unknown key 'channels.roof.rings', did you mean 'ring'?" in key and "canary" not in key
    assert "channels.roof.kind: the kind 'lost' cannot be loaded: there is no nowhere:KIND." in lost


@pytest.mark.requirement("house:channel-kinds")
def test_the_doctor_says_of_a_kind_that_its_channel_is_not_there(home: Path, package: Path) -> None:
    table = '[channels.roof]\nkind = "pigeon"\nloft = "east"\nring = "canary"\n'

    told = config(home, package, table, "doctor")

    assert "not_loaded_by_settings:Pigeon cannot be loaded" in told.stdout, told.stderr
    assert "canary" not in told.stdout + told.stderr and "Traceback" not in told.stderr


@pytest.mark.requirement("house:channel-kinds")
def test_no_package_takes_the_name_of_a_kind_of_ours(home: Path, package: Path) -> None:
    told = config(home, package, '[channels.work]\nkind = "telegram"\ntoken = "1:a"\n')

    assert told.returncode == 0, told.stderr
    assert "channels.work.api_base_url" in json.loads(told.stdout)


@pytest.mark.requirement("house:channel-kinds")
def test_settings_with_an_account_of_every_kind_load_nothing_that_sends(home: Path) -> None:
    tables = [f"[channels.my-{kind}]\n{as_toml({'kind': kind, **of_kind(kind).OPTIONS})}" for kind in shipped_kinds()]
    (home / "postroom.toml").write_text("\n".join(tables))
    asked = "import os, sys; from postroom.settings.load import load; load(os.environ)[0].accounts; print(*sys.modules)"
    told = subprocess.run(
        [sys.executable, "-c", asked],
        env={**os.environ, "POSTROOM_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert told.returncode == 0, told.stderr
    loaded = set(told.stdout.split())
    assert {f"postroom.channels.{kind}.kind" for kind in shipped_kinds()} <= loaded
    channels = {f"postroom.channels.{kind}.channel" for kind in shipped_kinds()}
    assert not loaded & {"aiohttp", "aiosmtplib", "apprise", "cryptography", *channels}


def as_toml(table: dict[str, str]) -> str:
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
