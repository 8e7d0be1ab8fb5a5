"""Read our own ledger as the comparison needs it."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, func, select

from chaos.ledger_compare import Row
from chaos.tokens import parts_in, token_in
from postroom.delivery.store.tables import delivery_attempts, delivery_requests
from postroom.household.store import connect_store
from postroom.settings.load import load


async def read_rows(environment: Mapping[str, str]) -> list[Row]:
    settings, _ = load(environment)
    store = connect_store(settings)
    try:
        return await store.database.read(_rows)
    finally:
        await store.database.close()


def _rows(connection: Connection) -> list[Row]:
    request, attempt = delivery_requests.c, delivery_attempts.c
    uncertain = (
        select(func.count())
        .where(attempt.delivery_request_id == request.id, attempt.outcome == "uncertain")
        .scalar_subquery()
    )
    found = select(request.message_content, request.status, request.possible_duplicate, uncertain)
    return [
        Row(
            token=token_in(text) or "-",
            parts=parts_in(text),
            status=status,
            possible_duplicate=bool(possible_duplicate),
            uncertain_attempts=number,
        )
        for text, status, possible_duplicate, number in connection.execute(found)
    ]
