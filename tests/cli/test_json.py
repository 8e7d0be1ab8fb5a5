"""`--json` everywhere: results on standard output in a known shape, and mistakes in one on standard error."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from scripts.reference.json_shapes import SHAPES, WITHOUT, Shape

from tests.cli.command import postroom_beside
from tests.cli.walk import commands, options_of
from tests.household.living import PORTS, QUICK, living
from tests.services import warm_process
from tests.services.ports import free_port

pytestmark = pytest.mark.requirement("side:words-json")
APPROVING = {"approvals": {"enabled": True, "ask_owner": False}}
LOGGED = re.compile(r"^\d{4}-\d\d-\d\d .*\n", re.M)  # the household of this process speaks there, too


def test_every_command_has_json_and_a_known_shape_or_a_reason_why_not() -> None:
    known = commands()

    assert set(known) == (set(SHAPES) - {""}) | set(WITHOUT)
    assert [name for name, one in known.items() if ("--json" in options_of(one)) != (name in SHAPES)] == []


async def test_what_commands_print_has_the_shape_that_is_written_down(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    ports = {name: free_port() for name in PORTS}
    for name, port in ports.items():
        monkeypatch.setenv(f"POSTROOM_PORTS__{name.upper()}", str(port))
    (tmp_path / "people.csv").write_text("name,email\nEve,eve@example.org\n")
    (tmp_path / "other.toml").write_text('preset = "calm"\n')
    seen: set[str] = set()

    async def run(command: str, *more: str, code: int = 0) -> Any:
        done = await postroom_beside(*command.split(), *more, "--json")
        assert done.code == code, (command, done)
        found = json.loads(LOGGED.sub("", done.out))
        assert fits(SHAPES[command], found), f"{command}: {found}"
        seen.add(command)
        return found

    async with living(home, QUICK, APPROVING, {"ports": ports}):
        sent = (await run("notify", "Hello", "-c", "telegram"))["delivery"]["delivery_id"]
        await run("revise", sent, "Hello again")
        await run("recall", sent)
        await run("trace", sent)
        await run("why", sent)
        asked = (await run("ask", "Deploy?", "--options", "yes,no", "--wait", "0", code=10))["ask_id"]
        await run("asks")
        await run("wait", asked, "--wait", "0", code=10)
        await run("answer", asked, "yes")
        for command in ("", "owner", "channels", "config", "attention show", "attention plan", "token list"):
            await run(command)
        await run("people add", "Bob", "--address", "telegram:2001")
        await run("people list")
        await run("people show", "Bob")
        await run("people edit", "Bob", "--zone", "Europe/Vienna")
        await run("pair", "Bob", "--channel", "telegram")
        await run("people import", "people.csv")
        await run("contacts import", "people.csv")
        await run("contacts list")
        waiting = (await run("notify", "Hi", "--recipient", "Eve", "-c", "email"))["action_id"]
        await run("approvals list")
        await run("approvals show", waiting)
        await run("approvals approve", waiting, "--yes")
        another = (await run("notify", "Ho", "--recipient", "Eve", "-c", "email"))["action_id"]
        await run("approvals reject", another, "--reason", "no")
        await run("people history", "Eve")
        await run("people remove", "Bob", "--yes")
        await run("attention set", "--preset", "calm")
        await run("attention simulate", "--policy", "other.toml")
        await run("attention mute", "health")
        await run("attention away", "--for", "1h")
        await run("token create", "--program", "ci", "--for", "owner")
        await run("token show", "--program", "ci")
        await run("token revoke", "--program", "ci")
        await run("login")
        await run("connectors export", "chatgpt")
        await run("connect", "claude", "--dry-run")
        await run("init", "new")
        await run("prune")
        await run("audit")
        await run("backup", "copied")
        await run("migrate")
        await run("service install", "--dry-run")
        await run("service remove", "--dry-run")
        await run("service status", code=1)

    others = {"doctor", "desk", "login-mail", "attention ack", "attention snooze"}
    assert set(SHAPES) - seen == others | {"attention withdraw"}, "the rest have tests of their own"


def fits(shape: Shape, found: Any) -> bool:
    if shape.is_list:
        return isinstance(found, list) and all(set(shape.keys) <= one.keys() for one in found) and bool(found)
    return isinstance(found, dict) and set(shape.keys) <= found.keys()


@pytest.mark.parametrize(
    ("arguments", "code", "ending", "words"),
    [
        (["notify", "x", "--channel", "pigeon"], "invalid", 1, "There are auto"),
        (["asks"], "not_running", 1, "postroom up"),
        (["notfy"], "usage", 2, "Did you mean 'notify'?"),
        (["why"], "usage", 2, "postroom why --help"),
        (["people", "add", "Bob", "--zone", "Nowhere"], "schema_invalid", 1, "--zone"),
    ],
    ids=["refused", "not running", "mistyped", "incomplete", "wrong value"],
)
def test_what_went_wrong_is_json_on_standard_error(
    home: Path, arguments: list[str], code: str, ending: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_PORTS__API", str(free_port()))

    done = warm_process.run(os.environ, *arguments, "--json")

    assert (done.returncode, done.stdout) == (ending, "")
    error = json.loads(done.stderr)["error"]
    assert error.keys() == {"code", "message", "hint"}
    assert error["code"] == code and words in f"{error['message']} {error['hint']}"


def test_a_word_after_two_dashes_is_not_ours(home: Path) -> None:
    done = warm_process.run(os.environ, "headless", "--", "nothing-of-this-name", "-p", "x", "--json")

    assert done.returncode == 1 and done.stderr.startswith("postroom: ")
