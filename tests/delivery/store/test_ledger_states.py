"""The state machine of either ledger against a plain model: nothing lost, one owner, only the table's moves."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import Connection, select, text
from tests.opened_database import ledger_of
from tests.services.ready_file import ready_file
from tests.support.sample_deliveries import ENDINGS, NOON_US, SECOND, ending, new_delivery

from postroom.delivery.model import Claim, Lease
from postroom.delivery.store.tables import delivery_attempts, delivery_dead_letter, delivery_requests
from postroom.kernel.database.engine import Database
from postroom.kernel.database.postgres import PostgresDatabase
from postroom.kernel.database.sqlite import SqliteDatabase
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import TERMINAL, TRANSITIONS, DeliveryEvent, Receipt, Status

Result = TypeVar("Result")
EDGES = {(before, after) for (before, _), after in TRANSITIONS.items()}
PLACES = ["1", "2", "3"]
ADDRESSES = st.sampled_from(PLACES)
ORIGINS = st.sampled_from(["health", "general"])
KEYS = st.sampled_from([f"key-{number}" for number in range(12)])


@dataclass(slots=True)
class Row:
    """What the ledger should know about one delivery."""

    key: str
    address: str
    origin: str
    status: Status
    fence: int
    lease_until: int
    not_before: int
    attempts: int = 0
    calls: int = 0
    parts: int = 0
    sending: bool = False
    doubtful: bool = False

    @property
    def begun(self) -> bool:
        return self.parts > 0 or self.doubtful


@dataclass(slots=True)
class Model:
    rows: dict[str, Row] = field(default_factory=dict)
    now: int = NOON_US

    def by_key(self, key: str) -> str | None:
        return next((one for one, row in self.rows.items() if row.key == key), None)

    def open_ones(self, address: str) -> list[str]:
        open_ = (Status.PENDING, Status.IN_PROGRESS)
        return [one for one, row in self.rows.items() if row.address == address and row.status in open_]

    def claimable(self, address: str) -> set[str]:
        """Due, nothing to the same address under way, the first of its sender; what is begun comes before others."""
        open_ones = self.open_ones(address)
        if any(self.rows[one].status is Status.IN_PROGRESS for one in open_ones):
            return set()
        firsts = {self.rows[one].origin: one for one in sorted(open_ones, reverse=True)}.values()
        begun = [one for one in firsts if self.rows[one].begun]
        return {one for one in begun or firsts if self.rows[one].not_before <= self.now}

    def waiting_for_two(self, address: str) -> bool:
        """Two senders' texts were lost midway: which of them comes first is not for this model to say."""
        return sum(self.rows[one].begun for one in self.open_ones(address)) > 1


class LedgerMachine(RuleBasedStateMachine):
    postgres_url = ""  # without one it is a file of its own

    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="postroom-states-", ignore_cleanup_errors=True)
        self.loop = asyncio.new_event_loop()
        if self.postgres_url:
            self.database: Database = PostgresDatabase(self.postgres_url)
            self.run(self.database.write(_emptied))
        else:
            self.database = SqliteDatabase(ready_file(Path(self.folder.name) / "postroom.db"))
        self.ledger = ledger_of(self.database)
        self.model = Model()
        self.claims: list[Claim] = []  # every claim ever handed out, stale ones too
        self.seen: dict[str, Status] = {}

    async def awaited(self, asked: Callable[[], Awaitable[Result]]) -> Result:
        """Asked for in the loop that answers."""
        return await asked()

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return self.loop.run_until_complete(work)

    def teardown(self) -> None:
        if hasattr(self, "loop"):
            self.run(self.database.close())
            self.run(self.loop.shutdown_default_executor())
            self.loop.close()
            self.folder.cleanup()

    # -- what can happen ---------------------------------------------------------------------------------------

    @rule(key=KEYS, address=ADDRESSES, origin=ORIGINS, sending=st.sampled_from([None, False, True]))
    def insert(self, key: str, address: str, origin: str, sending: bool | None) -> None:
        model, known = self.model, self.model.by_key(key)
        new = new_delivery(idempotency_key=key, address=address, origin_butler=origin, created_at_us=model.now)
        lease = None if sending is None else Lease(until_us=model.now + 30 * SECOND, sending=sending)
        expected_lease = lease is not None and not model.open_ones(address)

        inserted = self.run(self.awaited(lambda: self.ledger.insert(new, lease)))

        assert inserted.created is (known is None)
        if known is not None:
            assert (inserted.snapshot.id, inserted.claim) == (known, None)
            return
        assert (inserted.claim is not None) is expected_lease
        status = Status.IN_PROGRESS if expected_lease else Status.PENDING
        model.rows[new.id] = Row(key, address, origin, status, 1, lease.until_us if lease else 0, model.now)
        if inserted.claim is not None:
            assert inserted.claim.sending is sending
            model.rows[new.id].sending = inserted.claim.sending
            self.claims.append(inserted.claim)

    @rule(limit=st.integers(1, 6))
    def claim(self, limit: int) -> None:
        model = self.model
        possible = {place: found for place in PLACES if (found := model.claimable(place))}
        certain = {place for place in possible if not model.waiting_for_two(place)}
        until = model.now + 30 * SECOND

        claims = self.run(self.ledger.claim("telegram", now_us=model.now, lease_until_us=until, limit=limit))

        taken = {claim.id for claim in claims}
        assert len(taken) == len(claims)
        places = [claim.address for claim in claims]
        assert all(claim.id in possible[claim.address] for claim in claims)
        assert len(places) == len(set(places)), "two to one address at once"
        if certain:
            assert taken, "something was due and nobody got it"
        if limit >= 2 * len(possible):
            assert certain <= set(places)
        for claim in claims:
            row = model.rows[claim.id]
            row.status, row.fence, row.lease_until = Status.IN_PROGRESS, row.fence + 1, until
            assert (claim.fence, claim.attempts, claim.calls, claim.parts_done) == (
                row.fence,
                row.attempts,
                row.calls,
                row.parts,
            )
            self.claims.append(claim)

    @rule()
    def reclaim(self) -> None:
        model = self.model
        expired = {
            one for one, row in model.rows.items() if row.status is Status.IN_PROGRESS and row.lease_until < model.now
        }
        until = model.now + 30 * SECOND

        claims = self.run(
            self.ledger.reclaim(expired_before_us=model.now, now_us=model.now, lease_until_us=until, limit=100)
        )

        assert {claim.id for claim in claims} == expired
        for claim in claims:
            row = model.rows[claim.id]
            row.fence, row.lease_until, row.doubtful = row.fence + 1, until, row.doubtful or row.sending
            assert (claim.fence, claim.sending) == (row.fence, row.sending)
            self.claims.append(claim)

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def mark(self, data: st.DataObject) -> None:
        claim = self.any_claim(data)
        until = self.model.now + 45 * SECOND

        marked = self.run(
            self.awaited(lambda: self.ledger.mark_sending(claim, now_us=self.model.now, lease_until_us=until))
        )

        assert marked is self.valid(claim)
        if marked:
            row = self.model.rows[claim.id]
            row.sending, row.lease_until = True, until

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def advance(self, data: st.DataObject) -> None:
        claim = self.any_claim(data)
        row = self.model.rows[claim.id]
        claim = replace(claim, parts_done=row.parts)
        until = self.model.now + 45 * SECOND

        moved = self.run(
            self.ledger.advance(claim, Receipt(str(row.parts)), now_us=self.model.now, lease_until_us=until)
        )

        assert moved is self.valid(claim)
        if moved:
            row.parts, row.lease_until, row.doubtful = row.parts + 1, until, False

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), event=st.sampled_from(ENDINGS), delay=st.sampled_from([0, 5, 60]))
    def settle(self, data: st.DataObject, event: DeliveryEvent, delay: int) -> None:
        claim, model = self.any_claim(data), self.model
        row = model.rows[claim.id]
        claim = replace(claim, attempts=row.attempts, calls=row.calls, parts_done=row.parts)
        done = ending(claim, event, now_us=model.now, delay_seconds=delay)

        settled = self.run(self.awaited(lambda: self.ledger.settle(done)))

        assert settled is self.valid(claim)
        if settled:
            row.status, row.sending, row.not_before = done.status, False, done.not_before_us
            row.doubtful = done.doubtful_since_us is not None
            row.attempts, row.calls = done.attempts, row.calls + (1 if done.attempt else 0)

    @rule(seconds=st.sampled_from([1, 31, 61]))
    def time_passes(self, seconds: int) -> None:
        self.model.now += seconds * SECOND

    # -- what must always hold ---------------------------------------------------------------------------------

    @invariant()
    def the_ledger_is_as_the_model_says(self) -> None:
        if not hasattr(self, "model"):
            return
        rows = {row["id"]: row for row in self.rows(delivery_requests)}
        assert set(rows) == set(self.model.rows), "a delivery was lost or made up"
        for one, expected in self.model.rows.items():
            row = rows[one]
            assert row["status"] == expected.status
            assert (row["fence"], row["attempts"], row["calls"], row["parts_done"]) == (
                expected.fence,
                expected.attempts,
                expected.calls,
                expected.parts,
            )
            assert bool(row["sending"]) is expected.sending
            assert (row["lease_until"] is not None) is (expected.status is Status.IN_PROGRESS)
            assert (row["terminal_at"] is not None) is (expected.status in TERMINAL)
            before = self.seen.get(one, expected.status)
            assert before is expected.status or _reachable(before, expected.status)
            self.seen[one] = expected.status

    @invariant()
    def every_call_and_every_dead_letter_is_on_record_once(self) -> None:
        if not hasattr(self, "model"):
            return
        calls = sum(row.calls for row in self.model.rows.values())
        dead = {one for one, row in self.model.rows.items() if row.status is Status.DEAD_LETTERED}
        assert len(self.rows(delivery_attempts)) == calls
        assert {row["delivery_request_id"] for row in self.rows(delivery_dead_letter)} == dead

    @invariant()
    def at_most_one_claim_on_each_delivery_is_valid(self) -> None:
        if hasattr(self, "model"):
            owners = [(claim.id, claim.fence) for claim in self.claims if self.valid(claim)]
            assert len(owners) == len(set(owners)) == len({one for one, _ in owners})

    # -- in words ----------------------------------------------------------------------------------------------

    def any_claim(self, data: st.DataObject) -> Claim:
        """Mostly on something under way, where a stale one could do harm; sometimes any at all."""
        contested = [one for one in self.claims if self.model.rows[one.id].status is Status.IN_PROGRESS]
        return data.draw(st.sampled_from(contested or self.claims) | st.sampled_from(self.claims))

    def valid(self, claim: Claim) -> bool:
        row = self.model.rows[DeliveryId(claim.id)]
        return row.status is Status.IN_PROGRESS and row.fence == claim.fence

    def rows(self, table: Any) -> list[Any]:
        return self.run(self.database.read(lambda connection: list(connection.execute(select(table)).mappings())))


def _reachable(before: Status, after: Status) -> bool:
    """In one step: an operation makes one move, except the claim at insert."""
    return (before, after) in EDGES


def _emptied(connection: Connection) -> None:
    connection.execute(text("TRUNCATE messenger.delivery_requests CASCADE"))


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("kind", "examples"), [("sqlite", 40), ("postgres", 40)])
def test_whatever_happens_the_ledger_is_as_the_model_says(
    request: pytest.FixtureRequest, kind: str, examples: int
) -> None:
    url = request.getfixturevalue("postgres_url") if kind == "postgres" else ""
    bounds = settings(
        max_examples=examples,
        stateful_step_count=40,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    run_state_machine_as_test(type("Machine", (LedgerMachine,), {"postgres_url": url}), settings=bounds)
