"""Pruning a household while it works, and from the shell."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import BigInteger, Boolean, Connection, Float, Integer, SmallInteger, Table, func, insert, select
from tests.household.living import LIFTED, QUICK, living
from tests.opened_database import ledger_of
from tests.services import warm_process
from tests.support.delivery_rows import NOON_US, attempt_row, new_id, request_row, write

from postroom.approvals.store.tables import pending_actions
from postroom.attention.store import notice_sends, notices
from postroom.delivery.afterwards.webhooks import webhook_subscriptions
from postroom.delivery.files.taking import DAY_US, Retention, retention
from postroom.delivery.store.tables import (
    delivery_attempts,
    delivery_dead_letter,
    delivery_news,
    delivery_receipts,
    delivery_requests,
)
from postroom.inbox.store.waiting import notifications
from postroom.intents.store import intents
from postroom.kernel.database.engine import Database
from postroom.kernel.database.sqlite import SqliteDatabase
from postroom.overview.pruning import DELIVERIES, STALE, START, Pruner, Stale, count, fitting, remove
from postroom.overview.tracking import StoredDeliveries

OLD_US = NOON_US - 400 * DAY_US


async def fill(database: Database, many: int, at_us: int = OLD_US) -> list[dict[str, Any]]:
    rows = [request_row(at_us + n * DAY_US, terminal_at=at_us + n * DAY_US) for n in range(many)]
    await write(database, rows, [attempt_row(row, 1, 1.0) for row in rows])
    return rows


async def no_rest(_: float) -> None:
    """Tests have no time to rest."""


async def test_an_interrupted_run_is_taken_up_by_the_next(database: Database) -> None:
    await fill(database, 50)
    keep = retention(NOON_US, 90 * DAY_US)

    def enough(name: str, number: int) -> None:
        if name == DELIVERIES:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await Pruner(database=database, batch=20, tell=enough, rest=no_rest).prune(keep)
    told: list[int] = []
    pruner = Pruner(database=database, batch=20, tell=lambda name, n: told.append(n), rest=no_rest)

    assert (await pruner.estimate(keep))[DELIVERIES] == 30
    assert (await pruner.prune(keep))[DELIVERIES] == 30
    assert told[0] == 20
    assert sum((await pruner.estimate(keep)).values()) == 0


@pytest.mark.parametrize(
    ("size", "took", "next_size"),
    [(100, 0.5, 50), (30, 0.5, 25), (100, 0.01, 100), (100, 0.001, 200), (400, 0.001, 500)],
    ids=["too long", "never too few", "just right", "short", "never more than asked for"],
)
def test_a_batch_is_as_large_as_a_moment_allows(size: int, took: float, next_size: int) -> None:
    assert fitting(size, took, 500) == next_size


async def test_it_rests_after_every_batch(database: Database) -> None:
    await fill(database, 3)
    rests: list[float] = []

    async def rest(seconds: float) -> None:
        rests.append(seconds)

    await Pruner(database=database, batch=1, tell=lambda *_: None, rest=rest).prune(retention(NOON_US, DAY_US))

    assert len(rests) >= 3
    assert all(seconds > 0 for seconds in rests)


@pytest.mark.timeout(120)
async def test_from_the_shell_beside_a_household_that_delivers(home: Path) -> None:
    async with living(home, LIFTED, QUICK) as house:
        database = SqliteDatabase(house.settings.home / "postroom.db")
        try:
            old = await fill(database, 300)
        finally:
            await database.close()
        pruning = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "postroom", "prune", "--home", str(home), "--batch-size", "20", "--json"),
            stdout=subprocess.PIPE,
        )
        answers = [await house.notify(message=f"note {number}") for number in range(20)]
        out, _ = await pruning.communicate()
        gone = await house.call("messenger", "messenger_delivery_status", {"delivery_id": old[0]["id"]})

    assert pruning.returncode == 0
    assert json.loads(out)["pruned"][DELIVERIES] == 300
    assert {answer["status"] for answer in answers} == {"ok"}
    assert "not found" in str(gone).lower(), gone


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--older-than", "90"], "whole number with its unit"),
        (["--older-than", "90d", "--dry-run"], "Nothing is old enough to go."),
    ],
    ids=["no unit", "nothing to do"],
)
def test_the_command_says_what_it_means(home: Path, arguments: list[str], told: str) -> None:
    for command in (["migrate"], ["prune", *arguments]):
        done = warm_process.run(os.environ, *command)

    assert told in done.stdout + done.stderr


# -- What else is removed, and beside each of it what must be left alone --


A_WHILE_AGO_US = NOON_US - 100 * DAY_US
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
OVER = {"kind": "text", "status": "answered", "urgency": "normal", "preview": "full"}
# One old row of each kind, changed in the way that matters; what is not said is the plainest old row there is.
CASES: dict[str, tuple[str, dict[str, Any], bool]] = {
    "an old refusal": ("refusals", {}, GOES),
    "a young refusal": ("refusals", {"created_at": NOON_US}, STAYS),
    "a session that ended": ("sessions", {"status": "done", "finished_at": A_WHILE_AGO_US}, GOES),
    "a session that ended lately": ("sessions", {"status": "failed", "finished_at": NOON_US}, STAYS),
    "a session that waits": ("sessions", {"status": "queued"}, STAYS),
    "a session that runs": ("sessions", {"status": "running"}, STAYS),
    "a session for an open intent": (
        "sessions",
        {"status": "done", "finished_at": A_WHILE_AGO_US, "request_id": "open"},
        STAYS,
    ),
    "a note that was read": ("notes", {"read_at": A_WHILE_AGO_US}, GOES),
    "a note that was dismissed": ("notes", {"dismissed_at": A_WHILE_AGO_US}, GOES),
    "a note that nobody read": ("notes", {}, STAYS),
    "a note that is snoozed": ("notes", {"read_at": A_WHILE_AGO_US, "snoozed_until": NOON_US + 1}, STAYS),
    "a note with an e-mail on its way": ("notes", {"id": "mailed", "read_at": A_WHILE_AGO_US}, STAYS),
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
    "a notice that is over and still to be sent": ("notices", {"id": "unsent", "state": "sent"}, STAYS),
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


@pytest.fixture
async def inhabited(database: Database) -> Database:
    await database.write(neighbours)
    return database


def row(table: Table, changes: dict[str, Any]) -> dict[str, Any]:
    """Old, and empty where it may be."""
    made = {column.name: _plain(column) for column in table.columns if not column.nullable}
    return {**made, **({"id": new_id()} if "id" in table.columns else {}), **changes}


def _plain(column: Any) -> Any:
    if isinstance(column.type, BigInteger):
        return A_WHILE_AGO_US
    if isinstance(column.type, Boolean):
        return False
    if isinstance(column.type, Integer | SmallInteger | Float):
        return 0
    return WORDS.get(column.name, "{}")


def neighbours(connection: Connection) -> None:
    """A delivery in the ledger, an open intent, a subscription, a note whose copy is being mailed, an unsent notice."""
    connection.execute(insert(delivery_requests), [request_row(request_id="kept")])
    connection.execute(insert(intents), [row(intents, {"id": "open", "status": "WAITING"})])
    connection.execute(insert(webhook_subscriptions), [row(webhook_subscriptions, {"id": "s"})])
    connection.execute(insert(notice_sends), [row(notice_sends, {"key": "sent", "at": NOON_US})])
    connection.execute(insert(notice_sends), [row(notice_sends, {"key": "k", "pending": True, "notice": "unsent"})])


async def keep_one(inhabited: Database, stale: Stale, changes: dict[str, Any]) -> dict[str, Any]:
    made = row(stale.table, changes)

    def work(connection: Connection) -> None:
        connection.execute(insert(stale.table), [made])
        if made.get("id") == "mailed":
            connection.execute(insert(notices), [row(notices, {"id": "mailed", "state": "held", "open": True})])

    await inhabited.write(work)
    return made


@pytest.mark.parametrize("case", CASES)
async def test_what_is_over_and_old_goes_and_nothing_else(inhabited: Database, case: str) -> None:
    name, changes, goes = CASES[case]
    stale = BY_NAME[name]
    made = await keep_one(inhabited, stale, changes)

    counted = await inhabited.read(partial(stale.count, retention=KEEP))
    removed = await inhabited.write(partial(stale.remove, retention=KEEP, limit=10))

    key = [made[column.name] for column in stale.table.primary_key]
    left = await inhabited.read(
        lambda connection: [list(one) for one in connection.execute(select(*stale.table.primary_key))]
    )
    assert (counted, removed, key in left) == ((1, 1, False) if goes else (0, 0, True))


def test_every_kind_has_a_case_that_goes_and_one_that_stays() -> None:
    outcomes = {name: {goes for kind, _, goes in CASES.values() if kind == name} for name in BY_NAME}

    assert outcomes == {name: {True, False} for name in BY_NAME}


async def test_no_more_than_the_batch_goes_at_once(inhabited: Database) -> None:
    stale = BY_NAME["notes"]
    for _ in range(5):
        await keep_one(inhabited, stale, {"read_at": A_WHILE_AGO_US})

    removed = [await inhabited.write(partial(stale.remove, retention=KEEP, limit=2)) for _ in range(4)]

    assert removed == [2, 2, 1, 0]
    assert notifications.name == stale.table.name


# -- What may leave the ledger, what must stay, and what is still known of what has left --


SETTLED_US = NOON_US - 100 * DAY_US
CUTOFF_US = NOON_US - 90 * DAY_US


def settled(status: str = "delivered", at_us: int = SETTLED_US, **more: Any) -> dict[str, Any]:
    return request_row(at_us, status=status, terminal_at=at_us + 1, **more)


def letter(request: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": new_id(),
        "delivery_request_id": request["id"],
        "quarantine_reason": "retries_exhausted",
        "error_class": "target_unavailable",
        "error_summary": "no answer",
        "total_attempts": 3,
        "replay_count": 0,
        "discarded_at": None,
        "discard_reason": None,
        "created_at": request["created_at"],
        **more,
    }


def intent(request: dict[str, Any], status: str) -> dict[str, Any]:
    texts = ("intent_type", "correlation_id", "from_agent", "to_agent", "handler", "fingerprint", "submitted_by")
    return {
        "id": request["request_id"],
        **dict.fromkeys(texts, "x"),
        **dict.fromkeys(("payload", "metadata", "plan"), "{}"),
        "status": status,
        "seq": 1,
        "position": 0,
        "carried": False,
        "created_at": SETTLED_US,
        "updated_at": SETTLED_US,
    }


async def keep_rows(database: Database, *rows: tuple[Any, list[dict[str, Any]]]) -> None:
    def work(connection: Connection) -> None:
        for table, values in rows:
            connection.execute(insert(table), values)

    await database.write(work)


async def prune(database: Database, limit: int = 100) -> int:
    removed = await database.write(partial(remove, settled_before_us=CUTOFF_US, limit=limit, after=START))
    return removed.deliveries


async def ids_in(database: Database, table: Any) -> set[str]:
    return await database.read(lambda connection: set(connection.execute(select(table.c.id)).scalars()))


@pytest.mark.parametrize("status", ["delivered", "failed"])
async def test_what_is_settled_and_old_goes(database: Database, status: str) -> None:
    old, young = settled(status), settled(status, at_us=NOON_US)
    await keep_rows(database, (delivery_requests, [old, young]))

    assert await database.read(partial(count, settled_before_us=CUTOFF_US)) == 1
    assert await prune(database) == 1
    assert await ids_in(database, delivery_requests) == {young["id"]}


@pytest.mark.parametrize("status", ["awaiting_approval", "pending", "in_progress"])
async def test_what_is_not_settled_stays_however_old(database: Database, status: str) -> None:
    await keep_rows(database, (delivery_requests, [request_row(SETTLED_US, status=status)]))

    assert await prune(database) == 0


async def test_what_was_made_long_ago_and_settled_lately_stays(database: Database) -> None:
    await keep_rows(database, (delivery_requests, [request_row(SETTLED_US, terminal_at=NOON_US)]))

    assert await prune(database) == 0


@pytest.mark.parametrize(
    ("discarded_at", "goes"),
    [(None, 0), (NOON_US, 0), (SETTLED_US + 5, 1)],
    ids=["undecided", "lately", "long ago"],
)
async def test_a_dead_letter_goes_only_when_it_was_discarded_long_ago(
    database: Database, discarded_at: int | None, goes: int
) -> None:
    dead = settled("dead_lettered")
    await keep_rows(
        database, (delivery_requests, [dead]), (delivery_dead_letter, [letter(dead, discarded_at=discarded_at)])
    )

    assert await prune(database) == goes


@pytest.mark.parametrize(
    ("replayed", "goes"),
    [
        ({"status": "delivered"}, 2),
        ({"status": "delivered", "at_us": NOON_US}, 0),
        ({"status": "failed"}, 0),
        ({"status": "dead_lettered"}, 0),
    ],
    ids=["arrived", "arrived lately", "refused", "dead again"],
)
async def test_a_lineage_goes_as_a_whole_or_stays_as_a_whole(
    database: Database, replayed: dict[str, Any], goes: int
) -> None:
    dead = settled("dead_lettered")
    replay = settled(**replayed, replay_of=dead["id"], replay_number=1)
    letters = [letter(one) for one in (dead, replay) if one["status"] == "dead_lettered"]
    await keep_rows(database, (delivery_requests, [dead, replay]), (delivery_dead_letter, letters))

    assert await database.read(partial(count, settled_before_us=CUTOFF_US)) == goes
    assert await prune(database) == goes


async def test_a_replay_on_its_way_keeps_its_parent(database: Database) -> None:
    dead = settled("dead_lettered")
    replay = request_row(NOON_US, status="pending", replay_of=dead["id"], replay_number=1)
    discarded = letter(dead, discarded_at=SETTLED_US + 5)
    await keep_rows(database, (delivery_requests, [dead, replay]), (delivery_dead_letter, [discarded]))

    assert await prune(database) == 0


@pytest.mark.parametrize(("status", "goes"), [("IN_PROGRESS", 0), ("COMPLETED", 1)])
async def test_a_message_whose_answer_is_still_awaited_stays(database: Database, status: str, goes: int) -> None:
    question = settled(origin_butler="intents")
    await keep_rows(database, (delivery_requests, [question]), (intents, [intent(question, status)]))

    assert await prune(database) == goes


async def test_nothing_is_left_of_what_hung_on_it(database: Database) -> None:
    row = settled(request_id="r-1", provider_delivery_id="77")
    receipt = {
        "delivery_request_id": row["id"],
        "part": 1,
        "provider_delivery_id": "77",
        "receipt_type": "sent",
        "received_at": SETTLED_US,
        "conversation": "D1",
    }
    news = {
        "delivery_request_id": row["id"],
        "kind": "bounced",
        "event_id": "e",
        "words": "full",
        "at": SETTLED_US,
    }
    await keep_rows(
        database,
        (delivery_requests, [row]),
        (delivery_attempts, [attempt_row(row, 1, 2.0, "retryable_error"), attempt_row(row, 2, 1.0)]),
        (delivery_receipts, [receipt]),
        (delivery_news, [news]),
        (pending_actions, [approval(row)]),
    )

    assert await prune(database) == 1

    assert await StoredDeliveries(database).now(row["id"]) is None
    for table in (delivery_attempts, delivery_receipts, delivery_news, pending_actions):
        left = select(func.count()).select_from(table)
        assert await database.read(lambda connection, left=left: connection.execute(left).scalar()) == 0


def approval(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": row["id"],
        "origin_butler": row["origin_butler"],
        "content_hash": "h",
        "risk": "medium",
        "requested_at": SETTLED_US,
        "expires_at": SETTLED_US,
        "edited": False,
    }


async def test_a_key_goes_with_its_delivery(database: Database) -> None:
    await keep_rows(database, (delivery_requests, [settled(idempotency_key="bell", provider_delivery_id="77")]))

    assert await prune(database) == 1

    assert await ledger_of(database).find("bell") is None


async def test_batches_go_on_where_the_last_one_stopped(database: Database) -> None:
    rows = [settled(at_us=SETTLED_US + n // 3) for n in range(10)]
    held = settled("dead_lettered")
    await keep_rows(database, (delivery_requests, [*rows, held]), (delivery_dead_letter, [letter(held)]))

    sizes, place = list[int](), START
    while place is not None:
        removed = await database.write(partial(remove, settled_before_us=CUTOFF_US, limit=4, after=place))
        sizes.append(removed.deliveries)
        place = removed.place

    assert sizes == [4, 4, 2]
    assert await ids_in(database, delivery_requests) == {held["id"]}
