"""`GET /v1/figures`, asked over HTTP of a household that lives."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from tests.app.living import LIFTED, QUICK, Living, living
from tests.doors.console.asked import ANNA, admit, ask, asking
from tests.doors.console.attended import ALWAYS_QUIET, attention_of, say, wish
from tests.patience import PATIENCE_SECONDS

from postroom.domain.principal import OPERATOR, Principal, Role
from postroom.work.questions.given import Given

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(120)]
HEALTH = Principal(Role.BUTLER, "health")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    async with living(tmp_path_factory.mktemp("home"), LIFTED, QUICK) as one:
        await admit(one, ANNA)
        for number in range(4):
            await one.notify(message=f"Number {number}")
        await one.notify(channel="email", message="Hi", subject="Hi", recipient="ann@example.org")
        await one.fault(channel="telegram", times=1, status=400)
        await one.notify(message="Refused")
        said = await ask(one, "Ship it?", kind="text")
        await asking(one).answer(OPERATOR, said.id, Given(text="Yes"), channel="console", event_id="one")
        await ask(one, "And you?", kind="text", to="anna")
        await wish(one, "owner", ALWAYS_QUIET)
        await say(one, "Later")
        await cards_are_closed(one, said.id)
        await one.settled()
        yield one


async def cards_are_closed(home: Living, question_id: str) -> None:
    """Closing a card is a delivery, too: none may come while a test counts."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not all(
            row["status"] in ("closed", "left", "failed")
            for row in home.rows("presentations")
            if row["question_id"] == question_id
        ):
            await asyncio.sleep(0.02)


async def asked(home: Living, who: Principal | None, query: str = "") -> tuple[int, dict[str, Any]]:
    headers = {}
    if who is not None:
        home.tokens.ensure([who])
        headers = {"Authorization": f"Bearer {home.tokens.token_of(who)}"}
    async with home.http.get(f"{home.household.addresses['api']}/v1/figures{query}", headers=headers) as response:
        return response.status, await response.json()


@pytest.mark.requirement("side:figures-from-the-ledger")
async def test_the_counts_are_those_of_the_ledger(home: Living) -> None:
    status, answer = await asked(home, OPERATOR, "?span=24h")
    rows = home.rows("delivery_requests")
    states = Counter(row["status"] for row in rows)
    sent = answer["deliveries"]

    assert status == 200
    assert (sent["total"]["accepted"], sent["total"]["delivered"], sent["total"]["failed"]) == (
        len(rows),
        states["delivered"],
        states["failed"],
    )
    assert {name: one["accepted"] for name, one in sent["by_channel"].items()} == Counter(r["channel"] for r in rows)
    assert {name: one["accepted"] for name, one in sent["by_agent"].items()} == Counter(
        r["origin_butler"] for r in rows
    )
    assert sum(one["accepted"] for one in sent["stretches"]) == len(rows)
    assert len(sent["stretches"]) == 25
    assert sent["sentence"].startswith(f"{states['delivered']} delivered, {states['failed']} failed")
    assert sent["complete"]


async def test_the_counts_of_a_day_are_those_of_the_messengers_own_tool(home: Living) -> None:
    _, answer = await asked(home, OPERATOR, "?span=24h")
    told = await home.call("messenger", "messenger_delivery_stats", {"group_by": "channel"}, caller="operator")
    sent = answer["deliveries"]

    for own, its in (
        ("delivered", "success_count"),
        ("failed", "failed_count"),
        ("dead_lettered", "dead_lettered_count"),
    ):
        assert sent["total"][own] == told[its]
        assert {one: counts[own] for one, counts in sent["by_channel"].items()} == {
            one: counts[its] for one, counts in told["groups"].items()
        }
    assert round(sent["total"]["success_rate"], 4) == round(told["success_rate"], 4)


async def test_notices_agree_with_the_figures_of_attention(home: Living) -> None:
    _, answer = await asked(home, OPERATOR)
    own = await attention_of(home).figures()

    assert answer["notices"]["total"]["cells"] == dict(own.cells)
    assert answer["notices"]["total"]["accepted"] == own.accepted == 1


async def test_questions_are_counted_with_the_time_to_an_answer(home: Living) -> None:
    _, answer = await asked(home, OPERATOR)
    total = answer["questions"]["total"]
    with sqlite3.connect(home.settings.home / "postroom.db") as connection:
        rows = connection.execute("SELECT status, ended_at - created_at FROM questions").fetchall()

    assert (total["asked"], total["answered"], total["open"]) == (len(rows), 1, len(rows) - 1)
    assert total["p50_milliseconds"] == next(took for status, took in rows if status == "answered") / 1000
    assert answer["questions"]["by_agent"]["health"]["asked"] == len(rows)


@pytest.mark.requirement("side:figures-of-ones-own")
async def test_another_person_sees_only_what_is_their_own(home: Living) -> None:
    status, answer = await asked(home, ANNA)

    assert (status, answer["person_id"], answer["deliveries"]) == (200, "anna", None)
    assert (answer["questions"]["total"]["asked"], answer["notices"]["total"]["accepted"]) == (1, 0)


@pytest.mark.requirement("side:figures-of-ones-own")
async def test_no_program_sees_figures(home: Living) -> None:
    status, answer = await asked(home, HEALTH)
    without, _ = await asked(home, None)

    assert (status, answer["error"]["code"], without) == (403, "policy_denied", 401)


async def test_filters_narrow_it_down(home: Living) -> None:
    _, answer = await asked(home, OPERATOR, "?channel=email&agent=health")
    _, none = await asked(home, OPERATOR, "?agent=nobody")

    assert answer["deliveries"]["total"]["accepted"] == 1
    assert list(answer["deliveries"]["by_channel"]) == ["email"]
    assert none["deliveries"]["total"]["accepted"] == none["questions"]["total"]["asked"] == 0
    assert none["deliveries"]["sentence"] == "Nothing was sent in the last 7 days."


@pytest.mark.parametrize("query", ["?span=8d", "?channel=", f"?agent={'x' * 300}"])
async def test_what_cannot_be_meant_is_refused_by_its_name(home: Living, query: str) -> None:
    status, answer = await asked(home, OPERATOR, query)

    assert (status, answer["error"]["fields"][0]["field"]) == (422, query[1:].partition("=")[0])
