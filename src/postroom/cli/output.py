"""What a command prints: text for people, JSON for scripts."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from postroom.domain.strict_json import strict_json

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
Home = Annotated[str | None, typer.Option("--home", help="Data directory (POSTROOM_HOME).")]
Database = Annotated[
    str | None, typer.Option("--database", help="sqlite:///FILE or postgresql://… (POSTROOM_DATABASE_URL).")
]

Redis = Annotated[
    str | None, typer.Option("--redis", help="redis://…, for limits that several processes share (POSTROOM_REDIS_URL).")
]
Roster = Annotated[str | None, typer.Option("--roster", help="Folder of butlers (POSTROOM_ROSTER).")]


def say(text: str) -> None:
    typer.echo(text)


def complain(text: str) -> None:
    """Why it did not work: beside the output, where a script's pipe does not swallow it."""
    typer.echo(text, err=True)


def say_json(value: Any) -> None:
    typer.echo(strict_json(value, ensure_ascii=False, indent=2))
