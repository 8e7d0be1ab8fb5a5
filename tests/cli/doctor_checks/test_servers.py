"""Databases and Redis: there, away, of the wrong age, or not to be entered."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from sqlalchemy import text

from postroom.app.store import connect_store
from postroom.cli.doctor_checks.servers import look_at_database, look_at_redis
from postroom.system.settings import Settings
from postroom.world.store.engine.migrate import newest


def household(home: Path, **values: Any) -> Settings:
    return Settings.model_validate({"home": home, **values})


@pytest.fixture(params=["sqlite", "postgres"])
def settings(home: Path, request: pytest.FixtureRequest) -> Settings:
    url = request.getfixturevalue("new_postgres_url") if request.param == "postgres" else ""
    return household(home, database_url=url)


async def test_a_migrated_database_is_well(settings: Settings) -> None:
    store = connect_store(settings)
    await store.database.migrate()
    await store.database.close()

    found = await look_at_database(settings)

    assert (found.ok, found.advice) == (True, "")
    assert f"revision {newest()}" in found.detail


async def test_an_empty_database_is_no_problem_and_stays_empty(settings: Settings, home: Path) -> None:
    found = await look_at_database(settings)

    assert found.ok
    assert not (home / "postroom.db").exists()


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"port": 1}, id="nobody listens"),
        pytest.param({"database": "nowhere"}, id="no such database"),
        pytest.param({"user": "nobody"}, id="no such user"),
    ],
)
async def test_a_database_that_cannot_be_entered_is_a_problem_without_secrets(
    home: Path, postgres_url: str, wrong: dict[str, Any]
) -> None:
    right = urlsplit(postgres_url)
    user, port = wrong.get("user", right.username), wrong.get("port", right.port)
    url = f"postgresql://{user}:hunter2@{right.hostname}:{port}/{wrong.get('database', right.path[1:])}"

    found = await look_at_database(household(home, database_url=url))

    assert not found.ok and found.advice
    assert "hunter2" not in repr(found)


async def test_a_file_that_is_no_database_is_a_problem(home: Path) -> None:
    (home / "postroom.db").write_bytes(b"this is not a database, however long it may be" * 100)

    found = await look_at_database(household(home))

    assert (found.ok, found.advice) == (False, "restore a backup")


@pytest.mark.parametrize("url", ["mysql://localhost/x", "nonsense"])
async def test_an_address_of_no_database_is_a_problem(home: Path, url: str) -> None:
    found = await look_at_database(household(home, database_url=url))

    assert not found.ok


async def test_redis_is_asked_only_when_it_is_wanted(home: Path, redis_url: str, free_port: int) -> None:
    assert await look_at_redis(household(home)) == []
    assert [one.ok for one in await look_at_redis(household(home, redis_url=redis_url))] == [True]
    for wrong in (f"redis://:hunter2@127.0.0.1:{free_port}/0", "nonsense"):
        [found] = await look_at_redis(household(home, redis_url=wrong))
        assert not found.ok and found.advice
        assert "hunter2" not in repr(found)


async def test_a_database_newer_than_the_program_is_a_problem(settings: Settings) -> None:
    store = connect_store(settings)
    await store.database.migrate()
    await store.database.write(lambda one: one.execute(text("UPDATE postroom_version SET version_num = '9999'")))
    await store.database.close()

    found = await look_at_database(settings)

    assert not found.ok
    assert "revision 9999" in found.detail and "newer than this program" in found.detail
    assert "newer Postroom" in found.advice
