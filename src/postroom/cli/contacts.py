"""`postroom contacts`: the people this household can write to."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from postroom.cli.output import Database, Home, Json, say, say_json
from postroom.cli.progress import bar
from postroom.settings.load import from_process

app = typer.Typer(help="The people this household can write to.", no_args_is_help=True)


@app.callback()
def contacts() -> None:
    """Keeps `import` a command of its own while it is the only one."""


@app.command("import")
def import_file(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="people.vcf or people.csv")],
    home: Home = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Add the contacts of a vCard or CSV file; doing it twice changes nothing."""
    from postroom.app.contact_import import import_contacts

    settings, _ = from_process({"home": home, "database_url": database})
    with bar(f"Reading {file.name}") as show:
        done = asyncio.run(import_contacts(settings, file, show))
    if json:
        skipped = [{"card": card, "reason": reason} for card, reason in done.skipped]
        say_json({"created": done.created, "updated": done.updated, "skipped": skipped})
        return
    say(f"{done.created} new, {done.updated} added to, {len(done.skipped)} left out.")
    for card, reason in done.skipped:
        say(f"  card {card}: {reason}")
