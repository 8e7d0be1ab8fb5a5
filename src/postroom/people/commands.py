"""`postroom people`, `pair`, `contacts` and `owner`: who the household knows and where they are reached."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from postroom.attention.commands import reader_zone
from postroom.kernel.running.clock import SystemClock
from postroom.kernel.running.terminal import Database, Home, Json, Roster, complain, say, say_json
from postroom.kernel.values.errors import SettingsError, UserError
from postroom.people.model import Person
from postroom.settings import Settings
from postroom.settings.load import from_process

if TYPE_CHECKING:
    from postroom.people.bot_senders import Sender
from postroom.people.command_book import (
    Document,
    Here,
    PeopleBook,
    history_line,
    one_called,
    pairing_lines,
    people_book,
    person_line,
    person_lines,
    plain,
)

contacts_app = typer.Typer(help="The people this household can write to.", no_args_is_help=True)
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
Channel = Annotated[str, typer.Option("--channel", metavar="NAME", help="Where the address is to be proved.")]
Telegram = Annotated[
    bool, typer.Option("--telegram", help="Wait for a message to the bot, and make its sender the owner.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Take the sender without asking, if there is only one.")]
Wait = Annotated[float, typer.Option("--wait", min=0.1, max=3600, help="Seconds to wait for a message.")]
_VARIABLE = "POSTROOM_OWNER__TELEGRAM_CHAT_ID"


# `postroom people`: everybody this household knows.


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


def _aliases(person: Document, more: list[str], gone: list[str]) -> list[str]:
    for one in gone:
        if one not in person["aliases"]:
            raise UserError(
                f"--remove-alias: {person['name']} is not called '{one}'; `postroom people show` lists the names."
            )
    return [one for one in person["aliases"] if one not in gone] + more


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
    from postroom.message.delivery import folded

    return kept["channel"] == wanted["channel"] and folded(kept["address"]) == folded(wanted["address"])


def _address(text: str, option: str = "--address") -> dict[str, Any]:
    channel, colon, address = text.partition(":")
    if not colon or not channel.strip() or not address.strip():
        raise UserError(f"{option}: write CHANNEL:ADDRESS, such as email:bob@example.org.")
    return {"channel": channel.strip(), "address": address.strip()}


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
    zone = reader_zone(_settings(home, database), home, database) if found else ""
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
    _say_imported(_book(home, database).bring(file, quiet=json), json)


def _say_imported(done: Document, as_json: bool) -> None:
    if as_json:
        say_json(done)
        return
    say(f"{done['created']} new, {done['updated']} added to, {len(done['skipped'])} left out.")
    for one in done["skipped"]:
        say(f"  card {one['card']}: {one['reason']}")


def _print(person: Document, as_json: bool) -> None:
    if as_json:
        say_json(person)
        return
    for line in person_lines(person):
        say(line)


def _book(home: str | None, database: str | None) -> PeopleBook:
    return people_book(_settings(home, database), home, database)


def _settings(home: str | None, database: str | None) -> Settings:
    settings, _ = from_process({"home": home, "database_url": database})
    return settings


# `postroom pair`: a person proves that an address is theirs.


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


# `postroom contacts`: the people this household can write to.


@contacts_app.command("list")
def list_contacts(home: Home = None, database: Database = None, json: Json = False) -> None:
    """Everybody in the household's book, by name."""
    from postroom.household.people import all_contacts

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
    _say_imported(Here(settings).bring(file, quiet=json), json)


# `postroom owner`: where the household's owner is reached.


def owner(
    telegram: Telegram = False,
    yes: Yes = False,
    wait_seconds: Wait = 120.0,
    home: Home = None,
    roster: Roster = None,
    json: Json = False,
) -> None:
    """Show where the owner is reached, or find the owner's Telegram chat and write it into the settings."""
    settings, sources = from_process({"home": home, "roster": roster})
    if not telegram:
        _show(settings, json)
        return
    sender = asyncio.run(_found(settings, yes, wait_seconds, json))
    file = _remember(settings, sender.chat_id)
    if json:
        say_json({"telegram_chat_id": sender.chat_id, "name": sender.name, "file": str(file) if file else None})
    elif file:
        say(f"{sender} is the owner now, by {file}.")
    if sources.get("owner.telegram_chat_id") == _VARIABLE and settings.owner.telegram_chat_id != sender.chat_id:
        complain(f"{_VARIABLE} is set to another chat and wins over the file: unset it.")


def _show(settings: Settings, json: bool) -> None:
    if json:
        say_json(settings.owner.model_dump())
        return
    known = (("telegram", settings.owner.telegram_chat_id), ("email", settings.owner.email))
    further = (one.replace(":", " ", 1) for one in settings.owner.addresses)
    reached = ", ".join([*(f"{channel} {address}" for channel, address in known if address), *further])
    say(
        f"{settings.owner.name or 'The owner'}: {reached or 'no address yet; `postroom owner --telegram` finds a chat'}"
    )


async def _found(settings: Settings, yes: bool, wait_seconds: float, as_json: bool) -> Sender:
    from postroom.butlers.loading import with_credentials
    from postroom.channels.telegram.channel import Telegram
    from postroom.household.channels import build_channels
    from postroom.people.bot_senders import new_senders, refuse_while_running
    from postroom.settings.roster import load_roster

    roster = load_roster(settings, os.environ)
    settings = with_credentials(settings, roster, os.environ)
    bot = None if settings.in_sandbox else build_channels(settings, None).get("telegram")
    if not isinstance(bot, Telegram):
        raise SettingsError("There is no bot: set BUTLER_TELEGRAM_TOKEN, as @BotFather gave it.")
    await refuse_while_running(settings, roster)
    try:
        complain(f"Write any message to your bot now; waiting {wait_seconds:.0f} s …")
        async for found in new_senders(bot, SystemClock(), wait_seconds):
            if (chosen := _chosen(found, yes, as_json)) is not None:
                return chosen
    finally:
        await bot.close()
    raise SettingsError(
        f"No owner wrote to the bot within {wait_seconds:.0f} s; write to it and try again, with a longer --wait."
    )


def _chosen(found: list[Sender], yes: bool, as_json: bool) -> Sender | None:
    if yes and len(found) > 1:
        raise SettingsError(
            f"Several people wrote to the bot, so --yes does not choose: {', '.join(map(str, found))}. Leave it out."
        )
    return next((one for one in found if yes or _is_owner(one, as_json)), None)


def _is_owner(one: Sender, as_json: bool) -> bool:
    return typer.confirm(f"{one} wrote to the bot. Is that the owner?", err=as_json)


def _remember(settings: Settings, chat_id: str) -> Path | None:
    """In the household's own file; into one that is kept elsewhere, or cannot be changed safely, a person writes."""
    from postroom.settings.load import owner_line, with_owner_chat

    file = (settings.home / "postroom.toml").resolve()
    before = file.read_bytes().decode() if file.exists() else ""
    after = None if os.environ.get("POSTROOM_CONFIG") else with_owner_chat(before, chat_id)
    if after is None:
        complain("Your settings file is not changed by this command. Write there:")
        say(f"[owner]\n{owner_line(chat_id)}")
        return None
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    beside = file.with_name(f".{file.name}.new")
    beside.write_bytes(after.encode())
    if file.exists():
        shutil.copymode(file, beside)
    beside.replace(file)
    return file
