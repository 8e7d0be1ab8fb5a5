"""Find dead letters for a person: by any filter, by words or by whom they were for, in bounded looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Select, func, select

from postroom.domain.dead_letter import DeadLetter
from postroom.domain.enquiry import DeadLetterQuery
from postroom.world.store.deliveries.dead_letters import letters, matching, with_lineage
from postroom.world.store.deliveries.lookup import LOOKED_AT, holding
from postroom.world.store.tables.deliveries import delivery_requests

_requests = delivery_requests.c


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLetters:
    """`before` begins the next look; with `unfinished` it lies below letters that were read and did not match."""

    letters: Sequence[DeadLetter]
    before: str | None
    unfinished: bool


def find_letters(
    connection: Connection, query: DeadLetterQuery, words: str | None, places: Sequence[str] = ()
) -> FoundLetters:
    """With words, at most LOOKED_AT letters are read; `places` are order keys, as for deliveries."""
    if not words:
        return _page(letters(connection, query), query)
    looked = _looked_at(query).subquery("looked")
    fitting = select(looked).where(*holding(looked, words, places, ("error_summary",)))
    rows = connection.execute(fitting.order_by(looked.c.id.desc()).limit(query.page.limit + 1)).mappings().all()
    found = _page(with_lineage(connection, rows), query)
    if found.before is not None:
        return found
    many, lowest = connection.execute(select(func.count(), func.min(looked.c.id))).one()
    return replace(found, before=lowest, unfinished=True) if many == LOOKED_AT else found


def _looked_at(query: DeadLetterQuery) -> Select[Any]:
    most = replace(query, page=replace(query.page, limit=LOOKED_AT - 1))
    return matching(most).add_columns(_requests.subject, _requests.message_content, _requests.order_key)


def _page(found: Sequence[DeadLetter], query: DeadLetterQuery) -> FoundLetters:
    shown = found[: query.page.limit]
    return FoundLetters(letters=shown, before=shown[-1].id if len(found) > query.page.limit else None, unfinished=False)
