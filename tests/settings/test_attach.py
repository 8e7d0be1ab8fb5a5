"""`postroom notify --attach`: to the household here, and to one elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import postroom_beside
from tests.household.living import QUICK, Living, living


def with_courier(folder: Path) -> dict[str, Any]:
    return {
        "channels": {"courier": {"factory": "tests.household.courier:Courier", "options": {"folder": str(folder)}}},
        "approvals": {"enabled": False},
    }


async def test_files_are_uploaded_to_a_household_elsewhere(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, large = tmp_path / 'a "b".txt', tmp_path / "large.bin"
    one.write_text("hello")
    large.write_bytes(b"\0" * 1_900_000)
    async with living(tmp_path / "there", QUICK, with_courier(tmp_path / "door")) as there:
        monkeypatch.setenv("POSTROOM_URL", there.household.addresses["api"])
        monkeypatch.setenv("POSTROOM_TOKEN", there.token("health"))
        sent = await notify("--attach", str(one), "--attach", str(large))
        missing = await postroom_beside("notify", "Hi", "--attach", str(tmp_path / "nothing"))
        (tmp_path / "empty").touch()
        refused = await postroom_beside("notify", "Hi", "--attach", str(tmp_path / "empty"))

    place = tmp_path / "door" / sent["delivery"]["delivery_id"]
    assert (place / "a _b_.txt").read_text() == "hello"
    assert (place / "large.bin").read_bytes() == large.read_bytes()
    assert missing.code == 1 and "No such file" in missing.error
    assert refused.code == 1 and "is empty" in refused.error


async def notify(*arguments: str) -> dict[str, Any]:
    done = await postroom_beside("notify", "Hi", "--channel", "courier", "--to", "door 7", "--json", *arguments)
    assert done.out, done.error
    answer: dict[str, Any] = json.loads(done.out[done.out.index("{") :])  # the household logs in this process, too
    assert answer["status"] == "ok", answer
    return answer


async def test_files_are_taken_over_by_the_household_here(home: Path, tmp_path: Path) -> None:
    one = tmp_path / "report.txt"
    one.write_text("hello")
    async with living(home, QUICK, with_courier(tmp_path / "door")) as here:
        write_settings(here, tmp_path / "door")
        sent = await notify("--home", str(home), "--as", "health", "--attach", str(one))

    assert (tmp_path / "door" / sent["delivery"]["delivery_id"] / "report.txt").read_text() == "hello"


def write_settings(here: Living, door: Path) -> None:
    """The command reads what the household was given."""
    ports = "".join(
        f"{name} = {getattr(here.settings.ports, name)}\n" for name in type(here.settings.ports).model_fields
    )
    port = here.household.addresses["health"].rsplit(":", 1)[1].split("/")[0]
    ports = ports.replace("health = 0", f"health = {port}")
    factory = '[channels.courier]\nfactory = "tests.household.courier:Courier"\n'
    courier = f'{factory}[channels.courier.options]\nfolder = "{door}"\n'
    (here.settings.home / "postroom.toml").write_text(f"{courier}[ports]\n{ports}")
