"""A model's program is given what it logs in with, and nothing else of the household's environment."""

from __future__ import annotations

from postroom.app.sessions import credentials_of
from postroom.system.roster.config import parse_butler
from postroom.world.runtimes.catalogue import RUNTIMES

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
