"""Whatever fails, and whenever: a provider that can be asked or drops copies shows one copy, or the copy is marked."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.delivery.keeping_provider import ASKED, BOTH, DROPS, Act, FindAct, house
from tests.opened_database import KINDS, opened_database

from postroom.kernel.database.engine import Database
from postroom.message.channel import Capabilities
from postroom.message.delivery import OnUncertain

EXAMPLES = {"sqlite": 250, "postgres": 60}
TEXT = "One|Two"


@pytest.mark.requirement("chan:never-two-copies")
@pytest.mark.parametrize("kind", KINDS)
def test_no_sequence_of_failures_leaves_two_copies_unmarked(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if kind == "postgres":
        request.getfixturevalue("postgres_url")  # before a loop of our own runs

    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        database = runner.run(stack.enter_async_context(opened_database(kind, tmp_path, request)))

        @settings(max_examples=EXAMPLES[kind], deadline=None, suppress_health_check=list(HealthCheck))
        @given(
            acts=st.lists(st.sampled_from(Act), max_size=6),
            finds=st.lists(st.sampled_from([FindAct.TELLS, FindAct.FAILS]), max_size=4),
            can=st.sampled_from([ASKED, DROPS, BOTH]),
            policy=st.sampled_from(OnUncertain),
        )
        @example(acts=[Act.CUT_AFTER, Act.LOST], finds=[FindAct.FAILS], can=ASKED, policy=OnUncertain.RESEND)
        def check(acts: list[Act], finds: list[FindAct], can: Capabilities, policy: OnUncertain) -> None:
            runner.run(_story(database, acts, finds, can, policy))

        try:
            check()
        finally:
            runner.run(stack.aclose())


async def _story(
    database: Database, acts: list[Act], finds: list[FindAct], can: Capabilities, policy: OnUncertain
) -> None:
    world = house(database, can, *acts, finds=finds)
    new = await world.accept(TEXT, on_uncertain=policy)
    await world.go_on()

    row = await world.row_of(new.id)
    copies = [world.provider.copies(f"{new.id}/{place}") for place in range(2)]
    no_answer = can is ASKED and FindAct.FAILS in finds
    marked = bool(row["possible_duplicate"])
    assert max(copies) <= 1 or (marked and no_answer and policy is OnUncertain.RESEND)
    assert not marked or no_answer, "what cannot be doubled is not marked"
    assert row["status"] in ("delivered", "dead_lettered")
    if row["status"] == "delivered":
        assert min(copies) >= 1, "nothing is called delivered that is not there"
