"""`postroom pair`: a person proves that an address is theirs."""

from __future__ import annotations

from typing import Annotated

import typer

from postroom.cli.output import Database, Home, Json, say, say_json
from postroom.cli.people import Who
from postroom.cli.people_book import one_called, people_book
from postroom.cli.people_words import pairing_lines
from postroom.system.settings.load import from_process

Channel = Annotated[str, typer.Option("--channel", metavar="NAME", help="Where the address is to be proved.")]


def pair(who: Who, channel: Channel, home: Home = None, database: Database = None, json: Json = False) -> None:
    """Show a code that a person sends to the bot, once, to prove an account of theirs; by e-mail, send a link."""
    settings, _ = from_process({"home": home, "database_url": database})
    book = people_book(settings, home, database)
    person = one_called(book, who)
    started = book.pair(person["person_id"], channel)
    if json:
        say_json({"person_id": person["person_id"], "name": person["name"], "channel": channel, **started})
        return
    for line in pairing_lines(person["name"], channel, started):
        say(line)
