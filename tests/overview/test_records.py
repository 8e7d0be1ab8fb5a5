"""What else is removed, and beside each of it what must be left alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import BigInteger, Boolean, Connection, Float, Integer, SmallInteger, Table, insert, select
from tests.opened_database import KINDS, opened_database
from tests.support.delivery_rows import NOON_US, new_id, request_row

from postroom.attention.store import notice_sends
from postroom.delivery.files.taking import DAY_US, Retention
from postroom.delivery.store.tables import delivery_requests
from postroom.inbox.store.waiting import deferred_emails, notifications
from postroom.intents.store import intents
from postroom.kernel.database.engine import Database
from postroom.kernel.webhooks import webhook_subscriptions
from postroom.overview.pruning import STALE, Stale

OLD_US = NOON_US - 100 * DAY_US
KEEP = Retention(
    settled_before_us=NOON_US - 90 * DAY_US,
    now_us=NOON_US,
    words_before_us=NOON_US - 30 * DAY_US,
    questions_before_us=NOON_US - 365 * DAY_US,
    audit_before_us=NOON_US - 365 * DAY_US,
)
WORDS_OF_QUESTIONS = "words of questions"  # erased in rows that stay: tests/questions/store/test_questions.py
WORDS_PEOPLE_WROTE = "words people wrote"  # likewise: tests/conversations/test_store.py
BY_NAME = {s.name: s for s in STALE if s.name not in (WORDS_OF_QUESTIONS, WORDS_PEOPLE_WROTE)}
GOES, STAYS = True, False
OVER = {"kind": "text", "status": "answered", "urgency": "normal", "preview": "full", "quorum": "any"}

# One old row of each kind, changed in the way that matters; what is not said is the plainest old row there is.
CASES: dict[str, tuple[str, dict[str, Any], bool]] = {
    "an old refusal": ("refusals", {}, GOES),
    "a young refusal": ("refusals", {"created_at": NOON_US}, STAYS),
    "a session that ended": ("sessions", {"status": "done", "finished_at": OLD_US}, GOES),
    "a session that ended lately": ("sessions", {"status": "failed", "finished_at": NOON_US}, STAYS),
    "a session that waits": ("sessions", {"status": "queued"}, STAYS),
    "a session that runs": ("sessions", {"status": "running"}, STAYS),
    "a session for an open intent": (
        "sessions",
        {"status": "done", "finished_at": OLD_US, "request_id": "open"},
        STAYS,
    ),
    "a note that was read": ("notes", {"read_at": OLD_US}, GOES),
    "a note that was dismissed": ("notes", {"dismissed_at": OLD_US}, GOES),
    "a note that nobody read": ("notes", {}, STAYS),
    "a note that is snoozed": ("notes", {"read_at": OLD_US, "snoozed_until": NOON_US + 1}, STAYS),
    "a note with an e-mail on its way": ("notes", {"id": "mailed", "read_at": OLD_US}, STAYS),
    "an intent that ended": ("intents", {"status": "COMPLETED"}, GOES),
    "an intent that is open": ("intents", {"status": "WAITING"}, STAYS),
    "a webhook call that arrived": ("webhook calls", {"status": "delivered"}, GOES),
    "a webhook call that did not": ("webhook calls", {"status": "dead_lettered"}, GOES),
    "a webhook call still due": ("webhook calls", {"status": "pending"}, STAYS),
    "an appointment kept": ("appointments", {"status": "done"}, GOES),
    "an appointment that waits": ("appointments", {"status": "waiting"}, STAYS),
    "a thread heard long ago": ("heard threads", {}, GOES),
    "a thread heard lately": ("heard threads", {"heard_at": NOON_US}, STAYS),
    "a message that was answered": ("messages people wrote", {"status": "answered"}, GOES),
    "a message refused lately": (
        "messages people wrote",
        {"status": "refused", "received_at": NOON_US},
        STAYS,
    ),
    "a message that waits": ("messages people wrote", {"status": "routed"}, STAYS),
    "the key of an old call": ("keys of calls", {}, GOES),
    "the key of a young call": ("keys of calls", {"created_at": NOON_US}, STAYS),
    "a notice that is over": ("notices", {"state": "sent"}, GOES),
    "a notice that waits": ("notices", {"state": "held", "open": True}, STAYS),
    "an old send of a notice": ("sends of notices", {}, GOES),
    "an old send without a receipt": ("sends of notices", {"pending": True}, STAYS),
    "a digest whose send is gone": ("digests", {}, GOES),
    "a digest with its send": ("digests", {"id": "sent"}, STAYS),
    "an old fact about no notice": ("facts about notices", {}, GOES),
    "a young fact about no notice": ("facts about notices", {"at": NOON_US}, STAYS),
    "an act of more than a year ago": ("acts of people", {"at": NOON_US - 366 * DAY_US, "kind": "people"}, GOES),
    "an act of less than a year ago": ("acts of people", {"at": NOON_US - 364 * DAY_US, "kind": "people"}, STAYS),
    "an offer that ran out": ("offers", {"expires_at": NOON_US - 1}, GOES),
    "an offer that stands": ("offers", {"expires_at": NOON_US + 1}, STAYS),
    "a question over for more than a year": (
        "questions",
        {**OVER, "ended_at": NOON_US - 366 * DAY_US, "erased_at": NOON_US},
        GOES,
    ),
    "a question over for less than a year": (
        "questions",
        {**OVER, "ended_at": NOON_US - 364 * DAY_US, "erased_at": NOON_US},
        STAYS,
    ),
    "a question whose words are still there": ("questions", {**OVER, "ended_at": NOON_US - 366 * DAY_US}, STAYS),
}
WORDS = {"type": "info", "priority": "medium", "status": "COMPLETED", "subscription_id": "s"}


@pytest.fixture(params=KINDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with opened_database(request.param, tmp_path, request) as one:
        await one.write(neighbours)
        yield one


def row(table: Table, changes: dict[str, Any]) -> dict[str, Any]:
    """Old, and empty where it may be."""
    made = {column.name: _plain(column) for column in table.columns if not column.nullable}
    return {**made, **({"id": new_id()} if "id" in table.columns else {}), **changes}


def _plain(column: Any) -> Any:
    if isinstance(column.type, BigInteger):
        return OLD_US
    if isinstance(column.type, Boolean):
        return False
    if isinstance(column.type, Integer | SmallInteger | Float):
        return 0
    return WORDS.get(column.name, "{}")


def neighbours(connection: Connection) -> None:
    """A delivery in the ledger, an open intent, a subscription and a note whose copy is being mailed."""
    connection.execute(insert(delivery_requests), [request_row(request_id="kept")])
    connection.execute(insert(intents), [row(intents, {"id": "open", "status": "WAITING"})])
    connection.execute(insert(webhook_subscriptions), [row(webhook_subscriptions, {"id": "s"})])
    connection.execute(insert(notice_sends), [row(notice_sends, {"key": "sent", "at": NOON_US})])


async def write(database: Database, stale: Stale, changes: dict[str, Any]) -> dict[str, Any]:
    made = row(stale.table, changes)

    def work(connection: Connection) -> None:
        connection.execute(insert(stale.table), [made])
        if made.get("id") == "mailed":
            connection.execute(insert(deferred_emails), [row(deferred_emails, {"notification_id": "mailed"})])

    await database.write(work)
    return made


@pytest.mark.parametrize("case", CASES)
async def test_what_is_over_and_old_goes_and_nothing_else(database: Database, case: str) -> None:
    name, changes, goes = CASES[case]
    stale = BY_NAME[name]
    made = await write(database, stale, changes)

    counted = await database.read(partial(stale.count, retention=KEEP))
    removed = await database.write(partial(stale.remove, retention=KEEP, limit=10))

    key = [made[column.name] for column in stale.table.primary_key]
    left = await database.read(
        lambda connection: [list(one) for one in connection.execute(select(*stale.table.primary_key))]
    )
    assert (counted, removed, key in left) == ((1, 1, False) if goes else (0, 0, True))


def test_every_kind_has_a_case_that_goes_and_one_that_stays() -> None:
    outcomes = {name: {goes for kind, _, goes in CASES.values() if kind == name} for name in BY_NAME}

    assert outcomes == {name: {True, False} for name in BY_NAME}


async def test_no_more_than_the_batch_goes_at_once(database: Database) -> None:
    stale = BY_NAME["notes"]
    for _ in range(5):
        await write(database, stale, {"read_at": OLD_US})

    removed = [await database.write(partial(stale.remove, retention=KEEP, limit=2)) for _ in range(4)]

    assert removed == [2, 2, 1, 0]
    assert notifications.name == stale.table.name
