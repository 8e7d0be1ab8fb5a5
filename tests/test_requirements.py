"""The manifest is sound, and the suite really holds tests against it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.requirements import REQUIREMENTS, Requirement

ROOT = Path(__file__).parents[1]
PREFIXES = {
    "notify-contract.md": "notify",
    "messenger-role.md": "messenger",
    "send-notification-tool.md": "inbox",
    "popup-notify-tool.md": "popup",
    "intent-normalization.md": "intent",
    "decisions": "house",
    "decisions, Ask": "ask",
    "decisions, Mail": "mail",
    "decisions, Channels": "chan",
    "decisions, Content": "content",
    "decisions, Connect": "connect",
    "the person's side": "side",
    "decisions, Attention": "attention",
    "decisions, Connect: drivers": "drivers",
    "decisions, Conversations": "talk",
}


def test_every_id_is_given_once() -> None:
    repeated = [name for name, count in Counter(entry.id for entry in REQUIREMENTS).items() if count > 1]

    assert repeated == []


def test_every_specification_is_listed() -> None:
    assert {entry.spec for entry in REQUIREMENTS} == set(PREFIXES)


@pytest.mark.parametrize("entry", REQUIREMENTS, ids=lambda entry: entry.id)
def test_an_entry_has_a_readable_id_and_one_sentence(entry: Requirement) -> None:
    assert re.fullmatch(rf"{PREFIXES[entry.spec]}:[a-z0-9]+(-[a-z0-9]+)*", entry.id)
    assert entry.requirement.strip()
    assert entry.scenario.endswith((".", '."', '".'))


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A small project of its own that uses our plugin."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # the others take longer to load than these runs
    pytester.makeini("[pytest]\ntestpaths = checks\n")
    pytester.mkdir("checks")
    return pytester


def write_test(suite: pytest.Pytester, *marks: str) -> None:
    lines = ["import pytest", *marks, "def test_it():", "    pass", "def test_other():", "    pass"]
    (suite.path / "checks" / "test_it.py").write_text("\n".join(lines) + "\n")


def run(suite: pytest.Pytester, *arguments: str, enforce: bool = False) -> pytest.RunResult:
    (suite.path / "switch.py").write_text(
        f"from tests import requirements\nrequirements.ENFORCE_COMPLETE = {enforce}\n"
    )
    return suite.runpytest_subprocess("-p", "switch", "-p", "tests.requirement_marks", *arguments)


both_ways = pytest.mark.parametrize("workers", [[], ["-p", "xdist", "-n", "2"]], ids=["alone", "xdist"])


def test_a_test_that_names_an_unknown_requirement_fails(suite: pytest.Pytester) -> None:
    write_test(suite, "@pytest.mark.requirement('messenger:key-derivation', 'messenger:no-such-thing')")

    result = run(suite)

    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*has no requirement messenger:no-such-thing*"])


def test_a_mark_without_an_id_fails(suite: pytest.Pytester) -> None:
    write_test(suite, "@pytest.mark.requirement()")

    result = run(suite)

    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*names no id*"])


@both_ways
def test_a_full_run_lists_what_has_no_test(suite: pytest.Pytester, workers: list[str]) -> None:
    write_test(suite, "@pytest.mark.requirement('messenger:key-derivation')")

    result = run(suite, *workers)

    assert result.ret == pytest.ExitCode.OK
    untested = len(REQUIREMENTS) - 1
    result.stdout.fnmatch_lines([f"*{untested} of {len(REQUIREMENTS)} requirements have no test*"])
    messenger = next(line for line in result.outlines if line.startswith("messenger: "))
    assert "duplicate-detection" in messenger.split()
    assert "key-derivation" not in messenger.split()


def test_when_completeness_is_enforced_a_gap_fails_the_run(suite: pytest.Pytester) -> None:
    write_test(suite, "@pytest.mark.requirement('messenger:key-derivation')")

    assert run(suite, enforce=True).ret == pytest.ExitCode.TESTS_FAILED


@both_ways
def test_when_every_requirement_has_a_test_nothing_is_said(suite: pytest.Pytester, workers: list[str]) -> None:
    every_id = ", ".join(repr(entry.id) for entry in REQUIREMENTS)
    write_test(suite, f"@pytest.mark.requirement({every_id})")

    result = run(suite, *workers, enforce=True)

    assert result.ret == pytest.ExitCode.OK
    result.stdout.no_fnmatch_line("*have no test*")


@pytest.mark.parametrize("narrowing", [["checks/test_it.py"], ["-k", "test_other"]], ids=["path", "keyword"])
def test_a_part_of_the_suite_is_not_blamed_for_the_rest(suite: pytest.Pytester, narrowing: list[str]) -> None:
    write_test(suite)

    result = run(suite, *narrowing, enforce=True)

    assert result.ret == pytest.ExitCode.OK
    result.stdout.no_fnmatch_line("*have no test*")
