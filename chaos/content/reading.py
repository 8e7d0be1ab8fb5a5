"""Read messages with files and corrections back as the ledger, the folder of files and the provider have them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

from sqlalchemy import Connection, Row, select

from chaos.content.caller import changed, content_of
from chaos.content.posted import Act, Contents, Posted, judged
from chaos.rig import Rig
from chaos.tokens import token_in
from postroom.delivery.files.folder import uploads
from postroom.delivery.store.tables import delivery_corrections, delivery_requests
from postroom.household.store import Store
from postroom.message.attachment import attachments_of_text

Rows = Sequence[Row[Any]]
_ALL_US: Final = 2**62


async def contents(rig: Rig, store: Store, sent: Mapping[str, Act]) -> Contents:
    rows, carried, names = await store.database.read(_rows)
    phone = await rig.provider.listed("telegram")
    by_token: dict[str, list[Row[Any]]] = defaultdict(list)
    for row in rows:
        if row.revises is None:
            by_token[token_in(row.message_content) or "-"].append(row)
    made = {row.idempotency_key: row for row in rows}
    posted = [
        _posted(token, act, by_token[token], [made[key] for key in carried.get(token, ()) if key in made], phone)
        for token, act in sent.items()
    ]
    kept = await store.files.kept_before(_ALL_US)
    missing = [sha[:12] for sha in sorted(names.difference(kept))]
    return judged(posted, missing)


def _posted(token: str, act: Act, rows: Rows, corrections: Rows, phone: Sequence[Mapping[str, Any]]) -> Posted:
    shown = [one for one in phone if token_in(one["text"]) == token]
    return Posted(
        token=token,
        act=act,
        status=rows[0].status if rows else None,
        copies=len(shown),
        whole=sum(_is_whole(one, token, act) for one in shown),
        deliveries=len(rows),
        edits=max((len(one["edits"]) for one in shown), default=0),
        corrections=sum(row.status == "delivered" for row in corrections),
        marked=any(row.possible_duplicate for row in (*rows, *corrections)),
    )


def _is_whole(shown: Mapping[str, Any], token: str, act: Act) -> bool:
    match act:
        case Act.FILE:
            return [one["sha256"] for one in shown["attachments"]] == [sha256(content_of(token)).hexdigest()]
        case Act.REVISE:
            return str(shown["text"]).startswith(changed(token))  # what is sent again says so at its end
        case Act.RECALL:
            return bool(shown["is_deleted"])


def _rows(connection: Connection) -> tuple[Rows, dict[str, list[str]], set[str]]:
    """Deliveries, the keys of those that carry corrections by the token of what they correct, and the files named."""
    way, correction = delivery_requests.c, delivery_corrections.c
    wanted = (way.message_content, way.status, way.possible_duplicate, way.revises, way.attachments)
    rows: list[Row[Any]] = list(connection.execute(select(way.idempotency_key, *wanted)))
    joined = select(way.message_content, correction.carried_key).join_from(delivery_corrections, delivery_requests)
    carried: dict[str, list[str]] = defaultdict(list)
    for text, key in connection.execute(joined):
        carried[token_in(text) or "-"].append(key)
    named = {one.sha256 for row in rows for one in attachments_of_text(row.attachments)}
    return rows, carried, named | set(connection.execute(select(uploads.c.sha256)).scalars())
