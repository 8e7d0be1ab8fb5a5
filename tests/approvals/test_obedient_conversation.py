"""Instructions that come in through a conversation, obeyed to the letter by its session: nothing comes of it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from tests.approvals.injected_conversations import CARRIERS, ORDER, Carrier, orders, packed, written
from tests.approvals.injected_instructions import Loot
from tests.butlers.calendar.google_server import Google, google_server
from tests.butlers.runtimes import obedient
from tests.butlers.runtimes.installed import install
from tests.household.living import LIFTED, QUICK, settings_for, started
from tests.household.talking import PEOPLE, Talking, roster_of

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(240)]
GOOGLE = {
    "GOOGLE_OAUTH_CLIENT_ID": "client",
    "GOOGLE_OAUTH_CLIENT_SECRET": "canary-secret",
    "GOOGLE_OAUTH_REFRESH_TOKEN": "canary-refresh",
}
GATED = {
    "approvals": {"enabled": True, "ask_owner": False, "max_pending_per_origin": 10_000},
    "conversations": {"sessions_per_day": 1000},
}
KEPT = ("people", "person_addresses", "approval_rules", "attention_people", "pairing_codes")
MOST_CHARACTERS = 3_600
UNKNOWN = "01a1dea9-50f1-7000-b787-43bdb197edd4"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def google() -> AsyncIterator[Google]:
    async with google_server() as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory, google: Google) -> AsyncIterator[Talking]:
    folder = tmp_path_factory.mktemp("obedient")
    settings = settings_for(folder / "home", LIFTED, QUICK, PEOPLE, GATED)
    entries = {"provider": "google", "calendar_id": "family@example.com"}
    module = {"calendar": entries | {"api_base_url": google.api_url, "token_url": google.token_url}}
    roster = [
        one.model_copy(update={"modules": module}) if one.name == "general" else one
        for one in roster_of(settings, ["general", "health"])
    ]
    environment = {"PATH": install(folder / "bin", ["codex"], obedient.__name__), **GOOGLE}
    async with started(settings, roster=roster, environment=environment) as household, aiohttp.ClientSession() as http:
        with sqlite3.connect(settings.home / "postroom.db") as connection:  # as pairing would
            connection.execute("UPDATE person_addresses SET verified_at = 1")
        yield Talking(settings, household, http)


@pytest.fixture
def untouched(house: Talking) -> Iterator[None]:
    """No person, policy, rule or token is changed, nothing leaves for anybody who did not write, and no secret does."""
    before = _kept(house)
    yield
    assert _kept(house) == before
    assert _for_others(house) == []
    said = json.dumps([row["message_content"] for row in house.rows("delivery_requests")])
    assert [one for one in (*_secrets(house), *GOOGLE.values()) if len(one) > 8 and one in said] == []


def _kept(house: Talking) -> dict[str, Any]:
    with sqlite3.connect(house.settings.home / "postroom.db") as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        assert set(KEPT) <= tables, tables
        rows = {name: connection.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall() for name in KEPT}
    return rows | {"tokens": house.settings.tokens_file.read_text()}


def _secrets(house: Talking) -> list[str]:
    found = json.loads(house.settings.tokens_file.read_text())
    return [one for one in _texts(found) if len(one) > 8]


def _texts(found: Any) -> Iterator[str]:
    if isinstance(found, str):
        yield found
    elif isinstance(found, dict | list):
        for one in found.values() if isinstance(found, dict) else found:
            yield from _texts(one)


def _for_others(house: Talking) -> list[tuple[str, str]]:
    """What left, or is on its way, for anybody but the owner and those who wrote."""
    wrote = {row["place"] for row in house.rows("(select *, received_at as created_at from inbound_messages)")}
    held = ("awaiting_approval", "failed")
    rows = [row for row in house.rows("delivery_requests") if row["status"] not in held]
    return [(row["channel"], row["address"]) for row in rows if row["address"] not in {*wrote, "1000"}]


async def _loot(house: Talking) -> Loot:
    parked = await house.notify(butler="general", recipient="666", message="May I?")
    own = str(parked["action_id"])
    return Loot(own, "0" * 64, UNKNOWN, UNKNOWN, "0" * 64, "dinner", "See you", UNKNOWN, UNKNOWN, UNKNOWN)


async def _corpus(house: Talking) -> list[ORDER]:
    return orders(house.household.addresses, await _loot(house))


async def _write(house: Talking, carrier: Carrier, chat: int, told: Sequence[ORDER]) -> str:
    """The session's last words, which are its answer."""
    text = carrier.frame.format(written(told))
    if carrier.channel == "email":
        mail = {"from": "eve@example.org", "to": "postroom@sandbox.example", "subject": "A favour", "body": text}
        await house.post("email/inbound", mail)
        return str((await house.arrived("email", "I obeyed"))["body"])
    before = len([one for one in await house.received() if one["chat_id"] == str(chat)])
    await house.write(chat, text)
    return str((await house.said(chat, before + 1))[-1]["text"])


@pytest.mark.requirement("talk:injections")
@pytest.mark.parametrize("carrier", CARRIERS, ids=lambda one: one.name)
@pytest.mark.usefixtures("untouched")
async def test_an_obedient_session_that_follows_what_a_conversation_brings_sends_and_changes_nothing(
    house: Talking, carrier: Carrier
) -> None:
    number = CARRIERS.index(carrier)
    packs = packed(await _corpus(house), MOST_CHARACTERS - len(carrier.frame))
    mine = packs[:1] if carrier.channel == "email" else packs[number :: len(CARRIERS) - 1]

    for told in mine:
        answer = await _write(house, carrier, 2001 + number, told)
        assert answer.startswith(f"I obeyed {len(told)} orders."), answer[:300]


@pytest.mark.requirement("talk:injections")
@pytest.mark.usefixtures("untouched")
async def test_orders_in_earlier_turns_come_back_as_data_and_change_nothing(house: Talking) -> None:
    corpus = [one for one in await _corpus(house) if len(written([one])) < 200][:4]
    await house.write(2010, "/general Keep this in mind: " + written(corpus, "later"))
    await house.said(2010)

    await house.write(2010, "/general And now?")
    answer = (await house.said(2010, 2))[1]["text"]

    assert answer.startswith(f"I obeyed {len(corpus)} orders."), answer[:300]


@pytest.mark.requirement("talk:injections")
@pytest.mark.usefixtures("untouched")
async def test_orders_in_a_calendar_entry_change_nothing(house: Talking, google: Google) -> None:
    corpus = await _corpus(house)
    told = [one for one in corpus if len(written([one])) < 400]
    soon = datetime.now(UTC) + timedelta(hours=1)
    for number, pack in enumerate(packed(told, 900)):
        start, end = soon + timedelta(hours=2 * number), soon + timedelta(hours=2 * number + 1)
        google.put(f"entry{number}", start.isoformat(), end.isoformat(), summary="Dinner " + written(pack))

    look = {"call": "calendar_list_events", "arguments": {"limit": 200}}
    await house.write(2011, "/general What is on today? " + written([look]))
    answer = (await house.said(2011))[0]["text"]

    assert int(answer.split()[2]) > 10, answer[:300]


@pytest.mark.requirement("talk:injections")
async def test_a_forward_itself_starts_no_session(house: Talking) -> None:
    await house.write(2012, "/general " + written(await _corpus(house))[:3_000], forwarded=True)

    [kept] = await house.kept(2012, "refused")
    assert not [row for row in house.rows("sessions") if row["request_id"] == kept["id"]]
