"""The reference pages are what the code says, and the code says something about everything."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from scripts.reference.channels import MARKED, channels_table, with_table
from scripts.reference.scenarios import scenarios_page
from scripts.reference.settings import undescribed

from postroom.butlers.loading import module_kinds
from postroom.settings import Settings
from postroom.settings.roster import ButlerConfig
from tests.architecture.tree import ROOT
from tests.requirements import REQUIREMENTS
from tests.services import warm_process
from tests.support.kinds import KINDS

SCRIPT = "scripts.generate-reference"


def checked(*options: str | Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return warm_process.run(environment, "--check", *map(str, options), seconds=100, module=SCRIPT)


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """One page of the reference and one table of channels are changed by hand, each in its own place."""
    folder, root = tmp_path_factory.mktemp("reference"), tmp_path_factory.mktemp("root")
    shutil.copytree(ROOT / "docs" / "reference", folder, dirs_exist_ok=True)
    (folder / "errors.md").write_text("changed by hand")
    for name in (*MARKED, "docs/reference/museum.md", "docs/llms.txt"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    readme = root / "README.md"
    readme.write_text(readme.read_text().replace("is asked first", "never fails"))
    return checked("--folder", folder, "--root", root)


def test_the_pages_are_what_the_code_says() -> None:
    done = checked()

    assert done.returncode == 0, done.stdout + done.stderr


def test_pages_that_are_something_else_are_named(changed: subprocess.CompletedProcess[str]) -> None:
    assert (changed.returncode, changed.stdout.count("is not what")) == (1, 2)
    assert "errors.md is not what the code says" in changed.stdout


@pytest.mark.requirement("house:channels-table")
def test_a_table_of_channels_that_is_something_else_is_named(changed: subprocess.CompletedProcess[str]) -> None:
    assert (changed.returncode, changed.stdout.count("is not what")) == (1, 2)
    assert "README.md is not what the code says" in changed.stdout


@pytest.mark.requirement("house:channels-table")
def test_the_table_says_of_every_kind_what_it_declares() -> None:
    rows = dict(zip(KINDS, channels_table("").splitlines()[2:], strict=True))

    assert rows["telegram"].endswith(
        "| buttons | yes | a second copy is marked | yes | 4,096 characters | 50 MB each |"
    )
    assert rows["slack"].endswith("| up to 25 buttons | yes | is asked first | yes | 3,000 characters | 100 MB each |")
    assert rows["webhook"].endswith(
        "| links | no | drops copies for 1 day | yes | any text | 256 KiB each, 1 MiB together |"
    )
    assert "| yes | no | no | no | links | no | a second copy is marked | no |" in rows["apprise"]
    assert "drops copies for 2 minutes" in rows["discord"]


def test_every_scenario_of_a_specification_leads_to_a_test() -> None:
    rows = [line for line in scenarios_page().splitlines() if re.match(r"\|( .+ \|)? `[a-z]+:", line)]
    specified = [one.id for one in REQUIREMENTS if one.spec.endswith(".md")]

    assert sorted(re.findall(r"\| `([a-z0-9:-]+)` \|", "\n".join(rows))) == sorted(specified)
    assert [row for row in rows if "](../../tests/" not in row] == []


def test_a_page_without_the_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="has 0"):
        with_table("# A page", "")


@pytest.mark.parametrize("model", [Settings, ButlerConfig, *module_kinds().values()])
def test_every_setting_says_what_it_means(model: type) -> None:
    assert list(undescribed(model)) == []
