"""Notices of the people of a household, through what every door calls."""

from __future__ import annotations

import itertools
from typing import Any

from postroom.attention.rules.policy import parse_policy
from postroom.household.channels import known_channels
from postroom.household.store import connect_store
from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.message.outgoing import Outcome
from postroom.message.wire import parse_notify
from postroom.people.model import NewPerson, PersonAddress, PersonRole
from tests.delivery.world import envelope
from tests.household.living import ALL_DAY, Living

ALWAYS_QUIET = {"zone": "Europe/Vienna", "quiet_hours": ALL_DAY}
_numbers = itertools.count()


async def wish(home: Living, person: str, policy: dict[str, Any]) -> None:
    await home.attention.set_policy(person, parse_policy(policy))


async def settle(home: Living, *names: str) -> None:
    """People with a phone, known by their names in lower case."""
    store = connect_store(home.settings)
    try:
        for place, name in enumerate(names):
            address = PersonAddress(channel="telegram", address=str(7000 + place), verified_at_us=1)
            person = NewPerson(name=name, role=PersonRole.MEMBER, zone="Europe/Vienna", addresses=(address,))
            await store.people.create(HOUSEHOLD_OWNER, person, source="test", now_us=1, reserved_id=name.lower())
    finally:
        await store.database.close()


async def say(home: Living, message: str, person: str | None = None, agent: str = "health", **more: Any) -> str:
    """The id of the notice; the person is the owner when none is named."""
    asked = envelope(message, recipient=person, origin_butler=agent, **more)
    outgoing = parse_notify(asked, known_channels(home.settings))
    attention = home.attention
    assert attention.considering is not None
    draft = await attention.considering.acceptance.draft(outgoing, f"console-{next(_numbers)}")
    outcome = await attention.consider(draft, wait_seconds=5)
    assert isinstance(outcome, Outcome) and outcome.notice_id is not None, outcome
    return outcome.notice_id
