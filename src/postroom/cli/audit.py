"""`postroom audit`: who signed in, who decided, who changed what."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from postroom.cli.attention_desk import attention_desk
from postroom.cli.elsewhere import Elsewhere, elsewhere
from postroom.cli.output import Database, Home, Json, say, say_json
from postroom.cli.people_book import PeopleBook, people_book
from postroom.cli.people_words import dated, plain
from postroom.domain.audit import AuditKind
from postroom.domain.errors import UserError
from postroom.domain.nearest import did_you_mean
from postroom.system.settings import Settings
from postroom.system.settings.load import from_process

_PAGE = 200

Who = Annotated[str | None, typer.Option("--person", help="Only what this person did, by id; `owner` is the owner.")]
Kind = Annotated[str | None, typer.Option("--kind", help=f"Only this kind: {', '.join(AuditKind)}.")]
Most = Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many, newest first.")]


def audit(
    person: Who = None,
    kind: Kind = None,
    limit: Most = 50,
    home: Home = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """List who signed in, who decided and who changed what, newest first."""
    if kind is not None and kind not in set(AuditKind):
        raise UserError(f"--kind: there is no kind '{kind}'{did_you_mean(kind, [*AuditKind])}")
    settings, _ = from_process({"home": home, "database_url": database})
    there = elsewhere(settings, home, database)
    found = _there(there, person, kind, limit) if there else asyncio.run(_here(settings, person, kind, limit))
    if json:
        say_json(found)
    else:
        names = _names(people_book(settings, home, database), found)
        _print(found, names, attention_desk(settings, home, database).zone())


def _names(book: PeopleBook, entries: list[dict[str, Any]]) -> dict[str, str]:
    """Of people, by how the audit writes them; who is gone has none."""
    written = {one[field] for one in entries for field in ("actor", "subject")}
    if not any(one.startswith("person:") for one in written):
        return {}
    return {f"person:{one['person_id']}": plain(one["name"]) for one in book.everybody()}


def _print(entries: list[dict[str, Any]], names: dict[str, str], zone: str) -> None:
    for one in entries:
        who, subject = (names.get(one[field]) or one[field] for field in ("actor", "subject"))
        about = " ".join(filter(None, (subject, one["detail"])))
        say(f"{dated(one['at'], zone)}  {who} {one['act']}" + (f": {about}" if about else ""))
    if not entries:
        say("Nothing was done yet that is written down.")


async def _here(settings: Settings, person: str | None, kind: str | None, limit: int) -> list[dict[str, Any]]:
    from postroom.app.store import open_store
    from postroom.domain.audit import AuditQuery
    from postroom.domain.ids import IdMint
    from postroom.doors.audit.people import actors_of
    from postroom.doors.audit.routes import AuditBody
    from postroom.world.store.shared.audit import StoredAudit

    wanted = AuditQuery(limit=limit, actors=actors_of(person) if person else (), kind=AuditKind(kind) if kind else None)
    async with open_store(settings) as store:
        found = await StoredAudit(store.database, IdMint().mint).page(wanted)
    return [AuditBody.of(one).model_dump() for one in found]


def _there(there: Elsewhere, person: str | None, kind: str | None, limit: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    while len(found) < limit:
        most = min(_PAGE, limit - len(found))
        page = there.get("/v1/audit", person=person, kind=kind, cursor=cursor, limit=most)
        found += page["entries"]
        if (cursor := page["next_cursor"]) is None:
            break
    return found
