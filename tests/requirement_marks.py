"""A pytest plugin that holds `@pytest.mark.requirement(id, …)` against the manifest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests import requirements

_WORKER_KEY = "covered_requirements"
_covered_key: pytest.StashKey[set[str]] = pytest.StashKey()
_narrowed_key: pytest.StashKey[bool] = pytest.StashKey()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "requirement(*ids): the requirements, by id, that this test shows to hold")
    config.stash[_covered_key] = set()
    config.stash[_narrowed_key] = _is_narrowed(config)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    covered = {name for item in items for name in _named(item)}
    config.stash[_covered_key] |= covered
    worker_output = getattr(config, "workeroutput", None)
    if worker_output is not None:
        worker_output[_WORKER_KEY] = sorted(covered)


def pytest_deselected(items: list[pytest.Item]) -> None:
    for item in items[:1]:
        item.config.stash[_narrowed_key] = True


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """In the process that xdist runs under: what one worker has collected."""
    node.config.stash[_covered_key].update(getattr(node, "workeroutput", {}).get(_WORKER_KEY, ()))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    problem = complaint(item.iter_markers("requirement"))
    if problem:
        pytest.fail(problem, pytrace=False)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if requirements.ENFORCE_COMPLETE and session.exitstatus == pytest.ExitCode.OK and _untested(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    untested = _untested(config)
    if not untested:
        return
    terminalreporter.section(f"{len(untested)} of {len(requirements.IDS)} requirements have no test")
    for prefix, slugs in _grouped(untested).items():
        terminalreporter.write_line(f"{prefix}: {' '.join(slugs)}")


def complaint(markers: Iterable[pytest.Mark]) -> str | None:
    """What is wrong with a test's requirement marks, in one sentence."""
    for mark in markers:
        if not mark.args:
            return "this test's requirement mark names no id"
        unknown = [str(name) for name in mark.args if name not in requirements.IDS]
        if unknown:
            return f"tests/requirements.py has no requirement {', '.join(unknown)}"
    return None


def _named(item: pytest.Item) -> Iterable[str]:
    return (name for mark in item.iter_markers("requirement") for name in mark.args if name in requirements.IDS)


def _untested(config: pytest.Config) -> list[str]:
    """Only a full run can tell what has no test."""
    if hasattr(config, "workerinput") or config.stash[_narrowed_key]:
        return []
    return [entry.id for entry in requirements.REQUIREMENTS if entry.id not in config.stash[_covered_key]]


def _is_narrowed(config: pytest.Config) -> bool:
    whole_suite = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    options = (config.option.keyword, config.option.markexpr, config.option.collectonly, config.getoption("lf", False))
    return not whole_suite or any(options)


def _grouped(ids: Iterable[str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name in ids:
        prefix, _, slug = name.partition(":")
        groups.setdefault(prefix, []).append(slug)
    return groups
