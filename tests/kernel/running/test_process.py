"""The household's own key."""

from __future__ import annotations

import json
import pickle
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidTag
from pydantic import TypeAdapter
from tests.household.living import living
from typer.testing import CliRunner

from postroom.cli.application import app
from postroom.desk.model import PopupSettings
from postroom.desk.server import build_server
from postroom.kernel.running.process import Seal, household_key, package_version
from postroom.kernel.values.errors import SettingsError
from postroom.settings import Secret, SecretUrl
from postroom.settings.load import load


def test_the_key_is_made_once_and_is_another_for_each_purpose(tmp_path: Path) -> None:
    home = tmp_path / "new"
    first = household_key(home, "buttons")
    assert len(first) == 32
    assert household_key(home, "buttons") == first
    assert household_key(home, "secrets") != first
    assert [file.name for file in home.iterdir()] == ["household.key"]
    assert stat.S_IMODE((home / "household.key").stat().st_mode) == 0o600


def test_those_who_start_at_once_have_the_same_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: household_key(tmp_path, "buttons"), range(16)))) == 1


PROGRAMS = {
    "those who look for it find none": (
        """
from postroom.kernel.running.process import do_without
do_without("rich")
import structlog, sys
try:
    import rich
except ImportError:
    print("none", [name for name in sys.modules if name.startswith("rich.")])
""",
        "none []",
    ),
    "what is imported already stays": (
        """
import json
from postroom.kernel.running.process import do_without
do_without("json")
import json
print(json.dumps("stays"))
""",
        '"stays"',
    ),
    "what was there at the start is not looked at again, and a cycle still goes by itself": (
        """
import gc, weakref
from postroom.kernel.running.process import collect_less_often

collect_less_often()

class Node:
    pass

node = Node()
node.itself = node
gone = weakref.ref(node)
del node
kept = []
while gone() is not None and len(kept) < 1_000_000:
    kept.append([])
print(gc.get_freeze_count() > 0, gone() is None)
""",
        "True True",
    ),
    "a command does not take its source apart at its end": (
        """
import atexit, gc
atexit.register(lambda: print(gc.get_freeze_count() > 0))
from postroom.kernel.running.process import collect_little

collect_little()
print(gc.isenabled(), gc.get_freeze_count())
""",
        "True 0\nTrue",
    ),
    "models are complete once they are used": (
        """
from postroom.kernel.running.process import build_models_when_used
build_models_when_used()
from pydantic import BaseModel, ValidationError
import mcp_types

class Person(BaseModel):
    name: str

class Letter(BaseModel):
    to: Person

print(Person.__pydantic_complete__, mcp_types.Tool.__pydantic_complete__)
print(Letter.model_validate({"to": {"name": "Ada"}}).to.name, Letter.__pydantic_complete__)
try:
    Person(name=7)
except ValidationError as error:
    print(error.error_count())
print(mcp_types.Tool(name="ask", input_schema={}).name)
""",
        "False False\nAda True\n1\nask",
    ),
}


@pytest.mark.parametrize(("program", "said"), PROGRAMS.values(), ids=PROGRAMS)
def test_a_process_is_set_up_for_what_it_does(program: str, said: str) -> None:
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)

    assert ran.stdout.strip() == said


def test_what_is_sealed_can_be_opened_again() -> None:
    sealed = Seal(b"k" * 32).seal("hunter2 🚀", "q1")

    assert "hunter2" not in sealed
    assert Seal(b"k" * 32).unseal(sealed, "q1") == "hunter2 🚀"
    assert Seal(b"k" * 32).seal("hunter2 🚀", "q1") != sealed


def test_another_key_or_another_question_opens_nothing() -> None:
    sealed = Seal(b"k" * 32).seal("hunter2", "q1")

    with pytest.raises(InvalidTag):
        Seal(b"x" * 32).unseal(sealed, "q1")
    with pytest.raises(InvalidTag):
        Seal(b"k" * 32).unseal(sealed, "q2")


CANARY = "canary-7f3a"
ENVIRONMENT = {
    "BUTLER_TELEGRAM_TOKEN": f"123456:{CANARY}",
    "BUTLER_EMAIL_ADDRESS": "bot@example.com",
    "BUTLER_EMAIL_PASSWORD": CANARY,
    "POSTROOM_DATABASE_URL": f"postgresql://ann:{CANARY}@db.example:5433/butlers?password={CANARY}",
    "POSTROOM_REDIS_URL": f"redis://:{CANARY}@cache.example:6379/0",
}


def test_no_form_of_the_settings_shows_a_secret(tmp_path: Path) -> None:
    settings, sources = load({"POSTROOM_HOME": str(tmp_path), **ENVIRONMENT})

    shown = [repr(settings), str(settings), settings.model_dump_json(), f"{settings.model_dump()}", str(sources)]
    assert not [text for text in shown if CANARY in text]
    assert settings.telegram.token.reveal().endswith(CANARY)
    assert CANARY in settings.database


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
def test_the_config_command_shows_where_and_never_how(
    home: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)

    result = CliRunner().invoke(app, ["config", *options])

    assert result.exit_code == 0, result.output
    assert CANARY not in result.output
    assert "postgresql://***@db.example:5433/butlers?***" in result.output
    assert "BUTLER_TELEGRAM_TOKEN" in result.output
    if options:
        assert json.loads(result.output)["email.password"] == {"value": "***", "source": "BUTLER_EMAIL_PASSWORD"}


@pytest.mark.parametrize(
    "toml",
    [
        f'[telegram]\ntoken = ["{CANARY}"]',
        f'[telegram]\ntoken = {{ value = "{CANARY}" }}',
        f'[telegram]\ntokne = "{CANARY}"',
        f'telegram = "{CANARY}"',
        f'[email]\npassword = "{CANARY}',
        f'database_url = ["{CANARY}"]',
    ],
)
def test_an_error_about_a_secret_does_not_repeat_it(tmp_path: Path, toml: str) -> None:
    (tmp_path / "secrets.toml").write_text(toml)

    with pytest.raises(SettingsError) as caught:
        load({"POSTROOM_HOME": str(tmp_path)})

    assert CANARY not in str(caught.value) + repr(caught.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("", ""),
        ("sqlite:////data/postroom.db", "sqlite:////data/postroom.db"),
        ("postgresql://db/butlers", "postgresql://db/butlers"),
        ("postgresql://ann@db/butlers", "postgresql://***@db/butlers"),
        ("postgresql://ann:pw@[::1]:5432/butlers", "postgresql://***@::1:5432/butlers"),
        ("postgresql://db/butlers?password=pw", "postgresql://db/butlers?***"),
        ("postgresql://ann:p@w@db:port/x", "***"),
    ],
)
def test_an_address_shows_where_it_leads(url: str, shown: str) -> None:
    assert repr(SecretUrl(url)) == str(SecretUrl(url)) == shown


def test_a_secret_is_a_value() -> None:
    assert Secret("a") == Secret("a") != Secret("b")
    assert len({Secret("a"), Secret("a")}) == 1
    assert (bool(Secret("")), bool(Secret("a"))) == (False, True)
    assert (repr(Secret("")), f"{Secret('a')}", f"{[Secret('a')]}") == ("''", "***", "[***]")
    written = TypeAdapter(Secret)
    assert [written.dump_python(Secret(one), mode="json") for one in ("", "a")] == ["", "***"]
    assert pickle.loads(pickle.dumps(Secret("a"))) == Secret("a")


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "a client", "version": "1"},
    },
}


async def test_every_mcp_server_of_a_household_names_the_packages_version(home: Path) -> None:
    told = {}
    async with living(home) as household:
        headers = {"Authorization": f"Bearer {household.token('operator')}", "Accept": "application/json"}
        for part in ("switchboard", "general", "health", "messenger", "api"):
            url = household.household.addresses[part].removesuffix("/mcp") + "/mcp"
            async with household.http.post(url, json=INITIALIZE, headers=headers) as response:
                told[part] = (await response.json())["result"]["serverInfo"]["version"]

    assert set(told.values()) == {version("postroom")} == {package_version()}


def test_the_desk_names_it_too(tmp_path: Path) -> None:
    settings = PopupSettings(home=tmp_path, voicemode=tmp_path, project_path=str(tmp_path))

    assert build_server(settings).version == package_version()
