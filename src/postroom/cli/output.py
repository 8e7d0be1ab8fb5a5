"""What a command prints: text for people, JSON for scripts."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
Home = Annotated[str | None, typer.Option("--home", help="Data directory (POSTROOM_HOME).")]
Database = Annotated[
    str | None, typer.Option("--database", help="sqlite:///FILE or postgresql://… (POSTROOM_DATABASE_URL).")
]


def say(text: str) -> None:
    typer.echo(text)


def say_json(value: Any) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))
