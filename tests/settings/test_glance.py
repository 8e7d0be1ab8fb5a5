"""The few settings a command reads by itself are what the model would have made of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from postroom.kernel.values.errors import SettingsError
from postroom.settings import Settings
from postroom.settings.glance import KEYS, glance, of_settings
from postroom.settings.load import load

FILE = """
host = "::1"
[owner]
name = "Ada"
[ports]
general = 4000
[delivery]
notify_wait_seconds = 3
[channels.pager]
factory = "pager:make"
"""


@pytest.mark.parametrize(
    "environment",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"POSTROOM_URL": "https://x.example", "POSTROOM_TOKEN": "pr_secret"}, id="elsewhere"),
        pytest.param({"POSTROOM_PORTS__GENERAL": "4001", "POSTROOM_HOST": "10.0.0.1"}, id="place"),
        pytest.param({"POSTROOM_DELIVERY__NOTIFY_WAIT_SECONDS": "0.5"}, id="wait"),
        pytest.param({"POSTROOM_ROSTER": "butlers", "POSTROOM_SANDBOX": "true"}, id="roster"),
        pytest.param({"POSTROOM_ENDPOINTS": json.dumps({"general": "http://far:1/mcp"})}, id="endpoints"),
        pytest.param({"POSTROOM_PORTS__GENERAL": "4001.0"}, id="unusual and right"),
    ],
)
@pytest.mark.parametrize("file", ["", FILE], ids=["no file", "file"])
def test_a_glance_sees_what_the_model_would(environment: dict[str, str], file: str, tmp_path: Path) -> None:
    (tmp_path / "postroom.toml").write_text(file)
    overrides = {"home": str(tmp_path)}

    assert glance(environment, overrides) == of_settings(load(environment, overrides)[0])


@pytest.mark.parametrize(
    "environment",
    [
        {"POSTROOM_HSOT": "x"},
        {"POSTROOM_PORTS__GENERAL": "many"},
        {"POSTROOM_PORTS__GENERAL": "70000"},
        {"POSTROOM_PORTS": "40101"},
        {"POSTROOM_DELIVERY__NOTIFY_WAIT_SECONDS": "601"},
        {"POSTROOM_DELIVERY__NOTIFY_WAIT_SECONDS": "nan"},
        {"POSTROOM_ENDPOINTS": "[1]"},
    ],
    ids=str,
)
def test_a_mistake_is_said_in_the_models_words(environment: dict[str, str], tmp_path: Path) -> None:
    overrides: dict[str, Any] = {"home": str(tmp_path)}
    with pytest.raises(SettingsError) as glanced:
        glance(environment, overrides)
    with pytest.raises(SettingsError) as loaded:
        load(environment, overrides)

    assert str(glanced.value) == str(loaded.value)


def test_every_key_is_known() -> None:
    assert Settings.model_fields.keys() == KEYS


@pytest.mark.parametrize(
    ("butler", "url"),
    [
        pytest.param("general", "http://127.0.0.1:4000/mcp", id="the settings' port"),
        pytest.param("health", "http://127.0.0.1:40103/mcp", id="the butler's own port"),
        pytest.param("messenger", "http://far:1/mcp", id="elsewhere"),
        pytest.param("nurse", None, id="unknown"),
        pytest.param("../roster/health", None, id="no name"),
        pytest.param("switchboard", None, id="a port that the system chooses"),
    ],
)
def test_a_butlers_place_is_found_without_the_rest_of_the_roster(butler: str, url: str | None, tmp_path: Path) -> None:
    places = {"ports.general": 4000, "ports.switchboard": 0, "endpoints": {"messenger": "http://far:1/mcp"}}

    assert glance({}, {"home": str(tmp_path), **places}).url_of(butler) == url


def test_the_api_of_this_household_is_where_the_model_says(tmp_path: Path) -> None:
    there = {"POSTROOM_HOME": str(tmp_path)}
    assert glance(there, {}).own_api_url == Settings.model_validate({"home": tmp_path}).api_url

    moved = glance({**there, "POSTROOM_PORTS__API": "40999", "POSTROOM_HOST": "::1"}, {})
    assert moved.own_api_url == "http://[::1]:40999"
