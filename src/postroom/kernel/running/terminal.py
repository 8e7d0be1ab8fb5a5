"""What commands share: their options, what they print, how they fail, and how far long work has come."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Annotated, Any, Final

import typer

from postroom.kernel.values.errors import Mistyped, UserError
from postroom.kernel.values.fields import did_you_mean, strict_json

# What a command prints: text for people, JSON for scripts.

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
Home = Annotated[str | None, typer.Option("--home", help="Data directory (POSTROOM_HOME).")]
Database = Annotated[
    str | None, typer.Option("--database", help="sqlite:///FILE or postgresql://… (POSTROOM_DATABASE_URL).")
]

Redis = Annotated[
    str | None, typer.Option("--redis", help="redis://…, for limits that several processes share (POSTROOM_REDIS_URL).")
]
Roster = Annotated[str | None, typer.Option("--roster", help="Folder of butlers (POSTROOM_ROSTER).")]


def typed_name() -> str:
    """How the reader calls this program: by its name where the shell finds it, else by the way to it."""
    started = sys.argv[0]
    return started if Path(started).name == "postroom" and shutil.which("postroom") is None else "postroom"


def as_called(text: str) -> str:
    """The commands that a sentence names, to be typed as they stand."""
    return text.replace("`postroom ", f"`{typed_name()} ")


def say(text: str) -> None:
    typer.echo(text)


def complain(text: str) -> None:
    """Why it did not work: beside the output, where a script's pipe does not swallow it."""
    typer.echo(as_called(text), err=True)


def say_json(value: Any) -> None:
    typer.echo(strict_json(value, ensure_ascii=False, indent=2))


# Lengths of time as people type them: 90s, 15m, 1h, 2d, 1h30m, or a number of seconds.

_UNITS: Final = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)([dhms])", re.ASCII)
_WHOLE: Final = re.compile(rf"(?:{_PART.pattern})+|\d+(?:\.\d+)?", re.ASCII)
_LONGEST_DIGITS: Final = 20


def seconds_of(text: str, option: str) -> float:
    typed = text.strip().lower()
    if not _WHOLE.fullmatch(typed) or len(typed) > _LONGEST_DIGITS:
        raise Mistyped(f"{option}: '{text}' is no length of time; write it like 90s, 15m, 1h or 2d.")
    parts = _PART.findall(typed)
    return sum(float(number) * _UNITS[unit] for number, unit in parts) if parts else float(typed)


def hold_to(shape: Mapping[str, Any], given: Any, flag: str) -> None:
    """What the schema tells of an argument that only the household judges is said where it was mistyped."""
    if wrong := unknown_word(flag, given, shape.get("enum", (given,))):
        raise Mistyped(wrong)
    if isinstance(given, str) and len(given) > shape.get("maxLength", len(given)):
        raise Mistyped(f"{flag}: must have at most {shape['maxLength']:,} characters.")
    if isinstance(given, int | float) and given > shape.get("maximum", given):
        raise Mistyped(f"{flag}: must be at most {shape['maximum']:,}.")
    if isinstance(given, int | float) and given < shape.get("minimum", given):
        raise Mistyped(f"{flag}: must be at least {shape['minimum']:,}.")


def unknown_word(option: str, word: Any, known: Iterable[Any]) -> str | None:
    """Said here and not only at the household, which has no idea what was mistyped."""
    if word in (names := list(known)):
        return None
    return f"{option}: there is no '{word}'{did_you_mean(str(word), names)} There are {', '.join(sorted(names))}."


# The household that a command needs is not there.


class NotRunning(UserError):
    code = "not_running"

    def __init__(self, told: str) -> None:
        super().__init__(f"{told}: is the household running? `postroom up` starts it.")


# How far work has come that takes a while: a bar on a terminal, now and then a line elsewhere; none for programs.

_EVERY_SECONDS: Final = 5.0


ShowDone = Callable[[int, int | None], None]
"""Called with how much is done, and of how much; None of what is not known."""


@contextmanager
def bar(title: str, *, quiet: bool = False) -> Iterator[ShowDone]:
    """`quiet` is for `--json`. Work of which nothing is said shows that it goes on."""
    if quiet:
        yield _nothing
    elif sys.stderr.isatty():
        with _on_terminal(title) as show:
            yield show
    else:
        with lines(title, _write) as show:
            yield show


@contextmanager
def lines(title: str, write: Callable[[str], None], every_seconds: float = _EVERY_SECONDS) -> Iterator[ShowDone]:
    """Nothing is written of what is over before the first line is due."""
    now: list[tuple[int, int | None]] = [(0, None)]
    over = Event()

    def show(done: int, total: int | None, /) -> None:
        now[0] = (done, total)

    def tell() -> None:
        rounds = 0
        while not over.wait(every_seconds):
            rounds += 1
            write(_line(title, *now[0], round(rounds * every_seconds)))

    teller = Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield show
    finally:
        over.set()
        teller.join()


@contextmanager
def _on_terminal(title: str) -> Iterator[ShowDone]:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=None)

        def show(done: int, total: int | None, /) -> None:
            progress.update(task, completed=done, total=total)

        yield show


def _line(title: str, done: int, total: int | None, elapsed_seconds: int) -> str:
    if total is not None:
        return f"{title}: {done:,} of {total:,}, {elapsed_seconds} s"
    return f"{title}: {f'{done:,} so far' if done else 'still at it'}, {elapsed_seconds} s"


def _write(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def _nothing(_done: int, _total: int | None, /) -> None:
    """Programs look at the answer."""
