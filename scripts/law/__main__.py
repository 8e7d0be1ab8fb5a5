"""collect, candidates, baseline and check: `python -m scripts.law --help`."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from scripts.law import mutants
from scripts.law.choosing import as_json, by_folder, chosen, missed, summary, text_of
from scripts.law.points import ROOT, Store, digest, numbers, united

FIGURES = ROOT / "tests" / "law.json"
DATA = Path(os.environ.get("LAW_DATA", ROOT / "build" / "law" / "data.sqlite"))
# What they look at is not our source: documents, packages, other people's programs.
NOT_RUN = {"architecture", "benchmarks", "clients", "docs", "examples", "packaging", "services"}


def main() -> int:
    arguments = _arguments()
    store = Store(DATA)
    if not store.begun:
        store.begin()
    match arguments.command:
        case "collect":
            return collect(store, arguments.tests, arguments.workers, afresh=arguments.afresh)
        case "candidates":
            return candidates(store, arguments.out)
        case "mutants":
            return rate_rules(store, arguments.rules, write=True)
        case "baseline":
            return write_baseline(store)
        case _:
            return check(store, arguments.tests, arguments.workers, with_mutants=not arguments.no_mutants)


def collect(store: Store, tests: Sequence[str], workers: int, *, afresh: bool = False) -> int:
    """One folder after the other, so that what is done is kept when it is stopped."""
    if afresh:
        store.begin()
    behind = _behind(store)
    worst = 0
    for folder, every in _folders(tests).items():
        files = [path for path in every if tests or path in behind]
        if not files:
            continue
        code = _run(store, files, workers)
        sys.stdout.write(f"{folder}: {len(files)} files{'' if code == 0 else ', and some failed'}\n")
        worst = max(worst, code)
    return worst


def _run(store: Store, files: Sequence[str], workers: int) -> int:
    before = {path: digest(ROOT / path) for path in files}
    store.forget(files)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "scripts.law.recording", "-o", "timeout=300", "--tb=line"]
    command += ["-n", str(workers), "--dist", "worksteal"] if workers > 1 else []
    log = DATA.parent / "last-run.log"
    with log.open("w") as output:
        code = subprocess.run(  # noqa: S603 - our own interpreter
            [*command, *files], cwd=ROOT, env={**os.environ, "LAW_DATA": str(DATA)}, stdout=output, stderr=output
        ).returncode
    if code:
        lines = log.read_text().splitlines()
        sys.stdout.write("".join(f"  {line}\n" for line in lines if line.startswith(("FAILED", "ERROR", "="))))
    if code in (0, 1):  # otherwise it was stopped, and begins again the next time
        store.ran(before)
    return code


def candidates(store: Store, out: Path) -> int:
    choice = chosen(store.seen(), store.points(), _needed(store))
    out.mkdir(parents=True, exist_ok=True)
    may_go, unseen = by_folder(choice.may_go), by_folder(choice.unseen)
    for folder in sorted({*may_go, *unseen}):
        here = (may_go.get(folder, []), unseen.get(folder, []))
        (out / f"{folder}.txt").write_text(text_of(*here))
        (out / f"{folder}.json").write_text(json.dumps(as_json(*here), indent=1) + "\n")
        eye = sum(one.lines for one in here[1])
        sys.stdout.write(f"{folder}: {summary(here[0])}; {eye} lines by eye\n")
    sys.stdout.write(f"total: {summary(choice.may_go)}; {choice.stay} functions stay\n")
    return 0


def rate_rules(store: Store, rules: Iterable[str], *, write: bool) -> int:
    """Count the mistakes in pure rules that some test notices."""
    choice = chosen(store.seen(), store.points(), _needed(store))
    going = {f"{one.file}::{one.function}" for one in choice.may_go}
    rated = mutants.rated(store, DATA.parent, list(rules) or mutants.rule_files(), going)
    needed = set(_needed(store)) | {test for one in rated.values() for test in one.needed}
    store.keep("needed", sorted(needed))
    for path, one in rated.items():
        sys.stdout.write(f"{path}: {one.killed} of {one.made} mutants killed\n")
    if write:
        figures = _figures()
        figures["mutants"] = dict(
            sorted({**figures.get("mutants", {}), **{path: one.figures() for path, one in rated.items()}}.items())
        )
        _write(figures)
        return 0
    return _compare_mutants({path: one.figures() for path, one in rated.items()})


def write_baseline(store: Store) -> int:
    covered = united(one.points for one in store.seen().values())
    store.keep("covered", hex(covered))
    _write({**_figures(), "slices": missed(store.points(), store.present(), covered)})
    return 0


def check(store: Store, tests: Sequence[str], workers: int, *, with_mutants: bool) -> int:
    """Run what was changed since it was collected, and compare what is missed with the stored figures."""
    gone = [path for path in store.files() if not (ROOT / path).exists()]
    asked = {path for files in _folders(tests).values() for path in files}
    changed = sorted(_behind(store) & asked)
    before = {path for path in mutants.rule_files() if mutants.touching(store, path) & {*gone, *changed}}
    store.forget(gone)
    code = _run(store, changed, workers) if changed else 0
    worse = _compare_coverage(store)
    if with_mutants and before:
        worse |= rate_rules(store, sorted(before), write=False)
    return code or worse


def _behind(store: Store) -> set[str]:
    """The test files that were changed, or never run, since the data was begun."""
    known = store.files()
    return {path for files in _folders(()).values() for path in files if known.get(path) != digest(ROOT / path)}


def _compare_coverage(store: Store) -> int:
    points = store.points()
    covered = united(one.points for one in store.seen().values())
    was = store.kept("covered")
    before = missed(points, store.present(), int(was, 16)) if isinstance(was, str) else {}
    stored, now = _figures().get("slices", before), missed(points, store.present(), covered)
    worse = 0
    for name, figures in now.items():
        for kind in ("lines_missed", "branches_missed"):
            allowed = stored.get(name, {}).get(kind, 0)
            if figures[kind] > allowed:
                worse = 1
                sys.stdout.write(f"{name}: {figures[kind]} {kind.replace('_', ' ')}, {allowed} before\n")
    if worse and isinstance(was, str):
        lost = [str(points[number]) for number in numbers(int(was, 16) & ~covered & store.present())]
        sys.stdout.write("No test touches any more:\n" + "".join(f"  {place}\n" for place in lost))
    total = now["total"]
    sys.stdout.write(
        f"{total['lines'] - total['lines_missed']} of {total['lines']} lines and "
        f"{total['branches'] - total['branches_missed']} of {total['branches']} branches are touched\n"
    )
    return worse


def _compare_mutants(now: dict[str, dict[str, int]]) -> int:
    worse = 0
    for path, figures in now.items():
        stored = _figures().get("mutants", {}).get(path)
        if stored and figures["made"] - figures["killed"] > stored["made"] - stored["killed"]:
            worse = 1
            sys.stdout.write(
                f"{path}: {figures['killed']} of {figures['made']} mutants killed, {stored['killed']} before\n"
            )
    return worse


def _folders(tests: Iterable[str]) -> dict[str, list[str]]:
    """The test files below the places named, or everywhere, by their folder in tests/."""
    found: dict[str, list[str]] = {}
    for name in tests or [
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "tests").iterdir())
        if path.is_dir() and path.name not in NOT_RUN
    ]:
        place = ROOT / name
        for path in [place] if place.is_file() else sorted(place.rglob("test_*.py")):
            file = path.relative_to(ROOT)
            found.setdefault(file.parts[1], []).append(file.as_posix())
    return found


def _needed(store: Store) -> list[str]:
    needed = store.kept("needed")
    return needed if isinstance(needed, list) else []


def _figures() -> dict[str, dict[str, dict[str, int]]]:
    figures: dict[str, dict[str, dict[str, int]]] = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    return figures


def _write(figures: dict[str, dict[str, dict[str, int]]]) -> None:
    FIGURES.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m scripts.law", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    some = commands.add_parser("collect", help="run tests and write down what each touches")
    some.add_argument("tests", nargs="*", help="tests/inbox …; if none is named, what was changed or never run")
    some.add_argument("--afresh", action="store_true", help="forget what was collected before")
    some.add_argument("--workers", type=int, default=2)
    which = commands.add_parser("candidates", help="list the tests that may go, one file for each folder")
    which.add_argument("--out", type=Path, default=DATA.parent / "candidates")
    rules = commands.add_parser(
        "mutants", help="count the mistakes in pure rules that tests notice, and store the counts"
    )
    rules.add_argument("rules", nargs="*", help="src/postroom/inbox/rules.py …; all, if none is named")
    commands.add_parser("baseline", help="store what is covered now in tests/law.json")
    held = commands.add_parser(
        "check", help="run the tests that changed; fail where less is covered or noticed than stored"
    )
    held.add_argument("tests", nargs="*", help="tests/inbox …; if none is named, all that was changed or never run")
    held.add_argument("--no-mutants", action="store_true")
    held.add_argument("--workers", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
