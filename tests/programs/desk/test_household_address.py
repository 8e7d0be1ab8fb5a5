"""Whose questions a desk shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from postroom.domain.settings_error import SettingsError
from postroom.programs.desk.household_address import HouseholdAddress, Named, whose_questions
from postroom.system.settings import Secret, Settings

PERSONS = "pr_person_canary"


def chosen(
    tmp_path: Path, named: Named | None = None, owners: str | None = None, **settings: Any
) -> HouseholdAddress | None:
    return whose_questions(Settings(home=tmp_path, **settings), named or Named(), lambda _: owners)


def test_without_a_household_the_desk_works_alone(tmp_path: Path) -> None:
    assert chosen(tmp_path) is None


def test_the_household_here_is_taken_with_its_owners_token(tmp_path: Path) -> None:
    expected = HouseholdAddress(url="http://127.0.0.1:40200", token=Secret(PERSONS))

    assert chosen(tmp_path, owners=PERSONS) == expected
    assert chosen(tmp_path, owners=PERSONS, desk={"questions": False}) is None


def test_the_household_that_commands_speak_to_is_taken_when_the_token_is_a_persons(tmp_path: Path) -> None:
    there = {"url": "https://home.example/", "token": PERSONS}

    assert chosen(tmp_path, **there) == HouseholdAddress(url="https://home.example", token=Secret(PERSONS))
    assert chosen(tmp_path, owners=PERSONS, **there | {"token": "pr_butler_x"}) is None


def test_the_command_line_comes_first(tmp_path: Path) -> None:
    named = Named(url="http://other:1/", token="t")

    assert chosen(tmp_path, named, owners=PERSONS) == HouseholdAddress(url="http://other:1", token=Secret("t"))
    assert chosen(tmp_path, Named(url="http://other:1"), token=PERSONS) == HouseholdAddress(
        url="http://other:1", token=Secret(PERSONS)
    )


@pytest.mark.parametrize("named", [Named(url="http://other:1"), Named(url="other", token="t")])
def test_half_an_address_is_refused(tmp_path: Path, named: Named) -> None:
    with pytest.raises(SettingsError, match="--household"):
        chosen(tmp_path, named)
