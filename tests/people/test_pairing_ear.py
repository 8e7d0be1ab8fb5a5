"""Who sends a code from their own account, alone with the bot, is bound; to all others it is as if there were none."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.channels.slack.fake_slack import envelope, said
from tests.clock import START_US, FakeClock
from tests.opened_database import opened_database
from tests.work.people.heard import SaidBack, written

from postroom.channels.slack.listening import inbound_event
from postroom.kernel.values.ids import IdMint
from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.message.inbound import Flag, InboundMessage
from postroom.people.model import NewPerson, Person, PersonAddress
from postroom.people.names.normalise import keys_of
from postroom.people.pairing import PAIRED, Codes, NewPairing, PairingEar
from postroom.people.store.addresses import StoredPairings
from postroom.people.store.people import StoredPeople

CODES = Codes(key=b"k" * 32)
CODE = CODES.code("seed")


@dataclass(frozen=True, slots=True)
class Desk:
    people: StoredPeople
    ear: PairingEar
    said: SaidBack

    async def person(self, name: str, *addresses: PersonAddress) -> Person:
        new = NewPerson(name=name, addresses=addresses)
        return await self.people.create(HOUSEHOLD_OWNER, new, source="api", now_us=1)

    async def started(self, channel: str = "telegram") -> Person:
        """Anna, with a code open."""
        anna = await self.person("Anna")
        new = NewPairing(id="p", person_id=anna.id, channel=channel, digest=CODES.digest(CODE), created_at_us=START_US)
        await StoredPairings(self.people).start(new)
        return anna

    async def proved(self, person: Person) -> list[str]:
        found = await self.people.get(HOUSEHOLD_OWNER, person.id)
        assert found is not None
        return [one.address for one in found.addresses if one.verified_at_us is not None]


@pytest.fixture
async def desk(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Desk]:
    async with opened_database("sqlite", tmp_path, request) as database:
        people, said = StoredPeople(database, IdMint().mint, keys_of), SaidBack()
        ear = PairingEar(record=StoredPairings(people), codes=CODES, outbound=said, clock=FakeClock())
        yield Desk(people, ear, said)


@pytest.mark.requirement("chan:pairing-code")
@pytest.mark.parametrize("text", [CODE, CODE.lower(), f"/start {CODE}", f"Hi, my code is {CODE}."])
async def test_the_sender_is_bound_and_hears_so_in_one_sentence(desk: Desk, text: str) -> None:
    anna = await desk.started()

    assert await desk.ear.words(written(text))

    assert await desk.proved(anna) == ["2000"]
    assert desk.said.words == [PAIRED.format(name="Anna")]
    assert desk.said.messages[0].context is not None
    assert desk.said.messages[0].context.source_thread_identity == "2000:7"


async def test_a_message_that_is_read_again_has_the_same_reply_under_the_same_key(desk: Desk) -> None:
    await desk.started()

    assert [await desk.ear.words(written(CODE)) for _ in range(2)] == [True, True]

    first, second = desk.said.messages
    assert first == second and first.idempotency_key is not None


@pytest.mark.requirement("chan:pairing-who")
@pytest.mark.parametrize(
    "more",
    [
        {"alone": False},
        {"flags": frozenset({Flag.FORWARDED})},
        {"flags": frozenset({Flag.BOT})},
        {"flags": frozenset({Flag.ANONYMOUS})},
        {"flags": frozenset({Flag.AUTOMATIC})},
        {"sender": None},
        {"channel": "slack"},
    ],
    ids=["group", "forwarded", "bot", "anonymous", "automatic", "no sender", "another channel"],
)
async def test_no_other_pairs_and_the_code_stays_good(desk: Desk, more: dict[str, Any]) -> None:
    anna = await desk.started()

    assert not await desk.ear.words(written(CODE, **more))
    assert (desk.said.messages, await desk.proved(anna)) == ([], [])

    assert await desk.ear.words(written(CODE))


@pytest.mark.requirement("chan:pairing-who")
@pytest.mark.parametrize("text", ["WRONG234", "Hello there", "", None])
async def test_a_stranger_without_a_code_is_left_to_the_others(desk: Desk, text: str | None) -> None:
    await desk.started()

    assert not await desk.ear.words(written(text))
    assert desk.said.messages == []


@pytest.mark.requirement("chan:pairing-taken")
async def test_an_address_of_another_person_is_refused_in_the_log_without_a_word_of_the_message(desk: Desk) -> None:
    anna = await desk.started()
    bob = await desk.person("Bob", PersonAddress(channel="telegram", address="2000", verified_at_us=1))

    with capture_logs() as logs:
        assert await desk.ear.words(written(f"here: {CODE}"))

    assert (desk.said.messages, await desk.proved(anna), await desk.proved(bob)) == ([], [], ["2000"])
    assert [one["event"] for one in logs] == ["pairing.refused"]
    assert CODE not in repr(logs) and "2000" not in repr(logs)


@pytest.mark.requirement("chan:pairing-code")
async def test_on_slack_the_user_is_bound_and_not_the_conversation(desk: Desk) -> None:
    anna = await desk.started("slack")

    in_channel = inbound_event("slack", envelope("e1", said(CODE, channel="C1", channel_type="channel")))
    alone = inbound_event("slack", envelope("e2", said(CODE)))

    assert isinstance(in_channel, InboundMessage) and isinstance(alone, InboundMessage)
    assert [await desk.ear.words(in_channel), await desk.ear.words(alone)] == [False, True]
    assert (alone.places, await desk.proved(anna)) == (("D1", "U1"), ["U1"])
