"""No model is set up: whoever writes is told so and how to change it, and so is whoever looks after the household."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroom.cli.doctor.doctor import look_at_models
from postroom.household.wiring.butlers import cannot_answer
from tests.household.asked_household import phone, write
from tests.household.living import LIFTED, QUICK, settings_for
from tests.household.talking import roster_of, script, talking
from tests.butlers.runtimes.installed import install
from tests.console.http import calling

pytestmark = pytest.mark.requirement("talk:no-model")


async def test_a_program_that_is_not_installed_is_named_with_what_to_do(home: Path, tmp_path: Path) -> None:
    async with talking(home, tmp_path, models=["general"]) as house:
        (tmp_path / "bin" / "codex").unlink()
        await write(house, "What is on today?")

        told = await phone(house, "no model is set up for it: the program 'codex' is not installed")
        assert "postroom doctor" in told["text"] and "Please try again" not in told["text"]


@pytest.mark.parametrize(
    ("complaint", "told"),
    [
        ("Invalid API key. Please run /login", "none of CODEX_API_KEY, OPENAI_API_KEY, CODEX_HOME is set"),
        ("The disk is full", "could not answer this. Please try again."),
    ],
)
async def test_a_program_that_wants_a_login_it_was_not_given_is_told_apart_from_one_that_fails(
    home: Path, tmp_path: Path, complaint: str, told: str
) -> None:
    async with talking(home, tmp_path, models=["general"]) as house:
        program = tmp_path / "bin" / "codex"
        program.unlink()
        program.write_text(f"#!/bin/sh\ncat > /dev/null\necho '{complaint}' >&2\nexit 1\n")
        program.chmod(0o755)
        await write(house, script(say="Never."))

        await phone(house, told)


async def test_today_health_and_doctor_say_that_no_butler_can_answer(home: Path, tmp_path: Path) -> None:
    environment = {"PATH": install(tmp_path / "bin", ["gemini"])}
    settings = settings_for(home, LIFTED, QUICK)
    roster = roster_of(settings, ["general"])
    why = cannot_answer(roster, environment)
    assert "general: the program 'codex' is not installed" in why and "health: its butler.toml names no" in why
    assert look_at_models(roster, environment).detail == why
    assert look_at_models(roster, {"PATH": install(tmp_path / "all", ["codex"]), "CODEX_API_KEY": "k"}).advice == ""

    async with (
        talking(home, tmp_path, models=["general"], path=str(tmp_path / "empty")) as house,
        calling(house) as caller,
    ):
        assert house.household.sign_in is not None
        worn = await caller.sign_in(await house.household.sign_in())
        for page in ("/console/", "/console/health"):
            assert "No butler can answer: general: the program" in (await caller.get(page, worn)).text
