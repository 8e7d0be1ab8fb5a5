"""The people a command speaks of, on this machine's database or of a household elsewhere, as a terminal shows them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from postroom.cli.application import noted
from postroom.conversations.model import HistoryQuery
from postroom.kernel.audit import AuditKind
from postroom.kernel.running.clock import SystemClock
from postroom.kernel.running.terminal import bar
from postroom.kernel.values.errors import Refused, UserError
from postroom.kernel.values.ids import parse_text
from postroom.kernel.values.principal import HOUSEHOLD_OWNER, OWNER
from postroom.kernel.values.zones import relative, said_moment
from postroom.people.model import DraftAddress, PersonDraft
from postroom.settings import Settings
from postroom.settings.reach import Elsewhere, elsewhere, path_of

if TYPE_CHECKING:
    from postroom.conversations.history import Histories
    from postroom.people.people import People


Document = dict[str, Any]  # a person as `GET /v1/people/{id}` shows them
Result = TypeVar("Result")
_AT_ONCE = 200
_MOST_NAMED = 10
_OPTIONS = {"name": "NAME", "aliases": "--alias", "addresses": "--address"}
_GONE: Final = {"erased": "[words erased]", "not_kept": "[words not kept]"}
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]+")


class NoSuchPerson(UserError):
    """No person is called so, or several are."""


class PeopleBook(Protocol):
    def everybody(self) -> list[Document]: ...

    def called(self, who: str) -> list[Document]:
        """By id, or exactly by name or alias."""
        ...

    def beginning(self, name: str) -> list[Document]:
        """Some of those of whom a name or an alias begins so."""
        ...

    def add(self, person: Document) -> Document: ...

    def change(self, person_id: str, given: Document) -> Document: ...

    def remove(self, person_id: str) -> None: ...

    def history(self, person_id: str, most: int, *, butler: str | None, channel: str | None) -> list[Document]:
        """As `GET /v1/people/{id}/history` shows it."""
        ...

    def pair(self, person_id: str, channel: str) -> Document:
        """As `POST /v1/people/{id}/pair` answers."""
        ...

    def bring(self, file: Path, *, quiet: bool) -> Document:
        """The people of a vCard or CSV file; when quiet, without a bar."""
        ...


def people_book(settings: Settings, *chosen_here: str | None) -> PeopleBook:
    there = elsewhere(settings, *chosen_here)
    return There(there) if there is not None else Here(settings)


def one_called(book: PeopleBook, who: str) -> Document:
    found = book.called(who)
    if len(found) == 1:
        return found[0]
    if not found:
        raise NoSuchPerson(f"There is nobody called '{who}'; `postroom people list` shows everybody.")
    raise NoSuchPerson(f"{len(found)} people are called '{who}'; say which one by its id:{choice(book, who, found)}")


def choice(book: PeopleBook, who: str, found: list[Document] | None = None) -> str:
    """Whom a name that is several people's may mean, those with more to their name last."""
    found = book.called(who) if found is None else found
    known = {one["person_id"] for one in found}
    everybody = [*found, *(one for one in book.beginning(who) if one["person_id"] not in known)]
    return "".join(f"\n  {person_line(one)}  {one['person_id']}" for one in everybody[:_MOST_NAMED])


class Here:
    """The same work as behind the API, without one."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def everybody(self) -> list[Document]:
        async def listed(people: People) -> list[Document]:
            found: list[Document] = []
            after: str | None = None
            while some := await people.store.page(people.book, after=after, limit=_AT_ONCE):
                found, after = found + [_document(one) for one in some], some[-1].id
            return found

        return self._with(listed)

    def called(self, who: str) -> list[Document]:
        async def named(people: People) -> list[Document]:
            return [_document(one) for one in await people.called(who)]

        return self._with(named)

    def beginning(self, name: str) -> list[Document]:
        async def some(people: People) -> list[Document]:
            found = await people.store.page(people.book, begins=name, after=None, limit=_MOST_NAMED)
            return [_document(one) for one in found]

        return self._with(some)

    def add(self, person: Document) -> Document:
        draft = PersonDraft(**_fields(person))
        made = self._with(lambda people: _shown(people.create(draft, source="command")))
        self._noted("added a person", made["person_id"])
        return made

    def change(self, person_id: str, given: Document) -> Document:
        changed = self._with(lambda people: _shown(people.change(person_id, **_fields(given))))
        self._noted("changed a person", person_id)
        return changed

    def remove(self, person_id: str) -> None:
        self._with(lambda people: people.delete(person_id))
        self._noted("removed a person", person_id)

    def history(self, person_id: str, most: int, *, butler: str | None, channel: str | None) -> list[Document]:
        from postroom.conversations.acts import HistoryBody
        from postroom.household.people import opened_histories

        async def said(people: People, histories: Histories) -> list[Document]:
            person, before = await people.get(person_id), None
            found: list[Document] = []
            while len(found) < most:
                limit = min(most - len(found), _AT_ONCE)
                wanted = HistoryQuery(limit=limit, before=before, butler=butler, channel=channel)
                page = await histories.of(person, wanted)
                found += [HistoryBody.of(one).model_dump(mode="json") for one in page.lines]
                if (before := page.before) is None:
                    break
            return found

        async def work() -> list[Document]:
            async with opened_histories(self._settings) as opened:
                return await said(*opened)

        return _run(work)

    def pair(self, person_id: str, channel: str) -> Document:
        from postroom.household.people import opened_pairing
        from postroom.people.acts import PairAnswer

        async def work() -> Document:
            async with opened_pairing(self._settings) as pairing:
                return PairAnswer.of(await pairing.start(person_id, channel)).model_dump(exclude={"ok"})

        started = _run(work)
        self._noted("started a pairing", person_id, channel)
        return started

    def bring(self, file: Path, *, quiet: bool) -> Document:
        from postroom.household.store import open_store
        from postroom.people.import_cards import cards_of

        with bar(f"Reading {file.name}", quiet=quiet) as show:
            cards = cards_of(file)

            async def work() -> tuple[int, int]:
                async with open_store(self._settings) as store:
                    now_us = SystemClock().now_us()
                    return await store.people.merge(
                        HOUSEHOLD_OWNER, cards.read, source="import", now_us=now_us, show=show
                    )

            created, updated = asyncio.run(work())
        noted(self._settings, AuditKind.PEOPLE, "imported people")
        skipped = [{"card": card, "reason": reason} for card, reason in cards.skipped]
        return {"created": created, "updated": updated, "skipped": skipped}

    def _noted(self, act: str, person_id: str, detail: str = "") -> None:
        noted(self._settings, AuditKind.PEOPLE, act, subject=f"person:{person_id}", detail=detail)

    def _with(self, act: Callable[[People], Awaitable[Result]]) -> Result:
        from postroom.household.people import opened_people

        async def work() -> Result:
            async with opened_people(self._settings) as people:
                return await act(people)

        return _run(work)


def _run(work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    try:
        return asyncio.run(work())
    except Refused as error:
        raise error.renamed(_option) from None


def _option(field: str) -> str:
    """A field as the command line calls it."""
    head = field.partition(".")[0]
    return _OPTIONS.get(head, f"--{head.replace('_', '-')}")


def _document(person: Any) -> Document:
    from postroom.people.acts import PersonBody

    return PersonBody.of(person).model_dump()


async def _shown(work: Awaitable[Any]) -> Document:
    return _document(await work)


def _fields(given: Document) -> Document:
    """As a draft has them."""
    found = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    if "addresses" in found:
        found["addresses"] = tuple(DraftAddress(**one) for one in found["addresses"])
    if "reopen" in found:
        found["reopen"] = tuple((one["channel"], one["address"]) for one in found["reopen"])
    return found


class There:
    def __init__(self, household: Elsewhere) -> None:
        self._household = household

    def everybody(self) -> list[Document]:
        return list(self._pages("/v1/people", "people"))

    def called(self, who: str) -> list[Document]:
        by_id = self._household.find(path_of("people", OWNER if who.strip().lower() == OWNER else who))
        if by_id is not None:
            return [_of(by_id)]
        return [one for one in self._pages("/v1/people", "people", q=who) if _is_called(one, who)]

    def beginning(self, name: str) -> list[Document]:
        return list(islice(self._pages("/v1/people", "people", q=name), _MOST_NAMED))

    def add(self, person: Document) -> Document:
        return _of(self._household.post("/v1/people", person))

    def change(self, person_id: str, given: Document) -> Document:
        return _of(self._household.patch(path_of("people", person_id), given))

    def remove(self, person_id: str) -> None:
        self._household.delete(path_of("people", person_id))

    def history(self, person_id: str, most: int, *, butler: str | None, channel: str | None) -> list[Document]:
        pages = self._pages(path_of("people", person_id, "history"), "history", butler=butler, channel=channel)
        return list(islice(pages, most))

    def pair(self, person_id: str, channel: str) -> Document:
        answer = self._household.post(path_of("people", person_id, "pair"), {"channel": channel})
        return {name: answer[name] for name in ("code", "link_sent", "sent_to", "expires_at")}

    def bring(self, file: Path, *, quiet: bool) -> Document:
        from postroom.people.import_cards import format_of, text_of

        body = {"format": format_of(file), "content": text_of(file)}
        with bar(f"Reading {file.name}", quiet=quiet):
            answer = self._household.post("/contacts/import", body)
        return {name: answer[name] for name in ("created", "updated", "skipped")}

    def _pages(self, path: str, kind: str, **query: Any) -> Iterator[Document]:
        cursor: str | None = None
        while True:
            answer = self._household.get(path, cursor=cursor, limit=_AT_ONCE, **query)
            yield from answer[kind]
            if (cursor := answer["next_cursor"]) is None:
                return


def _of(answer: Document) -> Document:
    person: Document = answer["person"]
    return person


def _is_called(person: Document, who: str) -> bool:
    from postroom.people.names.normalise import normalise

    return normalise(who) in {normalise(name) for name in (person["name"], *person["aliases"])}


# A person as a terminal shows them: names first, ids last.


def plain(text: str) -> str:
    """What people and models wrote never steers the terminal."""
    return _CONTROL.sub(" ", text)


def person_line(person: dict[str, Any]) -> str:
    also = f" ({', '.join(person['aliases'])})" if person["aliases"] else ""
    reached = ", ".join(f"{one['channel']} {one['address']}{_mark(one)}" for one in person["addresses"])
    trusted = ["trusted"] if person["trusted"] else []
    return plain("  ".join([f"{person['name']}{also}", person["role"], reached or "no address", *trusted]))


def _mark(one: dict[str, Any]) -> str:
    mark = one.get("closed") or one.get("doubtful")
    return f" ({mark['reason']})" if mark else ""


def person_lines(person: dict[str, Any]) -> Iterator[str]:
    yield plain(person["name"])
    if person["aliases"]:
        yield plain(f"  also called  {', '.join(person['aliases'])}")
    yield f"  role         {person['role']}{', trusted' if person['trusted'] else ''}"
    for title, field in (("zone", "zone"), ("language", "language"), ("butler", "default_butler")):
        if person[field]:
            yield plain(f"  {title:<11}  {person[field]}")
    for one in person["addresses"]:
        yield plain(f"  {one['channel']:<11}  {_address_line(one)}")
    if not person["addresses"]:
        yield "  no address"
    yield plain(f"  id           {person['person_id']}")


def _address_line(one: dict[str, Any]) -> str:
    proved = f"verified {one['verified_at'][:10]}" if one["verified_at"] else "not verified"
    return "  ".join([one["address"], *([one["label"]] if one["label"] else []), proved, *_closed(one)])


def _closed(one: dict[str, Any]) -> Iterator[str]:
    """A household of before may not say it."""
    if closed := one.get("closed"):
        yield f"{_since(closed)}; --reopen writes to it again"
    if doubtful := one.get("doubtful"):
        yield f"{_since(doubtful)}; still written to, and --reopen forgets it"


def _since(mark: dict[str, Any]) -> str:
    said = f": {mark['words']}" if mark["words"] else ""
    return f"{mark['reason']} {mark['at'][:10]}{said}"


def dated(at: str, zone: str) -> str:
    return said_moment(parse_text(at), zone, 0)


def history_line(one: dict[str, Any], name: str, zone: str) -> str:
    """One line each, whatever the message holds; `name` is the person's."""
    at = dated(one["at"], zone)
    where = one["channel"] or "question"
    return f"{at}  {where}  {one['status']}  {_one_line(_speaker(one, name))}: {_one_line(_said(one))}  {one['id']}"


def _speaker(one: dict[str, Any], name: str) -> str:
    match one["kind"]:
        case "message":
            return f"{name} to {one['origin_butler']}" if one["origin_butler"] else name
        case "question":
            return f"{one['origin_butler']} asks"
        case _:
            return str(one["origin_butler"])


def _said(one: dict[str, Any]) -> str:
    said = _GONE.get(one["words"]) or str(one["subject"] or one["excerpt"])
    if one["answer"]:
        return f"{said} → {one['answered_by']}: {one['answer']}"
    return f"{said} ({one['reason']})" if one["reason"] else said


def _one_line(text: str) -> str:
    return " ".join(plain(text).split())


def pairing_lines(name: str, channel: str, started: dict[str, Any]) -> Iterator[str]:
    ends = relative(parse_text(started["expires_at"]), SystemClock().now_us())
    if started["code"] is None:
        yield plain(f"A link goes to {started['sent_to']} on {channel}; {name} opens it and presses the button.")
        yield f"It works once, and ends {ends}."
        return
    yield started["code"]
    yield plain(f"{name} sends this code to the bot on {channel}, from their own account and not in a group.")
    yield f"It works once, and ends {ends}."
