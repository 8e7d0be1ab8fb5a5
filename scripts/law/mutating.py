"""Runs the tests of each mutant in a copy of its process (`-p scripts.law.mutating`, LAW_MUTANTS set)."""

from __future__ import annotations

import ast
import gc
import importlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType

import pytest
from _pytest.runner import runtestprotocol
from scripts.law.mutants import sites
from scripts.law.points import ROOT

LONGEST_SECONDS = 30  # then it runs for ever, which someone would have noticed
SERVICES = {"postgres_server_url", "redis_server_url", "browser"}
TOO_LONG = "it does not end"


def pytest_runtestloop(session: pytest.Session) -> bool:
    work = json.loads(Path(os.environ["LAW_MUTANTS"]).read_text())
    tests: dict[str, list[pytest.Item]] = {}
    for item in session.items:
        quick = not SERVICES & set(getattr(item, "fixturenames", ())) and "postgres" not in item.name
        tests.setdefault(item.nodeid.partition("[")[0], []).extend([item] if quick else [])
    importlib.import_module(work["path"].removeprefix("src/").removesuffix(".py").replace("/", "."))
    session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined] # one for all copies
    asked = dict.fromkeys(test for task in work["tasks"] for test in (*task["first"], *task["then"]))
    useless = {test for test in asked if _first_failure([test], tests, None) is not None}
    killers = []
    for task in work["tasks"]:
        able = [test for test in (*task["first"], *task["then"]) if test not in useless]
        killers.append(_first_failure(able, tests, (work["path"], task["site"])) if able else None)
    Path(work["result"]).write_text(json.dumps(killers))
    return True


def _first_failure(
    asked: Sequence[str], tests: dict[str, list[pytest.Item]], mutant: tuple[str, int] | None
) -> str | None:
    """In a copy of this process, which ends with it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            if mutant:
                make(*mutant)
            failed = next((test for test in asked if _fails(tests.get(test, []))), "")
            os.write(writing, failed.encode())
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(0)
    os.close(writing)
    ended = _ended(child)
    with os.fdopen(reading) as answer:
        failed = answer.read()
    if not ended:
        return TOO_LONG
    return failed or None


def _ended(child: int) -> bool:
    until = time.monotonic() + LONGEST_SECONDS
    while time.monotonic() < until:
        if os.waitpid(child, os.WNOHANG)[0]:
            return True
        time.sleep(0.01)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def _fails(items: Sequence[pytest.Item]) -> bool:
    for item, following in zip(items, [*items[1:], None], strict=True):
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
            return True
    return False


def make(path: str, site: int) -> None:
    """Put the code of a function with one mistake in it into the function that is there."""
    file = str(ROOT / path)
    tree = ast.parse(Path(file).read_text())
    chosen = list(sites(tree))[site]
    chosen.change()
    changed = _codes(compile(ast.fix_missing_locations(tree), file, "exec"))
    name, code = next((code.co_qualname, code) for code in changed if code.co_firstlineno == chosen.function)
    gc.unfreeze()  # what is frozen is not listed
    for function in gc.get_objects():
        if isinstance(function, FunctionType):
            now = function.__code__
            if (now.co_filename, now.co_qualname, now.co_firstlineno) == (file, name, chosen.function):
                function.__code__ = code


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)
