"""Files are named after ideas, introduce themselves, and know nothing of the machine they were written on."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT, SOURCE, shown, source_files, tracked_files

NAMES_WITHOUT_AN_IDEA = {"utils", "util", "helpers", "helper", "common", "manager", "base", "misc"}
# Each pattern is written so that it does not match its own line.
FOREIGN = {
    "a path of one machine": re.compile(r"(?<![\w.])/(ro[o]t|hom[e]/\w+|wor[k]|far[m]|User[s]/\w+)/|/tm[p]/(x|wt)/"),
    "the address of a package index": re.compile(
        r"inde[x]-url|find-link[s]|https?://[^\s\"')]*(pyp[i]|pythonhoste[d]|artifactor[y]|nexu[s]|npmj[s])"
    ),
}
PIN = re.compile(r"[a-z0-9][a-z0-9.-]*==[\w.!+]+( ; .+)?")
TWO_SENTENCES = re.compile(r"[.!?]\s+[A-Z]")


def test_no_file_has_a_name_without_an_idea() -> None:
    folders = (SOURCE, ROOT / "tests")
    named = {path for folder in folders for path in folder.rglob("*") if path.suffix in ("", ".py")}

    assert [shown(path) for path in sorted(named) if path.stem in NAMES_WITHOUT_AN_IDEA] == []


@pytest.mark.parametrize("what", FOREIGN)
def test_no_file_holds(what: str) -> None:
    found = [
        f"{shown(path)}:{number}: {line.strip()[:80]}"
        for path in tracked_files()
        for number, line in enumerate(_text(path).splitlines(), 1)
        if FOREIGN[what].search(line)
    ]

    assert found == []


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("a path of one machine", "/".join(["HOME=", "root", ".cache"])),
        ("a path of one machine", "/".join(["see ", "home", "somebody", "notes"])),
        ("the address of a package index", "--index-" + "url=x"),
        ("the address of a package index", "https://files." + "pythonhosted" + ".org/packages"),
    ],
)
def test_the_patterns_find_what_they_are_for(what: str, line: str) -> None:
    assert FOREIGN[what].search(line)


@pytest.mark.parametrize("name", ["run.txt", "dev.txt", "examples.txt"])
def test_a_lock_file_names_packages_and_versions_only(name: str) -> None:
    lines = (ROOT / "requirements" / name).read_text().splitlines()

    assert lines
    assert [line for line in lines if not PIN.fullmatch(line)] == []


def test_what_runs_is_pinned_alike_for_development() -> None:
    run, dev = (set((ROOT / "requirements" / name).read_text().splitlines()) for name in ("run.txt", "dev.txt"))

    assert run - dev == set()


def test_every_module_says_in_one_sentence_what_it_is() -> None:
    assert [problem for path in source_files() if (problem := _docstring_problem(path))] == []


def _docstring_problem(path: Path) -> str | None:
    tree = ast.parse(path.read_text())
    if not tree.body:
        return None
    docstring = ast.get_docstring(tree)
    if docstring is None:
        return f"{shown(path)}: no docstring"
    summary = " ".join(docstring.split("\n\n")[0].split())
    if not summary.endswith((".", "!", "?", ":")) or TWO_SENTENCES.search(summary):
        return f"{shown(path)}: not one sentence: {summary}"
    return None


def _text(path: Path) -> str:
    content = path.read_bytes()
    return "" if b"\0" in content[:1024] else content.decode(errors="replace")
