"""A butler.toml and every way in which it can be wrong."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from postroom.settings.roster import RosterError, check_roster, parse_butler

MINIMAL: dict[str, Any] = {
    "butler": {"name": "garden", "port": 40110, "db": {"name": "butlers", "schema": "garden"}},
}


def changed(*path: str, value: Any) -> dict[str, Any]:
    document = copy.deepcopy(MINIMAL)
    place = document
    for name in path[:-1]:
        place = place.setdefault(name, {})
    place[path[-1]] = value
    return document


def parse(document: dict[str, Any], **environment: str) -> Any:
    return parse_butler(document, environment, file="roster/garden/butler.toml")


def test_a_small_file_is_enough() -> None:
    config = parse(MINIMAL)

    assert (config.name, config.butler.port, config.runtime.type) == ("garden", 40110, "none")


def test_variables_are_filled_in_wherever_they_stand() -> None:
    config = parse(changed("modules", value={"calendar": {"accounts": ["${WHO}@example.org"]}}), WHO="ada")

    assert config.modules["calendar"]["accounts"] == ["ada@example.org"]


def test_all_missing_variables_are_named_at_once() -> None:
    document = changed("modules", value={"calendar": {"id": "${ONE}", "list": ["${TWO}", "${ONE}"]}})

    with pytest.raises(RosterError, match=r"roster/garden/butler.toml: .* ONE, TWO\."):
        parse(document)


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        pytest.param(changed("butler", "prot", value=1), "butler.prot: unknown key", id="unknown-key"),
        pytest.param(changed("butler", "port", value=70000), "butler.port: ", id="port-out-of-range"),
        pytest.param(changed("butler", "name", value="Two Words"), "butler.name: ", id="bad-name"),
        pytest.param(changed("runtime", value={"type": "llama"}), "runtime.type: ", id="unknown-runtime"),
        pytest.param(
            changed("butler", "schedule", value=[{"name": "a", "cron": "* * *", "prompt": "x"}]),
            "butler.schedule.0.cron: '* * *' is not a cron expression",
            id="bad-cron",
        ),
        pytest.param(
            changed("butler", "schedule", value=[{"name": "a", "cron": "61 * * * *", "prompt": "x"}]),
            "butler.schedule.0.cron: ",
            id="cron-minute-61",
        ),
        pytest.param(
            changed("butler", "schedule", value=[{"name": "a", "cron": "0 0 30 2 *", "prompt": "x"}]),
            "butler.schedule.0.cron: '0 0 30 2 *' names a day that never comes",
            id="cron-that-never-fires",
        ),
        pytest.param(
            changed(
                "butler", "schedule", value=[{"name": "a", "cron": "* * * * *", "timezone": "Mars", "prompt": "x"}]
            ),
            "'Mars' is not an IANA time zone",
            id="bad-zone",
        ),
        pytest.param(
            changed("butler", "schedule", value=[{"name": "a", "cron": "* * * * *"}]),
            "give either prompt or notify",
            id="schedule-of-nothing",
        ),
        pytest.param(
            changed("butler", "schedule", value=[{"name": "a", "cron": "* * * * *", "prompt": "x"}] * 2),
            "two schedules are called 'a'",
            id="schedule-twice",
        ),
        pytest.param(changed("modules", value={"telegram": {}}), "only the messenger may do that", id="sending-module"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_key(document: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RosterError) as raised:
        parse(document)

    assert "roster/garden/butler.toml" in str(raised.value)
    assert sentence in str(raised.value)


def test_a_leap_day_is_a_day_that_comes() -> None:
    parse(changed("butler", "schedule", value=[{"name": "a", "cron": "0 0 29 2 *", "prompt": "x"}]))


@pytest.mark.requirement("messenger:no-scheduled-tasks")
def test_a_messenger_with_a_schedule_does_not_start() -> None:
    document = changed("butler", "schedule", value=[{"name": "a", "cron": "* * * * *", "prompt": "x"}])
    document["butler"]["name"] = "messenger"

    with pytest.raises(RosterError, match="the messenger has no schedules"):
        parse(document)


def test_two_butlers_on_one_port_are_refused() -> None:
    other = changed("butler", "name", value="kitchen")

    with pytest.raises(RosterError, match=r"^k/butler.toml: butler.port: 40110 is the port in g/butler.toml too"):
        check_roster({"g/butler.toml": parse(MINIMAL), "k/butler.toml": parse(other)})


def with_port_zero(name: str) -> dict[str, Any]:
    document = changed("butler", "port", value=0)
    document["butler"]["name"] = name
    return document


def test_port_zero_may_be_wanted_by_many() -> None:
    check_roster({"a": parse(changed("butler", "port", value=0)), "b": parse(with_port_zero("kitchen"))})


@pytest.mark.requirement("messenger:gated-tools")
@pytest.mark.parametrize(
    ("section", "is_taken"),
    [
        ({}, True),
        ({"gated_tools": ["notify", "telegram_send_message", "email_send_message"]}, True),
        ({"gated_tools": ["notify"]}, False),
        ({"gated_tools": "notify"}, False),
        ({"gated": []}, False),
    ],
)
def test_a_file_may_name_the_gate_and_cannot_open_it(section: dict[str, Any], is_taken: bool) -> None:
    document = changed("modules", value={"approvals": section})

    if is_taken:
        assert parse(document).modules == {}
    else:
        with pytest.raises(RosterError, match=r"modules\.approvals: .* can be left out"):
            parse(document)
