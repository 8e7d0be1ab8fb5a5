"""`postroom people`: everybody this household knows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from postroom.cli.attention_desk import attention_desk
from postroom.cli.output import Database, Home, Json, complain, say, say_json
from postroom.cli.people_book import Document, PeopleBook, one_called, people_book
from postroom.cli.people_words import history_line, person_line, person_lines, plain
from postroom.domain.errors import UserError
from postroom.system.settings import Settings
from postroom.system.settings.load import from_process

people_app = typer.Typer(help="Everybody this household knows: the owner, members and contacts.", no_args_is_help=True)

Who = Annotated[str, typer.Argument(metavar="WHO", help="A name, an alias or an id; `owner` is the owner.")]
Addresses = Annotated[
    list[str] | None, typer.Option("--address", metavar="CHANNEL:ADDRESS", help="The first one is tried first.")
]
Aliases = Annotated[list[str] | None, typer.Option("--alias", help="Another name.")]
Zone = Annotated[str | None, typer.Option("--zone", help="Time zone, such as Europe/Berlin.")]
Language = Annotated[str | None, typer.Option("--language", help="Language tag, such as pt-BR.")]
DefaultButler = Annotated[
    str | None, typer.Option("--default-butler", help="Answers what they write to no butler by name.")
]
Role = Annotated[str | None, typer.Option("--role", help="approver, member or contact.")]
Trusted = Annotated[
    bool | None, typer.Option("--trusted/--no-trusted", help="Messages to this person need no approval.")
]


@people_app.command("list")
def list_people(home: Home = None, database: Database = None, json: Json = False) -> None:
    """Everybody, by name."""
    found = sorted(_book(home, database).everybody(), key=lambda one: one["name"].casefold())
    if json:
        say_json(found)
        return
    for one in found:
        say(person_line(one))


@people_app.command("add")
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As you would say it.")],
    address: Addresses = None,
    alias: Aliases = None,
    zone: Zone = None,
    language: Language = None,
    default_butler: DefaultButler = None,
    trusted: Annotated[bool, typer.Option("--trusted", help="Messages to this person need no approval.")] = False,
    role: Role = None,
    home: Home = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Write a person down."""
    given: Document = {
        "name": name,
        "aliases": alias or [],
        "trusted": trusted,
        "zone": zone,
        "language": language,
        "default_butler": default_butler,
        "addresses": [_address(one) for one in address or ()],
    }
    _print(_book(home, database).add(given | ({"role": role} if role else {})), json)


@people_app.command("show")
def show(who: Who, home: Home = None, database: Database = None, json: Json = False) -> None:
    """Who this is and where they are reached."""
    _print(one_called(_book(home, database), who), json)


@people_app.command("edit")
def edit(
    who: Who,
    name: Annotated[str | None, typer.Option("--name", help="A new name.")] = None,
    address: Addresses = None,
    rank: Annotated[
        int | None, typer.Option("--rank", min=1, max=50, help="Where --address stands in the order; 1 is tried first.")
    ] = None,
    remove_address: Annotated[
        list[str] | None, typer.Option("--remove-address", metavar="CHANNEL:ADDRESS", help="Take this one away.")
    ] = None,
    reopen: Annotated[
        list[str] | None,
        typer.Option("--reopen", metavar="CHANNEL:ADDRESS", help="Write to it again, though mail came back."),
    ] = None,
    alias: Aliases = None,
    remove_alias: Annotated[list[str] | None, typer.Option("--remove-alias", help="Take this name away.")] = None,
    zone: Zone = None,
    language: Language = None,
    default_butler: DefaultButler = None,
    role: Role = None,
    trusted: Trusted = None,
    home: Home = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Change what is named; an empty --zone, --language or --default-butler takes it away."""
    book = _book(home, database)
    person = one_called(book, who)
    plain = {"name": name, "role": role, "trusted": trusted}
    given: Document = {field: value for field, value in plain.items() if value is not None}
    own = {"zone": zone, "language": language, "default_butler": default_butler}
    given |= {field: value or None for field, value in own.items() if value is not None}
    if alias or remove_alias:
        given["aliases"] = _aliases(person, alias or [], remove_alias or [])
    if address or remove_address:
        given["addresses"] = _addresses(person, address or [], remove_address or [], rank)
    elif rank is not None:
        raise UserError("--rank: say which one by --address CHANNEL:ADDRESS.")
    if reopen:
        given["reopen"] = [_address(one, "--reopen") for one in reopen]
    if not given:
        raise UserError("Nothing to change: name it, for example --zone Europe/Berlin.")
    _print(book.change(person["person_id"], given), json)


@people_app.command("remove")
def remove(
    who: Who,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    home: Home = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Forget a person, and what was remembered of them; messages that were sent stay in the record."""
    book = _book(home, database)
    person = one_called(book, who)
    if not yes and not typer.confirm(plain(f"Remove {person['name']}?"), err=True):
        complain("Nothing was removed.")
        raise typer.Exit(1)
    book.remove(person["person_id"])
    if json:
        say_json({"removed": person["person_id"], "name": person["name"]})
    else:
        say(plain(f"{person['name']} was removed."))


@people_app.command("history")
def history(
    who: Who,
    butler: Annotated[str | None, typer.Option("--butler", help="Only what this butler said or was given.")] = None,
    channel: Annotated[str | None, typer.Option("--channel", help="Only what was said there.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="The newest so many.")] = 20,
    home: Home = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Everything said with a person, both ways, newest first."""
    book = _book(home, database)
    person = one_called(book, who)
    found = book.history(person["person_id"], limit, butler=butler or None, channel=channel or None)
    if json:
        say_json(found)
        return
    zone = attention_desk(_settings(home, database), home, database).zone() if found else ""
    for one in found:
        say(history_line(one, person["name"], zone))
    if not found:
        say(plain(f"Nothing was said with {person['name']}."))


@people_app.command("import")
def import_people_file(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="people.vcf or people.csv")],
    home: Home = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Add the people of a vCard or CSV file; doing it twice changes nothing."""
    say_imported(_book(home, database).bring(file, quiet=json), json)


def say_imported(done: Document, as_json: bool) -> None:
    if as_json:
        say_json(done)
        return
    say(f"{done['created']} new, {done['updated']} added to, {len(done['skipped'])} left out.")
    for one in done["skipped"]:
        say(f"  card {one['card']}: {one['reason']}")


def _book(home: str | None, database: str | None) -> PeopleBook:
    return people_book(_settings(home, database), home, database)


def _settings(home: str | None, database: str | None) -> Settings:
    settings, _ = from_process({"home": home, "database_url": database})
    return settings


def _print(person: Document, as_json: bool) -> None:
    if as_json:
        say_json(person)
        return
    for line in person_lines(person):
        say(line)


def _address(text: str, option: str = "--address") -> dict[str, Any]:
    channel, colon, address = text.partition(":")
    if not colon or not channel.strip() or not address.strip():
        raise UserError(f"{option}: write CHANNEL:ADDRESS, such as email:bob@example.org.")
    return {"channel": channel.strip(), "address": address.strip()}


def _addresses(person: Document, more: list[str], gone: list[str], rank: int | None) -> list[dict[str, Any]]:
    """New ones come after those that stay; with a rank, those that are named stand there."""
    kept = [{field: one[field] for field in ("channel", "address", "rank", "label")} for one in person["addresses"]]
    for text in gone:
        wanted = _address(text, "--remove-address")
        left = [one for one in kept if not _is_same(one, wanted)]
        if len(left) == len(kept):
            missing = f"{person['name']} has no {wanted['channel']} {wanted['address']}"
            raise UserError(f"--remove-address: {missing}; `postroom people show` lists them.")
        kept = left
    new = [_address(text) for text in more]
    if rank is not None:
        return _placed(kept, new, rank - 1)
    last = max((one["rank"] for one in kept), default=0)
    return kept + [{**one, "rank": last + place} for place, one in enumerate(new, 1)]


def _placed(kept: list[dict[str, Any]], named: list[dict[str, Any]], place: int) -> list[dict[str, Any]]:
    moved = [next((known for known in kept if _is_same(known, one)), one) for one in named]
    others = [one for one in kept if one not in moved]
    return [{**one, "rank": rank} for rank, one in enumerate([*others[:place], *moved, *others[place:]], 1)]


def _is_same(kept: dict[str, Any], wanted: dict[str, Any]) -> bool:
    from postroom.domain.address_folding import folded

    return kept["channel"] == wanted["channel"] and folded(kept["address"]) == folded(wanted["address"])


def _aliases(person: Document, more: list[str], gone: list[str]) -> list[str]:
    for one in gone:
        if one not in person["aliases"]:
            raise UserError(
                f"--remove-alias: {person['name']} is not called '{one}'; `postroom people show` lists the names."
            )
    return [one for one in person["aliases"] if one not in gone] + more
