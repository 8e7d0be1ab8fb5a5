"""Dockerfile and compose.yaml name commands, settings and files that exist; no container engine is needed for that."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from postroom.settings import Settings
from postroom.settings.load import load
from tests.architecture.tree import ROOT
from tests.docs.commands import type_postroom

COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
DOCKERFILE = (ROOT / "Dockerfile").read_text()
OURS = {name: service for name, service in COMPOSE["services"].items() if service.get("image") == "postroom"}


def instructions(name: str) -> list[str]:
    joined = DOCKERFILE.replace("\\\n", " ")
    return [line.removeprefix(f"{name} ") for line in joined.splitlines() if line.startswith(f"{name} ")]


def test_the_image_runs_a_command_that_exists_as_nobody_in_particular() -> None:
    assert json.loads(instructions("ENTRYPOINT")[0]) == ["postroom"]
    type_postroom(json.loads(instructions("CMD")[-1]))
    assert instructions("USER") == ["postroom"]


def test_every_file_that_is_copied_is_there_and_let_through() -> None:
    let_through = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    copied = [word for line in instructions("COPY") if "--from" not in line for word in line.split()[:-1]]

    assert copied
    for name in copied:
        assert (ROOT / name).exists(), name
        assert any(Path(name) == Path(one) or Path(name) in Path(one).parents for one in let_through), name


def test_the_image_asks_the_port_that_it_serves() -> None:
    port = Settings(home=Path("unused")).ports.api

    assert instructions("EXPOSE") == [str(port)]
    assert f"127.0.0.1:{port}/health" in DOCKERFILE


def test_a_household_of_one_door_and_two_workers_on_postgresql_and_redis() -> None:
    assert set(COMPOSE["services"]) == {"door", "worker", "postgres", "redis"}
    assert COMPOSE["services"]["worker"]["deploy"]["replicas"] == 2


@pytest.mark.parametrize("name", OURS)
def test_each_part_runs_a_command_that_exists(name: str) -> None:
    type_postroom(OURS[name]["command"])


@pytest.mark.parametrize("name", OURS)
def test_each_part_has_settings_that_the_household_understands(name: str, tmp_path: Path) -> None:
    environment = {key: filled(text) for key, text in OURS[name]["environment"].items()}

    settings, sources = load(environment | {"POSTROOM_HOME": str(tmp_path)})

    assert settings.database.startswith("postgresql://postroom:")
    assert settings.redis_url.reveal().startswith("redis://redis:")
    assert settings.telegram.token.reveal() == "BUTLER_TELEGRAM_TOKEN"
    assert sources["owner.telegram_chat_id"] == "POSTROOM_OWNER__TELEGRAM_CHAT_ID"


@pytest.mark.parametrize("name", OURS)
def test_unset_variables_are_as_if_they_were_not_there(name: str, tmp_path: Path) -> None:
    """Compose hands over an empty text for what .env does not set."""
    environment = {key: re.sub(r"\$\{[^}]*:-\}", "", str(text)) for key, text in OURS[name]["environment"].items()}

    settings, _ = load({**environment, "POSTROOM_HOME": str(tmp_path)})

    assert not settings.has_credentials
    assert not settings.owner.telegram_chat_id and not settings.owner.email


def test_servers_and_settings_agree() -> None:
    services: dict[str, Any] = COMPOSE["services"]
    url = OURS["door"]["environment"]["POSTROOM_DATABASE_URL"]
    postgres = services["postgres"]["environment"]

    assert f"//{postgres['POSTGRES_USER']}:" in url and url.endswith(f"@postgres/{postgres['POSTGRES_DB']}")
    assert all(set(one["depends_on"]) <= set(services) for one in OURS.values())
    assert [one for one in services["door"]["ports"] if not one.startswith("127.0.0.1:")] == []


def filled(text: str) -> str:
    """`${NAME:-}` and `${NAME:?…}` hold their own name."""
    return re.sub(r"\$\{(\w+)[^}]*\}", r"\1", text)
