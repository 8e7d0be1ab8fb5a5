"""Sessions of models: what their programs log in with, and how they begin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.household.talking import reply, script, talking

from postroom.butlers.runtimes.programs import RUNTIMES
from postroom.butlers.store import StoredSessions
from postroom.household.wiring.butlers import credentials_of
from postroom.kernel.values.errors import StoreUnavailable
from postroom.settings.roster import parse_butler

GENERAL = {"butler": {"name": "general", "port": 0, "db": {"name": "butlers", "schema": "general"}}}


def test_a_key_in_the_households_environment_reaches_the_program_it_is_for() -> None:
    config = parse_butler(GENERAL, {}, file="general/butler.toml")
    everything = {
        "ANTHROPIC_API_KEY": "k",
        "ANTHROPIC_BASE_URL": "",
        "OPENAI_API_KEY": "o",
        "BUTLER_TELEGRAM_TOKEN": "t",
    }

    assert credentials_of(config, RUNTIMES["claude"], everything) == {"ANTHROPIC_API_KEY": "k"}
    assert credentials_of(config, RUNTIMES["codex"], everything) == {"OPENAI_API_KEY": "o"}


async def test_a_store_that_is_away_for_a_moment_when_the_doors_have_opened_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recover, tries = StoredSessions.recover, list[str]()

    async def away_at_first(store: StoredSessions, butler: str, *, now_us: int) -> Any:
        tries.append(butler)
        if tries.count(butler) == 1:
            raise StoreUnavailable("ConnectionRefusedError")
        return await recover(store, butler, now_us=now_us)

    monkeypatch.setattr(StoredSessions, "recover", away_at_first)
    async with talking(tmp_path / "home", tmp_path, models=["general"]) as house:
        await house.write(2001, script(reply("I am here.")))
        said = await house.said(2001)

    assert [one["text"] for one in said] == ["I am here."] and tries == ["general", "general"]
