"""The drivers' examples in the real frameworks: killed between the question and the answer, they go on once."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import Process
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.agents.messages_api import messages_api, silent_api
from tests.agents.test_examples import ROOT, interpreter
from tests.household.asked_household import phone, press, until
from tests.household.living import QUICK, Living, living
from tests.patience import PATIENCE_SECONDS

BASH = {"command": "echo release-17 >> deployed.txt", "description": "Deploy"}
APPROVED = [
    ("langchain", "langchain"),
    ("openai_agents", "agents"),
    ("pydantic_ai", "pydantic_ai"),
    ("google_adk", "google.adk"),
]
pytestmark = pytest.mark.timeout(180)


class Runs:
    """Processes of one example in one folder, beside one household."""

    def __init__(self, house: Living, home: Path, example: str, package: str, **more: str) -> None:
        self._command = [interpreter(package), str(ROOT / "examples" / f"drive_{example}.py"), "--offline"]
        self.folder = home / "work"
        self.folder.mkdir(exist_ok=True)
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "PYTHONPATH": str(ROOT / "src"),  # the examples' environment cannot hold what Postroom itself needs
            "POSTROOM_HOME": str(home),
            "POSTROOM_URL": house.household.addresses["api"].removesuffix("/mcp"),
            "POSTROOM_TOKEN": house.token("health"),
            **more,
        }

    async def start(self) -> Process:
        return await asyncio.create_subprocess_exec(
            *self._command,
            env=self._environment,
            cwd=self.folder,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )

    async def kill(self, process: Process) -> str:
        """What it had said until then."""
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        output, _ = await asyncio.wait_for(process.communicate(), PATIENCE_SECONDS)
        return output.decode()

    async def finish(self) -> str:
        process = await self.start()
        try:
            output, _ = await asyncio.wait_for(process.communicate(), 90)
        finally:
            if process.returncode is None:
                await self.kill(process)
        assert process.returncode == 0, output.decode()
        return output.decode()


async def killed_in_between(house: Living, runs: Runs, question: str, button: str) -> str:
    """What the second process says after the first was killed while the card was on the phone."""
    first = await runs.start()
    try:
        card = await phone(house, question)
    except TimeoutError:
        pytest.fail(await runs.kill(first))
    said = await runs.kill(first)
    assert first.returncode == -signal.SIGKILL, said
    assert not (runs.folder / "deployed.txt").exists()
    await press(house, card, button)
    output = await runs.finish()
    assert sum(question in text or button in text for text in await house.texts()) == 1, "one card, one person"
    assert len(house.rows("questions")) == 1
    return output


def deployed(runs: Runs) -> str:
    return (runs.folder / "deployed.txt").read_text()


@pytest.mark.requirement("drivers:resume-after-kill", "drivers:asked-once")
@pytest.mark.parametrize(("example", "package"), APPROVED, ids=[one for one, _ in APPROVED])
async def test_an_approved_tool_runs_once_though_its_process_was_killed(home: Path, example: str, package: str) -> None:
    async with living(home, QUICK) as house:
        runs = Runs(house, home, example, package)
        output = await killed_in_between(house, runs, "Run deploy?", "Approve")

    assert "Done." in output
    assert deployed(runs) == "release-17\n"


@pytest.mark.requirement("drivers:resume-after-kill", "drivers:asked-once")
async def test_a_graph_goes_on_with_the_option_chosen_though_its_process_was_killed(home: Path) -> None:
    async with living(home, QUICK) as house:
        runs = Runs(house, home, "langgraph", "langgraph")
        output = await killed_in_between(house, runs, "Where shall release-17 go?", "staging")

    assert "release-17 went to staging." in output
    assert deployed(runs) == "release-17 to staging\n"


def claude(house: Living, home: Path, url: str) -> Runs:
    return Runs(
        house,
        home,
        "claude_agent",
        "claude_agent_sdk",
        ANTHROPIC_BASE_URL=url,
        ANTHROPIC_API_KEY="scripted",
        CLAUDE_CONFIG_DIR=str(home),
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
    )


@pytest.mark.requirement("drivers:resume-after-kill", "drivers:asked-once")
async def test_claude_goes_on_with_the_command_allowed_though_its_process_was_killed(home: Path) -> None:
    async with living(home, QUICK) as house, messages_api("Bash", BASH) as url:
        runs = claude(house, home, url)
        output = await killed_in_between(house, runs, "Run Bash?", "Approve")

    assert "Noted." in output
    assert deployed(runs) == "release-17\n"


@pytest.mark.requirement("drivers:resume-after-kill")
async def test_claude_goes_on_though_its_process_was_killed_before_its_first_word_was_kept(home: Path) -> None:
    async with living(home, QUICK) as house, silent_api() as silent, messages_api("Bash", BASH) as url:
        first = await claude(house, home, silent).start()

        async def told() -> bool:
            kept = [one.read_text(encoding="utf-8") for one in home.glob("projects/*/*.jsonl")]
            return any("Append a line with release-17" in one for one in kept)

        await until(told)
        runs = claude(house, home, url)
        await runs.kill(first)
        running = asyncio.create_task(runs.finish())
        await press(house, await phone(house, "Run Bash?"), "Approve")

        assert "Noted." in await running
        assert deployed(runs) == "release-17\n"


@pytest.mark.requirement("drivers:no-stale-approval")
async def test_claude_is_asked_about_the_same_command_again_once_it_has_run(home: Path) -> None:
    async with living(home, QUICK) as house, messages_api("Bash", BASH, times=2) as url:
        runs = claude(house, home, url)
        running = asyncio.create_task(runs.finish())
        await press(house, await phone(house, "Run Bash?"), "Approve")

        async def second() -> dict[str, Any] | None:
            asked = [one for one in await house.received() if "Run Bash?" in one["text"]]
            return asked[1] if len(asked) == 2 else None

        card = await until(second)
        assert deployed(runs) == "release-17\n"
        await press(house, card, "Deny")

        await asyncio.wait_for(running, 60)
        assert deployed(runs) == "release-17\n"
