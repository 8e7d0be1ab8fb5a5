"""Every command and snippet of the documentation is run, or, where that cannot be, read by what would read it."""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from postroom.settings.accounts import ChannelKind, shipped_kinds
from tests.architecture.tree import ROOT, shown
from tests.docs.commands import check, command_lines, parse_postroom
from tests.docs.documents import READERS
from tests.docs.pages import Block, anchors, blocks, fence_count, household_settings, inline_commands, links, pages
from tests.docs.shell import Shell
from tests.household.living import LIFTED, QUICK, living

RUN = frozenset({"sh", "console", "python"})
PAGES = pytest.mark.parametrize("page", pages(), ids=shown)
_PAGE = re.compile(r"docs/[\w/-]+\.md(?:#[\w-]+)?")
_CHANGING = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|pr_\w+|/\S+|\d+(?:[.:,]\d+)*|\bms\b|\b[Nn] s\b|seconds?|minutes?")


@PAGES
def test_every_block_is_of_a_kind_that_is_checked(page: Path) -> None:
    found = blocks(page)

    assert [block.place for block in found if block.kind not in RUN | READERS.keys()] == []
    assert fence_count(page) == 2 * len(found)


@PAGES
def test_settings_messages_and_drawings_are_what_they_say(page: Path) -> None:
    for block in blocks(page):
        if block.kind in READERS:
            READERS[block.kind](block)


@PAGES
def test_commands_in_running_text_exist(page: Path) -> None:
    for command in inline_commands(page):
        words = [re.sub(r"[…\[\]]", "", word) for word in command.split("|")[0].split()]
        if "COMMAND" not in words:
            parse_postroom([word for word in words[1:] if word])


@PAGES
def test_links_lead_somewhere(page: Path) -> None:
    local = [link for link in links(page) if not link.startswith(("http://", "https://", "mailto:"))]

    assert [link for link in local if not leads_somewhere(page, link)] == []


def leads_somewhere(page: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    place = page.parent / name if name else page
    return place.exists() and (not anchor or anchor in anchors(place))


def test_pages_that_the_program_and_its_tests_name_are_there() -> None:
    files = [one for folder in ("src", "tests", "scripts", "chaos") for one in (ROOT / folder).rglob("*.[ph][yt]*")]
    named = {name for one in files for name in _PAGE.findall(one.read_text(encoding="utf-8", errors="replace"))}

    assert "docs/how-to/add-a-channel.md" in named
    assert [name for name in sorted(named) if not leads_somewhere(ROOT / "README.md", name)] == []


@pytest.mark.parametrize("kind", shipped_kinds().values(), ids=list(shipped_kinds()))
def test_the_guide_of_a_kind_of_channel_is_there(kind: ChannelKind) -> None:
    assert leads_somewhere(ROOT / "docs" / "how-to" / "add-a-channel.md", kind.guide)


def runnable(page: Path) -> list[Block]:
    return [block for block in blocks(page) if block.kind in RUN or block.told("file")]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", [page for page in pages() if runnable(page)], ids=shown)
async def test_what_a_page_tells_its_reader_to_do_works(page: Path, home: Path, tmp_path: Path) -> None:
    """In order, in one terminal, against one household."""
    chosen = household_settings(page)
    async with living(home, LIFTED, QUICK, _nested(chosen)) as household:
        variables = {f"POSTROOM_{name.replace('.', '__').upper()}": value for name, value in chosen.items()}
        shell = Shell(household, tmp_path / "shell", variables)
        for block in runnable(page):
            try:
                await follow(block, shell)
            except AssertionError as error:
                raise AssertionError(f"{block.place}: {error}") from None


async def follow(block: Block, shell: Shell) -> None:
    if file := block.told("file"):
        place = shell.work / file
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(shell.filled(block.text))
    elif block.told("check") or block.told("apart"):
        only_look(block)
    elif block.kind == "python":
        await shell.python(block.text)
    elif block.kind == "console":
        await converse(block, shell)
    else:
        await shell.run(block.text)


async def converse(block: Block, shell: Shell) -> None:
    """What follows a command is what it prints, but for ids, paths and numbers; `…` stands for anything."""
    for part in re.split(r"^\$ ", block.text, flags=re.M)[1:]:
        command, _, expected = re.sub(r"\\\n> ", "", part).partition("\n")
        printed = {_CHANGING.sub("#", line).strip() for line in (await shell.run(command)).splitlines()}
        for line in expected.splitlines():
            wanted = _CHANGING.sub("#", line).strip()
            if wanted and wanted != "…":
                assert wanted in printed, f"{command!r} does not print {line!r} but {sorted(printed)}"


def only_look(block: Block) -> None:
    if block.kind == "python":
        tree = compile(block.text, block.place, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                assert _has(node.module, [name.name for name in node.names]), node.module
        return
    text = block.text
    if block.kind == "console":
        text = "\n".join(line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ "))
    done = subprocess.run(["bash", "-n", "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for words in command_lines(text):
        check(words)


def _has(module: str, names: list[str]) -> bool:
    """A driver's framework is in the examples' environment only; there its example runs."""
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        return find_spec(module) is not None and not str(error.name).startswith("postroom")
    return all(hasattr(found, name) for name in names)


def _nested(dotted: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, text in dotted.items():
        *path, last = name.split(".")
        inner = found
        for part in path:
            inner = inner.setdefault(part, {})
        try:
            inner[last] = json.loads(text)
        except json.JSONDecodeError:
            inner[last] = text
    return found


def test_the_documentation_is_where_these_tests_look() -> None:
    assert {"README.md", "docs/index.md"} <= {shown(page) for page in pages()}
    assert (ROOT / "docs" / "tutorial").is_dir()
