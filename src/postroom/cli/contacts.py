"""`postroom contacts`: the people this household can write to."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from postroom.cli.output import Database, Home, Json, say, say_json
from postroom.cli.people import say_imported
from postroom.cli.people_book import Here
from postroom.domain.person import Person
from postroom.system.settings.load import from_process

contacts_app = typer.Typer(help="The people this household can write to.", no_args_is_help=True)


@contacts_app.command("list")
def list_contacts(home: Home = None, database: Database = None, json: Json = False) -> None:
    """Everybody in the household's book, by name."""
    from postroom.app.contact_list import all_contacts

    settings, _ = from_process({"home": home, "database_url": database})
    found = asyncio.run(all_contacts(settings))
    if json:
        say_json([_document(one) for one in found])
        return
    for one in found:
        say(_line(one))
    if not found:
        say("No contacts yet: `postroom contacts import FILE`, or [[contacts]] in the settings.")


def _document(one: Person) -> dict[str, Any]:
    return {
        "aliases": list(one.aliases),
        "id": one.id,
        "name": one.name,
        "telegram_chat_id": one.address_on("telegram"),
        "email": one.address_on("email"),
        "agent_address": one.agent_address,
        "trusted": one.trusted,
        "source": one.source,
    }


def _line(one: Person) -> str:
    also = f" ({', '.join(one.aliases)})" if one.aliases else ""
    reached = [f"{place.channel} {place.address}" for place in one.addresses]
    return "  ".join([f"{one.name}{also}", ", ".join(reached) or "no address", *(["trusted"] if one.trusted else [])])


@contacts_app.command("import")
def import_contacts_file(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="people.vcf or people.csv")],
    home: Home = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Add the contacts of a vCard or CSV file; doing it twice changes nothing."""
    settings, _ = from_process({"home": home, "database_url": database})
    say_imported(Here(settings).bring(file, quiet=json), json)
