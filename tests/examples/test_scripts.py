"""The shell examples do what they say, on a good day and on a bad one."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml
from croniter import croniter

from tests.architecture.tree import ROOT
from tests.docs.commands import check
from tests.docs.shell import Shell
from tests.household.living import QUICK, Living, living

SCRIPT = "examples/backup_and_tell.sh"


async def told(household: Living, tmp_path: Path, *commands: str) -> list[str]:
    shell = Shell(household, tmp_path / "shell")
    for command in commands:
        await shell.run(command)
    return await household.texts()


async def test_a_backup_that_works_is_told_once_however_often_it_runs(home: Path, tmp_path: Path) -> None:
    async with living(home, QUICK) as household:
        texts = await told(household, tmp_path, f"{SCRIPT} true", f"{SCRIPT} true")

    assert len(texts) == 1
    assert re.fullmatch(r"Backup of \d{4}-\d\d-\d\d is done\.", texts[0])


async def test_a_backup_that_fails_is_told_with_its_last_words_and_keeps_its_code(home: Path, tmp_path: Path) -> None:
    failing = f"{SCRIPT} sh -c 'echo \"\\$HOME disk full\" >&2; exit 7' || test $? -eq 7"
    async with living(home, QUICK) as household:
        [text] = await told(household, tmp_path, failing)

    assert "failed with 7" in text
    assert text.strip().endswith("$HOME disk full")


async def test_a_ci_failure_is_a_warning_in_the_inbox_whatever_its_branch_is_called(home: Path, tmp_path: Path) -> None:
    branch = 'main", "type": "info\\'
    async with living(home, QUICK) as household:
        shell = Shell(household, tmp_path / "shell")
        await shell.run(
            "export POSTROOM_URL=http://127.0.0.1:40200\n"
            "export POSTROOM_TOKEN=$(postroom token create --program ci --for owner)\n"
            f"examples/ci_failure.sh tests {shlex.quote(branch)} https://ci.example.org/runs/17"
        )
        [note] = household.rows("notifications")

    assert (note["user_id"], note["type"]) == ("operator", "warning")
    assert note["message"] == f"tests failed on {branch}: https://ci.example.org/runs/17"


def test_every_line_of_the_crontab_has_a_time_and_a_command_that_exists() -> None:
    lines = [line for line in (ROOT / "examples" / "crontab").read_text().splitlines() if line and line[0] not in "#P"]

    assert len(lines) == 2
    for line in lines:
        fields = line.split(maxsplit=5)
        assert croniter.is_valid(" ".join(fields[:5]))
        words = shlex.split(fields[5].replace("$(date +\\%F)", "today"))
        if words[0] == "postroom":
            check(words)
        else:
            assert (ROOT / "examples" / Path(words[0]).name).exists()


def test_the_workflow_calls_the_script_with_what_it_needs() -> None:
    workflow = yaml.safe_load((ROOT / "examples" / "github-actions.yaml").read_text())
    step = workflow["jobs"]["test"]["steps"][-1]

    assert step["if"] == "failure()"
    words = shlex.split(step["run"])
    assert (ROOT / words[1]).exists() and len(words) == 5
    assert {"POSTROOM_URL", "POSTROOM_TOKEN", "RUN_URL"} == set(step["env"])


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.sh")), ids=lambda path: path.name)
def test_every_script_can_be_run(script: Path) -> None:
    assert script.stat().st_mode & 0o111
