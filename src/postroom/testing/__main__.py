"""`python -m postroom.testing module:CASE` runs the suite and prints a report in Markdown."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from postroom.testing.case import Case

if TYPE_CHECKING:
    from postroom.testing.run import CheckResult


def main(arguments: Sequence[str] | None = None) -> int:
    """0: everything holds; 1: something does not; 2: there is no such case."""
    given = _parser().parse_args(arguments)
    try:
        from postroom.testing.run import checks, report, run
    except ImportError as error:
        return _wrong(f"{error.name} is missing: pip install 'postroom[testing]'")
    try:
        case = _case(given.case)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        return _wrong(f"{given.case}: {error}")
    every = [check for check in checks(case) if check.id.startswith(given.only)]
    results = run(case, every, _progress)
    sys.stdout.write(report(case.name, results))
    return int(not results or any(one.failed for one in results))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m postroom.testing", description="Prove what a channel does.")
    parser.add_argument("case", help="module:NAME of a postroom.testing.Case; the module must be importable")
    parser.add_argument("--only", default="", metavar="ID", help="only checks whose id begins with this")
    return parser


def _case(name: str) -> Case:
    module, _, attribute = name.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")
    case = getattr(importlib.import_module(module), attribute or "CASE")
    if not isinstance(case, Case):
        raise TypeError("it is no postroom.testing.Case")
    return case


def _progress(result: CheckResult) -> None:
    from postroom.testing.run import mark

    sys.stderr.write(f"{result.check.id}: {mark(result).strip('*')}\n")


def _wrong(sentence: str) -> int:
    sys.stderr.write(f"{sentence}\n")
    return 2


if __name__ == "__main__":
    sys.exit(main())
