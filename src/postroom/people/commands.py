"""`postroom people`, `contacts` and `pair`: who the household knows and where they are reached."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from postroom.attention.commands import reader_zone
from postroom.cli.application import noted
from postroom.conversations.model import LineKind
from postroom.kernel.acts.commands import Perform, Telling, add_command, read_typed, with_options_of
from postroom.kernel.acts.declaration import Act
from postroom.kernel.acts.reading import made, read
from postroom.kernel.audit import Noted
from postroom.kernel.running.clock import SystemClock
from postroom.kernel.running.terminal import Database, Home, Json, bar, complain, say, say_json
from postroom.kernel.values.errors import Code, Mistyped, Refused, UserError
from postroom.kernel.values.ids import parse_text
from postroom.kernel.values.principal import OWNER
from postroom.kernel.values.zones import relative, said_moment
from postroom.message.outgoing import known_as
from postroom.people.acts import (
    EDIT,
    HISTORY,
    MOST_LISTED,
    PAIR,
    AddressBody,
    AddressGiven,
    ChangePerson,
    ClosedBody,
    CreatePerson,
    DeletePerson,
    GetPerson,
    HistoryBody,
    ListPeople,
    ListSentToPerson,
    PairAnswer,
    PairPerson,
    PersonAnswer,
    PersonBody,
    place_typed,
)
from postroom.people.model import SIGN_IN, PersonAddress, PersonRole, is_at, ranked
from postroom.people.person_rules import KEYED
from postroom.settings import Settings
from postroom.settings.load import from_process
from postroom.settings.reach import ElsewhereError, elsewhere, performing

contacts_app = typer.Typer(help="The people this household can write to.", no_args_is_help=True)
people_app = typer.Typer(help="Everybody this household knows: the owner, members and contacts.", no_args_is_help=True)
Who = Annotated[str, typer.Argument(metavar="WHO", help="A name, an alias or an id; `owner` is the owner.")]
_HERE: Final = "postroom.household.people:opened_desk"
_MOST_NAMED: Final = 10
_OPTIONS: Final = {"name": "NAME", "aliases": "--alias", "addresses": "--address"}


# -- Whom a command speaks of --


class NoSuchPerson(UserError):
    """No person is called so, or several are."""


def performing_people(settings: Settings, *chosen_here: str | None) -> Perform:
    """At the household elsewhere, or here on its database, where what changed something is written down."""
    perform = performing(settings, _HERE, *chosen_here)
    if elsewhere(settings, *chosen_here) is not None:
        return perform

    def perform_here(one: Act[Any]) -> Any:
        try:
            answer = perform(one)
        except Refused as error:
            raise error.renamed(_option) from None
        _note(settings, one, answer)
        return answer

    return perform_here


def _note(settings: Settings, one: Act[Any], answer: Any) -> None:
    """In the words in which the API would."""
    from postroom.overview.audit import CALLS

    route = one.declared.route
    done = CALLS.get(route.line) if route else None
    if isinstance(done, Noted):
        about = answer.person.person_id if isinstance(answer, PersonAnswer) else getattr(one, "person", "")
        where = getattr(one, "channel", "")
        noted(settings, done.kind, done.act, subject=f"{done.of}:{about}" if done.of else "", detail=where)


def _option(field: str) -> str:
    """A field as the command line calls it."""
    head = field.partition(".")[0]
    return _OPTIONS.get(head, f"--{head.replace('_', '-')}")


def everybody(perform: Perform, begins: str | None = None) -> Iterator[PersonBody]:
    for page in _pages(perform, ListPeople, MOST_LISTED, q=begins):
        yield from page.people


def one_called(perform: Perform, who: str) -> PersonBody:
    found = _called(perform, who)
    if len(found) == 1:
        return found[0]
    if not found:
        raise NoSuchPerson(f"There is nobody called '{who}'; `postroom people list` shows everybody.")
    raise NoSuchPerson(
        f"{len(found)} people are called '{who}'; say which one by its id:{_listed(perform, who, found)}"
    )


def choice(perform: Perform, who: str) -> str:
    """Whom a name that is several people's may mean, those with more to their name last."""
    return _listed(perform, who, _called(perform, who))


def _listed(perform: Perform, who: str, found: Sequence[PersonBody]) -> str:
    known = {one.person_id for one in found}
    others = islice(everybody(perform, who), _MOST_NAMED)
    named = [*found, *(one for one in others if one.person_id not in known)]
    return "".join(f"\n  {person_line(one)}  {one.person_id}" for one in named[:_MOST_NAMED])


def _called(perform: Perform, who: str) -> list[PersonBody]:
    """By id, or exactly by name or alias."""
    from postroom.people.names.normalise import normalise

    identifier = OWNER if who.strip().lower() == OWNER else who.strip()
    try:
        return [perform(made(GetPerson, person=identifier)).person]
    except (Refused, ElsewhereError) as error:
        if error.code not in (Code.NOT_FOUND, Code.SCHEMA_INVALID):
            raise
    wanted = normalise(who)
    return [one for one in everybody(perform, who) if wanted in {normalise(name) for name in (one.name, *one.aliases)}]


def _pages(perform: Perform, kind: type[Act[Any]], most: int, **query: Any) -> Iterator[Any]:
    cursor: str | None = None
    while True:
        page = perform(made(kind, cursor=cursor, limit=most, **query))
        yield page
        if (cursor := page.next_cursor) is None:
            return


def _performing(home: str | None, database: str | None) -> Perform:
    return performing_people(_settings(home, database), home, database)


def _settings(home: str | None, database: str | None) -> Settings:
    settings, _ = from_process({"home": home, "database_url": database})
    return settings


# -- `postroom people`: everybody this household knows --


_PERSON: Final = Telling(
    says=lambda answer, _: person_lines(answer.person), prints=lambda answer: answer.person.model_dump(mode="json")
)


@people_app.command("list")
def list_people(home: Home = None, database: Database = None, json: Json = False) -> None:
    """Everybody, by name."""
    found = _by_name(everybody(_performing(home, database)))
    _tell(json, [one.model_dump(mode="json") for one in found], map(person_line, found))


def _tell(as_json: bool, shape: object, lines: Iterable[str]) -> None:
    if as_json:
        say_json(shape)
        return
    for line in lines:
        say(line)


def _by_name(people: Iterable[PersonBody]) -> list[PersonBody]:
    return sorted(people, key=lambda one: one.name.casefold())


add_command(people_app, CreatePerson, _performing, _PERSON)


@people_app.command("show")
def show(who: Who, home: Home = None, database: Database = None, json: Json = False) -> None:
    """Who this is and where they are reached."""
    person = one_called(_performing(home, database), who)
    _tell(json, person.model_dump(mode="json"), person_lines(person))


@people_app.command("edit")
@with_options_of(ChangePerson, EDIT)
def edit(
    rank: Annotated[
        int | None, typer.Option("--rank", min=1, max=50, help="Where --address stands in the order; 1 is tried first.")
    ] = None,
    remove_address: Annotated[
        list[str] | None, typer.Option("--remove-address", metavar="CHANNEL:ADDRESS", help="Take this one away.")
    ] = None,
    remove_alias: Annotated[list[str] | None, typer.Option("--remove-alias", help="Take this name away.")] = None,
    home: Home = None,
    database: Database = None,
    json: Json = False,
    **typed: Any,
) -> None:
    """Change what is named; an empty --zone, --language or --default-butler takes it away."""
    one: ChangePerson = read_typed(ChangePerson, typed, EDIT)
    gone = [_typed_address(text, "--remove-address") for text in remove_address or ()]
    if rank is not None and not (one.addresses or gone):
        raise Mistyped("--rank: say which one by --address CHANNEL:ADDRESS.")
    if not (gone or remove_alias or one.model_fields_set - {"person"}):
        raise Mistyped("Nothing to change: name it, for example --zone Europe/Berlin.")
    perform = _performing(home, database)
    person = one_called(perform, one.person)
    given = {**one.model_dump(exclude_unset=True), "person": person.person_id}
    if one.aliases or remove_alias:
        given["aliases"] = _aliases(person, one.aliases, remove_alias or ())
    if one.addresses or gone:
        given["addresses"] = [
            {"channel": place.channel, "address": place.address, "rank": place.rank, "label": place.label}
            for place in _addresses(person, one.addresses, gone, rank)
        ]
    try:
        change = read(ChangePerson, given)[0]
    except Refused as error:
        raise error.renamed(_option) from None
    _PERSON.tell(change, perform, json)


def _aliases(person: PersonBody, more: Sequence[str], gone: Sequence[str]) -> list[str]:
    for one in gone:
        if one not in person.aliases:
            raise UserError(
                f"--remove-alias: {person.name} is not called '{one}'; `postroom people show` lists the names."
            )
    return [*(one for one in person.aliases if one not in gone), *more]


def _addresses(
    person: PersonBody, more: Sequence[AddressGiven], gone: Sequence[PersonAddress], rank: int | None
) -> Sequence[PersonAddress]:
    """New ones come after those that stay; with a rank, those that are named stand there."""
    kept = [
        PersonAddress(channel=one.channel, address=one.address, rank=one.rank, label=one.label)
        for one in person.addresses
    ]
    for wanted in gone:
        left = [one for one in kept if not is_at(one, wanted.channel, wanted.address)]
        if len(left) == len(kept):
            missing = f"{person.name} has no {wanted.channel} {wanted.address}"
            raise UserError(f"--remove-address: {missing}; `postroom people show` lists them.")
        kept = left
    new = [PersonAddress(channel=one.channel, address=one.address) for one in more]
    if rank is None:
        last = max((one.rank for one in kept), default=0)
        return [*kept, *(replace(one, rank=last + place) for place, one in enumerate(new, 1))]
    moved = [next((known for known in kept if is_at(known, one.channel, one.address)), one) for one in new]
    others = [one for one in kept if one not in moved]
    return ranked([*others[: rank - 1], *moved, *others[rank - 1 :]])


def _typed_address(text: str, option: str) -> PersonAddress:
    place = place_typed(text, option)
    return PersonAddress(channel=place["channel"], address=place["address"])


@people_app.command("remove")
def remove(
    who: Who,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    home: Home = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Forget a person, and what was remembered of them; messages that were sent stay in the record."""
    perform = _performing(home, database)
    person = one_called(perform, who)
    if not yes and not typer.confirm(plain(f"Remove {person.name}?"), err=True):
        complain("Nothing was removed.")
        raise typer.Exit(1)
    perform(made(DeletePerson, person=person.person_id))
    _tell(json, {"removed": person.person_id, "name": person.name}, [plain(f"{person.name} was removed.")])


@people_app.command("history")
@with_options_of(ListSentToPerson, HISTORY)
def history(
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="The newest so many.")] = 20,
    home: Home = None,
    database: Database = None,
    json: Json = False,
    **typed: Any,
) -> None:
    """Everything said with a person, both ways, newest first."""
    asked, perform = read_typed(ListSentToPerson, typed, HISTORY), _performing(home, database)
    person = one_called(perform, asked.person)
    wanted = {"person": person.person_id, "butler": asked.butler, "channel": asked.channel}
    pages = _pages(perform, ListSentToPerson, min(limit, MOST_LISTED), **wanted)
    found: list[HistoryBody] = list(islice((one for page in pages for one in page.history), limit))
    lines = [plain(f"Nothing was said with {person.name}.")]
    if found and not json:
        zone = reader_zone(_settings(home, database), home, database)
        lines = [history_line(one, person.name, zone) for one in found]
    _tell(json, [one.model_dump(mode="json") for one in found], lines)


# -- `postroom contacts`: the people this household can write to --


@contacts_app.command("list")
def list_contacts(home: Home = None, database: Database = None, json: Json = False) -> None:
    """Everybody in the household's book, by name."""
    known = everybody(_performing(home, database))
    found = _by_name(one for one in known if one.role is not PersonRole.OWNER and one.source != SIGN_IN)
    lines = [_line(one, [], lambda place: f"{place.channel} {place.address}") for one in found]
    none_yet = "No contacts yet: `postroom contacts import FILE`, or [[contacts]] in the settings."
    _tell(json, [_contact(one) for one in found], lines or [none_yet])


def _contact(one: PersonBody) -> dict[str, Any]:
    first = {place.channel: place.address for place in sorted(one.addresses, key=lambda place: -place.rank)}
    return {
        "aliases": one.aliases,
        "id": one.person_id,
        "name": one.name,
        **{key: first.get(channel) for key, channel in KEYED.items()},
        "agent_address": one.agent_address,
        "trusted": one.trusted,
        "source": one.source,
    }


# -- A file of either kind is brought in the same way --


@people_app.command("import")
@contacts_app.command("import", help="Add the contacts of a vCard or CSV file; doing it twice changes nothing.")
def import_people_file(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="people.vcf or people.csv")],
    home: Home = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Add the people of a vCard or CSV file; doing it twice changes nothing."""
    from postroom.people.contacts import MOST_CHARACTERS, ImportContacts
    from postroom.people.import_cards import CardFormat, cards_of, tables_of

    perform = _performing(home, database)
    with bar(f"Reading {file.name}", quiet=json) as show_done:
        cards = cards_of(file)
        tables, created, updated = list(tables_of(cards.read, MOST_CHARACTERS)), 0, 0
        for number, table in enumerate(tables, 1):
            done = perform(made(ImportContacts, format=CardFormat.CSV, content=table))
            created, updated = created + done.created, updated + done.updated
            show_done(number, len(tables))
    skipped = [{"card": card, "reason": reason} for card, reason in cards.skipped]
    lines = [f"{created} new, {updated} added to, {len(skipped)} left out."]
    lines += [f"  card {card}: {reason}" for card, reason in cards.skipped]
    _tell(json, {"created": created, "updated": updated, "skipped": skipped}, lines)


# -- `postroom pair`: a person proves that an address is theirs --


@with_options_of(PairPerson, PAIR)
def pair(home: Home = None, database: Database = None, json: Json = False, **typed: Any) -> None:
    """Show a code that a person sends to the bot, once, to prove an account of theirs; by e-mail, send a link."""
    asked, perform = read_typed(PairPerson, typed, PAIR), _performing(home, database)
    person = one_called(perform, asked.person)
    started: PairAnswer = perform(asked.model_copy(update={"person": person.person_id}))
    about = {"person_id": person.person_id, "name": person.name, "channel": asked.channel}
    _tell(json, {**about, **started.model_dump(exclude={"ok"})}, pairing_lines(person.name, asked.channel, started))


# -- A person as a terminal shows them: names first, ids last --

_GONE: Final = {"erased": "[words erased]", "not_kept": "[words not kept]"}
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]+")


def plain(text: str) -> str:
    """What people and models wrote never steers the terminal."""
    return _CONTROL.sub(" ", text)


def person_line(person: PersonBody) -> str:
    return _line(person, [person.role], _place)


def _line(person: PersonBody, about: Sequence[str], shown: Callable[[AddressBody], str]) -> str:
    also = f" ({', '.join(person.aliases)})" if person.aliases else ""
    reached = ", ".join(map(shown, person.addresses)) or "no address"
    trusted = ["trusted"] if person.trusted else []
    return plain("  ".join([f"{person.name}{also}", *about, reached, *trusted]))


def _place(one: AddressBody) -> str:
    mark = one.closed or one.doubtful
    return f"{one.channel} {one.address}" + (f" ({mark.reason})" if mark else "")


def person_lines(person: PersonBody) -> Iterator[str]:
    yield plain(person.name)
    if person.aliases:
        yield plain(f"  also called  {', '.join(person.aliases)}")
    yield f"  role         {person.role}{', trusted' if person.trusted else ''}"
    for title, value in (("zone", person.zone), ("language", person.language), ("butler", person.default_butler)):
        if value:
            yield plain(f"  {title:<11}  {value}")
    for one in person.addresses:
        yield plain(f"  {one.channel:<11}  {_address_line(one)}")
    if not person.addresses:
        yield "  no address"
    yield plain(f"  id           {person.person_id}")


def _address_line(one: AddressBody) -> str:
    proved = f"verified {one.verified_at[:10]}" if one.verified_at else "not verified"
    return "  ".join([one.address, *([one.label] if one.label else []), proved, *_closed(one)])


def _closed(one: AddressBody) -> Iterator[str]:
    if one.closed:
        yield f"{_since(one.closed)}; --reopen writes to it again"
    if one.doubtful:
        yield f"{_since(one.doubtful)}; still written to, and --reopen forgets it"


def _since(mark: ClosedBody) -> str:
    said = f": {mark.words}" if mark.words else ""
    return f"{mark.reason} {mark.at[:10]}{said}"


def dated(at: str, zone: str) -> str:
    return said_moment(parse_text(at), zone, 0)


def history_line(one: HistoryBody, name: str, zone: str) -> str:
    """One line each, whatever the message holds; `name` is the person's."""
    where = one.channel or "question"
    said = f"{_one_line(_speaker(one, name))}: {_one_line(_said(one))}"
    return f"{dated(one.at, zone)}  {where}  {one.status}  {said}  {one.id}"


def _speaker(one: HistoryBody, name: str) -> str:
    match one.kind:
        case LineKind.MESSAGE:
            return f"{name} to {known_as(one.origin_butler)}" if one.origin_butler else name
        case LineKind.QUESTION:
            return f"{known_as(one.origin_butler or '')} asks"
        case LineKind.DELIVERY:
            return known_as(str(one.origin_butler))


def _said(one: HistoryBody) -> str:
    said = _GONE.get(one.words) or one.subject or one.excerpt
    if one.answer:
        return f"{said} → {one.answered_by}: {one.answer}"
    return f"{said} ({one.reason})" if one.reason else said


def _one_line(text: str) -> str:
    return " ".join(plain(text).split())


def pairing_lines(name: str, channel: str, started: PairAnswer) -> Iterator[str]:
    ends = relative(parse_text(started.expires_at), SystemClock().now_us())
    if started.code is None:
        yield plain(f"A link goes to {started.sent_to} on {channel}; {name} opens it and presses the button.")
        yield f"It works once, and ends {ends}."
        return
    yield started.code
    yield plain(f"{name} sends this code to the bot on {channel}, from their own account and not in a group.")
    yield f"It works once, and ends {ends}."
