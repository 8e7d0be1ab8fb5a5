"""What strangers ended by a letter is open again, and a proved address is doubted, on both databases."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import Connection, select
from tests.opened_database import KINDS
from tests.world.store.migrations.filled import fill

from postroom.domain.closed_address import Closing
from postroom.domain.markup import Markup, markup_of_text
from postroom.world.store.engine import migrate
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.postgres import PostgresDatabase
from postroom.world.store.engine.sqlite import SqliteDatabase
from postroom.world.store.people.closed_addresses import StoredClosedAddresses
from postroom.world.store.tables.deliveries import delivery_requests

PLACES = [
    {"folded": "ann@example.org", "address": "Ann@example.org", "channel": "email", "reason": "bounced"},
    {"folded": "bob@example.org", "address": "bob@example.org", "channel": "email", "reason": "bounced"},
    {"folded": "eve@example.org", "address": "eve@example.org", "channel": "email", "reason": "unsubscribed"},
]
PROVED = [{"channel": "email", "folded": "ann@example.org", "verified_at": 1}]
LETTERS = [
    {"id": "1", "markup": '{"unsubscribe":"https://x"}'},
    {"id": "2", "markup": '{"reply_to":"a@b","unsubscribe":""}'},
]


def written_before(connection: Connection) -> None:
    config = migrate._config()
    config.attributes["connection"] = connection
    command.upgrade(config, "0033")
    special = {"closed_addresses": PLACES, "person_addresses": PROVED, "delivery_requests": LETTERS, "people": [{}]}
    fill(connection, special, rows=0, only=special)


@pytest.mark.parametrize("kind", KINDS)
async def test_letters_end_nothing_and_proved_addresses_are_doubted(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    database: Database = (
        SqliteDatabase(tmp_path / "postroom.db")
        if kind == "sqlite"
        else PostgresDatabase(request.getfixturevalue("new_postgres_url"))
    )
    ordered = select(delivery_requests.c.markup).order_by(delivery_requests.c.id)
    try:
        await database.write(written_before)
        await database.migrate()
        found = {one.address: one.reason for one in await StoredClosedAddresses(database).newest(9)}
        marks = await database.read(lambda connection: list(connection.execute(ordered).scalars()))
    finally:
        await database.close()

    assert found == {"Ann@example.org": Closing.DOUBTFUL, "bob@example.org": Closing.BOUNCED}
    assert [markup_of_text(one) for one in marks] == [None, Markup(reply_to="a@b")]
