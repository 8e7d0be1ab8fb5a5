from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from postroom.domain.calendar import ConflictPolicy
from postroom.doors.butler.modules.calendar.config import CalendarConfig


@pytest.mark.requirement("messenger:module-profile")
def test_the_messengers_section_is_google_and_suggest() -> None:
    config = CalendarConfig.model_validate({"provider": "google", "conflicts": {"policy": "suggest"}})

    assert (config.provider, config.conflicts.policy) == ("google", ConflictPolicy.SUGGEST)
    assert config == CalendarConfig(provider="google")


@pytest.mark.parametrize(("name", "policy"), [("allow", ConflictPolicy.ALLOW_OVERLAP), ("reject", ConflictPolicy.FAIL)])
def test_policies_have_older_names(name: str, policy: ConflictPolicy) -> None:
    config = CalendarConfig.model_validate({"provider": "google", "conflicts": {"policy": name}})

    assert config.conflicts.policy is policy


@pytest.mark.parametrize(
    ("section", "key"),
    [
        ({}, "provider"),
        ({"provider": "outlook"}, "provider"),
        ({"provider": "google", "timezone": "Mars/Olympus"}, "timezone"),
        ({"provider": "google", "calender_id": "x"}, "calender_id"),
        ({"provider": "google", "conflicts": {"policy": "maybe"}}, "conflicts.policy"),
        ({"provider": "google", "conflicts": {"latest_hour": 25}}, "conflicts.latest_hour"),
        ({"provider": "google", "conflicts": {"earliest_hour": 24}}, "conflicts.earliest_hour"),
    ],
)
def test_a_wrong_section_is_refused_by_key(section: dict[str, Any], key: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        CalendarConfig.model_validate(section)

    assert [".".join(map(str, error["loc"])) for error in refusal.value.errors()] == [key]
