"""Two real households release the same e-mails, and one of them is killed in the middle."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from subprocess import Popen

import pytest
from sqlalchemy import func, select, update
from tests.app.processes import environment, part
from tests.work.inbox.examples import BY_EMAIL, MINT, a_notification

from postroom.delivery.store.tables import delivery_requests
from postroom.inbox.model import Defer, Preferences
from postroom.inbox.store.mail import StoredPreferences
from postroom.inbox.store.notes import StoredNotes
from postroom.inbox.store.waiting import deferred_emails
from postroom.kernel.database.postgres import PostgresDatabase
from postroom.kernel.running.clock import SystemClock
from postroom.sandbox.faults import Fault, FaultChannel
from postroom.sandbox.server import Sandbox, serve

PEOPLE = 16
EACH = 2
HOUR_US = 3_600_000_000
QUICK = {
    "POSTROOM_INBOX__EMAIL_ENABLED": "true",
    "POSTROOM_INBOX__LEASE_SECONDS": "2",
    "POSTROOM_INBOX__SWEEP_SECONDS": "0.2",
    "POSTROOM_TIMEOUTS__EMAIL_SECONDS": "3",
    "POSTROOM_DELIVERY__LEASE_SECONDS": "2",
    "POSTROOM_DELIVERY__SWEEP_SECONDS": "0.5",
    "POSTROOM_DELIVERY__SLOTS_PER_CHANNEL": "2",
    "POSTROOM_LIMITS__GLOBAL_PER_MINUTE": "100000",
    "POSTROOM_LIMITS__CHANNELS": '{"email.bot": 100000}',
}


def wish(email: str, _: Preferences) -> Preferences:
    return replace(BY_EMAIL, email=email)


async def fill(database: PostgresDatabase) -> None:
    """Everybody has two notifications that wait for the same moment, which then comes for all of them at once."""
    notes, preferences, now_us = StoredNotes(database, MINT.mint), StoredPreferences(database), SystemClock().now_us()
    for number in range(PEOPLE):
        user_id = f"user{number}"
        await preferences.change(user_id, partial(wish, f"{user_id}@example.com"), now_us)
        for _ in range(EACH):
            new = a_notification(user_id, at_us=now_us)
            assert await notes.create(new, hourly_cap=10, judge=lambda *_: Defer(now_us + HOUR_US)) is not None
    due = update(deferred_emails).values(deliver_after=now_us)
    await database.write(lambda connection: connection.execute(due))


@contextmanager
def two_households(sandbox: Sandbox, url: str, folder: Path) -> Iterator[list[Popen[str]]]:
    shared = {
        **QUICK,
        "POSTROOM_DATABASE_URL": url,
        "POSTROOM_PORTS__SANDBOX": str(sandbox.bot_api_port),
        "POSTROOM_PORTS__SANDBOX_SMTP": str(sandbox.smtp_port),
    }
    with ExitStack() as stack:
        yield [
            stack.enter_context(part(environment(folder / name) | shared, "messenger")) for name in ("first", "second")
        ]


async def until(condition: Callable[[], Awaitable[bool]], what: str) -> None:
    for _ in range(600):
        if await condition():
            return
        await asyncio.sleep(0.05)
    raise AssertionError(what)


@pytest.mark.timeout(180)
async def test_every_e_mail_is_sent_once_or_marked(postgres_url: str, tmp_path: Path) -> None:
    database = PostgresDatabase(postgres_url)
    await database.migrate()

    async def all_settled() -> bool:
        waiting = select(func.count()).where(deferred_emails.c.delivered_at.is_(None))
        moving = select(func.count()).where(delivery_requests.c.status != "delivered")
        counts = await database.read(lambda one: [one.execute(count).scalar_one() for count in (waiting, moving)])
        return counts == [0, 0]

    async with serve() as sandbox:
        sandbox.faults.arm(Fault(channel=FaultChannel.EMAIL, times=-1, delay_seconds=0.15))

        async def some_arrived() -> bool:
            return sandbox.ledger.email.count(from_person=False, since=0) >= 4

        with two_households(sandbox, postgres_url, tmp_path) as households:
            await fill(database)
            await until(some_arrived, "no e-mail was sent")
            os.killpg(households[0].pid, signal.SIGKILL)
            assert not await all_settled(), "killed too late to show anything"
            await until(all_settled, "the other household did not finish")
        mails = [one.mail for one in sandbox.ledger.email.mails(from_person=False, since=0, limit=1000)]
    rows = select(delivery_requests.c.id, delivery_requests.c.possible_duplicate)
    deliveries = await database.read(lambda one: {row.id: row.possible_duplicate for row in one.execute(rows)})
    await database.close()

    assert len(deliveries) == PEOPLE, "one digest for each person, whoever released it"
    copies = Counter(str(mail.message_id).strip("<>").split("@")[0].split(".")[0] for mail in mails)
    assert set(copies) == set(deliveries)
    assert {one for one, count in copies.items() if count > 1} <= {one for one, marked in deliveries.items() if marked}
    assert all(mail.subject == f"{EACH} notifications" for mail in mails)
