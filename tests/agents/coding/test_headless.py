"""Claude Code ends at a call, the person answers later, and it goes on: also when the runner was killed meanwhile."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.agents.coding import fake_claude
from tests.agents.coding.test_hook import cards, ended, join, press
from tests.household.living import LIFTED, QUICK, Living, living

from postroom.agents.coding.headless import understood
from postroom.kernel.values.errors import UserError
from postroom.kernel.values.principal import Principal, Role

PATIENCE = 60


@pytest.fixture
async def there(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Living]:
    claude = tmp_path / "claude"
    claude.write_text(f'#!/bin/sh\nexec {sys.executable} {fake_claude.__file__} "$@"\n')
    claude.chmod(0o700)
    (tmp_path / "shop").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path / "shop")
    async with living(home, QUICK, LIFTED) as household:
        token = household.tokens.create(Principal(Role.PROGRAM, "claude", person="owner"))
        join(home, "claude", household.household.addresses["api"], token)
        yield household


async def start(home: Path, tmp_path: Path, *options: str) -> asyncio.subprocess.Process:
    words = [sys.executable, "-m", "postroom", "headless", "--home", str(home), *options]
    pipe = asyncio.subprocess.PIPE
    claude = [str(tmp_path / "claude"), "-p", "make the file"]
    return await asyncio.create_subprocess_exec(*words, "--", *claude, stdout=pipe, stderr=pipe)


async def end(process: asyncio.subprocess.Process) -> tuple[int | None, str, str]:
    async with asyncio.timeout(PATIENCE):
        out, error = await process.communicate()
    return process.returncode, out.decode(), error.decode()


async def waiting(process: asyncio.subprocess.Process) -> None:
    assert process.stderr is not None
    async with asyncio.timeout(PATIENCE):
        assert b"waits for an answer to Bash" in await process.stderr.readline()


@pytest.mark.requirement("connect:headless-resumed", "connect:headless-killed")
async def test_a_runner_that_was_killed_goes_on_with_the_same_question(
    there: Living, home: Path, tmp_path: Path
) -> None:
    first = await start(home, tmp_path)
    await waiting(first)
    first.kill()
    await first.wait()
    second = await start(home, tmp_path)
    await waiting(second)
    assert not (tmp_path / "shop" / "done.txt").exists()

    (card,) = await cards(there)
    await press(there, card, "Allow")
    code, out, error = await end(second)

    assert (code, out) == (0, "The call was allow.\n"), error
    assert (tmp_path / "shop" / "done.txt").exists()
    assert len(await there.received()) == 1
    assert not [*(home / "headless").glob("*/*"), *(home / "hooks").glob("*/*")]


@pytest.mark.requirement("connect:headless-killed")
async def test_an_answer_while_no_runner_lives_is_not_lost(there: Living, home: Path, tmp_path: Path) -> None:
    first = await start(home, tmp_path)
    await waiting(first)
    first.kill()
    await first.wait()
    await press(there, (await cards(there))[0], "Deny")

    code, out, _ = await end(await start(home, tmp_path))

    assert (code, out) == (0, "The call was deny.\n")
    assert not (tmp_path / "shop" / "done.txt").exists()


@pytest.mark.requirement("connect:headless-resumed")
async def test_without_an_answer_in_time_claude_code_decides_and_the_card_is_closed(
    there: Living, home: Path, tmp_path: Path
) -> None:
    code, out, _ = await end(await start(home, tmp_path, "--wait-seconds", "1"))

    assert (code, out) == (0, "The call was refused.\n")
    assert await ended(there) == ("cancelled", "not answered in time")


async def test_begun_anew_the_earlier_question_is_closed(there: Living, home: Path, tmp_path: Path) -> None:
    first = await start(home, tmp_path)
    await waiting(first)
    first.kill()
    await first.wait()
    (earlier,) = await cards(there)
    second = await start(home, tmp_path, "--anew")
    await waiting(second)
    await press(there, (await cards(there, after=earlier["message_id"]))[0], "Allow")

    assert (await end(second))[:2] == (0, "The call was allow.\n")
    assert len(await there.received()) == 2


async def test_without_a_household_claude_code_is_not_started(home: Path, tmp_path: Path) -> None:
    code, _, error = await end(await start(home, tmp_path))
    assert code == 1 and "There is no program" in error

    join(home, "claude", "http://127.0.0.1:9")
    (tmp_path / "claude").write_text("#!/bin/sh\n")
    (tmp_path / "claude").chmod(0o700)
    code, _, error = await end(await start(home, tmp_path))
    assert code == 1 and "Claude Code was not started: no household answers" in error


HOOK = {"matcher": "Bash", "hooks": []}


def test_the_prompt_is_said_once_and_options_every_time() -> None:
    said = understood(["claude", "--model", "opus", "-p", "fix it", "--max-turns", "9"], HOOK)
    ours = ["--output-format", "json", "--settings", json.dumps({"hooks": {"PreToolUse": [HOOK]}})]

    assert said.first("S") == [
        "claude",
        "-p",
        "fix it",
        "--session-id",
        "S",
        "--model",
        "opus",
        "--max-turns",
        "9",
        *ours,
    ]
    assert said.later("S") == ["claude", "-p", "--resume", "S", "--model", "opus", "--max-turns", "9", *ours]


def test_without_words_after_it_the_prompt_comes_on_standard_input() -> None:
    said = understood(["claude", "--print", "--output-format=stream-json", "--verbose"], HOOK)

    assert said.prompt is None and said.form == "stream-json"
    assert said.first("S")[:4] == ["claude", "-p", "--session-id", "S"]


def test_settings_of_the_person_are_kept(tmp_path: Path) -> None:
    own = {"model": "opus", "hooks": {"PreToolUse": [{"matcher": "Edit"}], "Stop": []}}
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(own))
    expected = {"model": "opus", "hooks": {"PreToolUse": [{"matcher": "Edit"}, HOOK], "Stop": []}}

    for given in (str(file), json.dumps(own)):
        assert json.loads(understood(["claude", "-p", "x", "--settings", given], HOOK).settings) == expected


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["claude", "fix it"], "without a screen"),
        (["claude", "-p", "x", "--resume", "S"], "Leave out --resume"),
        (["claude", "-p", "x", "--session-id=S"], "Leave out --session-id"),
        (["claude", "-p", "x", "--output-format", "xml"], "text, json or stream-json"),
        (["claude", "-p", "x", "--settings"], "needs a value"),
        (["claude", "-p", "x", "--settings", "nowhere.json"], "neither JSON nor a file"),
        (["claude", "-p", "x", "--settings", '{"hooks": []}'], None),
        (["claude", "-p", "x", "--settings", '{"hooks": [1]}'], "not what Claude Code takes"),
    ],
)
def test_what_could_not_be_resumed_is_refused(words: list[str], why: str | None) -> None:
    if why is None:
        understood(words, HOOK)
        return
    with pytest.raises(UserError, match=why):
        understood(words, HOOK)
