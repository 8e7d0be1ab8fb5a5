"""How many wrong codes are too many, and for how long."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs
from tests.channels.slack.fake_slack import envelope, said
from tests.clock import START_US, FakeClock
from tests.people.heard import SaidBack, written

from postroom.channels.slack.listening import inbound_event
from postroom.kernel.database.engine import Database
from postroom.kernel.values.ids import IdMint, seconds
from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.message.channel import Capabilities
from postroom.message.inbound import Flag, InboundMessage
from postroom.people.model import (
    CODES_CLOSED_SECONDS,
    MOST_WRONG_CODES,
    NewPairing,
    NewPerson,
    Person,
    PersonAddress,
    WrongCodes,
)
from postroom.people.pairing import ALPHABET, FIRST_HERE, PAIRED, Codes, FirstHere, PairingEar, codes_in, proves_senders
from postroom.people.store.addresses import StoredPairings
from postroom.people.store.people import StoredPeople

HOUR_US = seconds(CODES_CLOSED_SECONDS)
NOW_US = 10 * HOUR_US


def wrong(times: int, now_us: int = NOW_US) -> WrongCodes:
    found = WrongCodes()
    for _ in range(times):
        found = found.and_more(1, now_us)
    return found


def test_more_wrong_codes_make_the_hour_no_longer() -> None:
    closed = wrong(MOST_WRONG_CODES)

    assert closed.and_more(5, NOW_US + 1) == closed


def test_after_an_hour_without_one_the_count_begins_anew() -> None:
    assert wrong(MOST_WRONG_CODES).and_more(1, NOW_US + HOUR_US).count == 1
    assert wrong(3).and_more(2, NOW_US + 1).count == 5


ANNA = NewPerson(
    name="Anna",
    addresses=(
        PersonAddress(channel="email", address="anna@x.org", rank=1, verified_at_us=1),
        PersonAddress(channel="slack", address="U1", rank=2, verified_at_us=1),
        PersonAddress(channel="telegram", address="2000", rank=3, verified_at_us=1),
        PersonAddress(channel="telegram", address="3000", rank=4),
    ),
)


@dataclass(frozen=True, slots=True)
class Desk:
    people: StoredPeople
    here: FirstHere
    said: SaidBack
    anna: Person

    async def order(self) -> list[str]:
        found = await self.people.get(HOUSEHOLD_OWNER, self.anna.id)
        assert found is not None
        assert [one.rank for one in found.addresses] == list(range(1, 5))
        return [one.address for one in found.addresses]


@pytest.fixture
async def desk(database: Database) -> Desk:
    people, said = StoredPeople(database, IdMint().mint, ()), SaidBack()
    anna = await people.create(HOUSEHOLD_OWNER, ANNA, source="api", now_us=1)
    return Desk(people, FirstHere(people=people, outbound=said, clock=FakeClock()), said, anna)


@pytest.mark.requirement("chan:here")
async def test_the_place_comes_first_until_another_one_does(desk: Desk) -> None:
    assert await desk.here.words(written("/here"))
    assert await desk.order() == ["2000", "anna@x.org", "U1", "3000"]
    assert desk.said.words == [FIRST_HERE]

    there = {"channel": "slack", "places": ("D1", "U1"), "sender": "U1"}
    assert await desk.here.words(written("Write to me here instead.", **there))
    assert await desk.order() == ["U1", "2000", "anna@x.org", "3000"]


@pytest.mark.requirement("chan:here")
@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("/here", {"sender": "3000"}),
        ("/here", {"sender": "6666"}),
        ("/here", {"sender": None}),
        ("/here", {"alone": False}),
        ("/here", {"flags": frozenset({Flag.FORWARDED})}),
        ("write to me here", {"replies_to": "5"}),
        ("/hereafter", {}),
        ("do not write to me here", {}),
        (None, {}),
    ],
    ids=["unverified", "stranger", "bot", "group", "forwarded", "an answer", "other", "opposite", "nothing"],
)
async def test_all_others_change_nothing_and_hear_nothing(desk: Desk, text: str | None, more: dict[str, Any]) -> None:
    assert not await desk.here.words(written(text, **more))
    assert (desk.said.messages, (await desk.order())[0]) == ([], "anna@x.org")


CODES = Codes(key=b"k" * 32)


@given(st.text())
def test_a_code_is_eight_characters_that_cannot_be_mistaken(seed: str) -> None:
    code = CODES.code(seed.encode("utf-8", "replace").decode())

    assert re.fullmatch("[A-Z0-9]{8}", code) and set(code) <= set(ALPHABET)
    assert not set("O0I1") & set(code)
    assert codes_in(f"my code is {code}, thanks") == [code]


def test_what_is_kept_depends_on_the_household_and_tells_nothing() -> None:
    other = Codes(key=b"o" * 32)

    assert CODES.digest("ABCD2345") != other.digest("ABCD2345")
    assert "ABCD2345" not in CODES.digest("ABCD2345") and "k" * 8 not in repr(CODES)
    assert len({CODES.code(str(n)) for n in range(200)}) == 200


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ABCD2345", ["ABCD2345"]),
        ("  abcd2345\n", ["ABCD2345"]),
        ("/start ABCD2345", ["ABCD2345"]),
        ("/start@our_bot abcd2345", ["ABCD2345"]),
        ("Hello! It is ABCD2345.", ["ABCD2345"]),
        ("(ABCD2345) or **WXYZ6789**", ["ABCD2345", "WXYZ6789"]),
        ("my question is whether this shipment", []),
        ("ABCD23456", []),
        ("xABCD2345", []),
        ("ABCD234", []),
        ("ÄABCD2345", []),
        ("ＡＢＣＤ２３４５", []),
        ("", []),
    ],
)
def test_codes_are_found_where_people_put_them(text: str, found: list[str]) -> None:
    assert codes_in(text) == found


def test_of_many_guesses_in_one_message_only_the_first_are_looked_at() -> None:
    assert len(codes_in(" ".join(f"ABCD{n:04}" for n in range(1000)))) == 10


@pytest.mark.parametrize(
    ("can", "proves"),
    [
        (Capabilities(inbound=True), True),
        (Capabilities(), False),
        (Capabilities(inbound=True, style="letter"), False),
    ],
)
def test_only_a_chat_that_is_heard_proves_its_senders(can: Capabilities, proves: bool) -> None:
    assert proves_senders(can) is proves


# Who sends a code from their own account, alone with the bot, is bound; to all others it is as if there were none.

CODE = CODES.code("seed")


@dataclass(frozen=True, slots=True)
class EarDesk:
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
def ear_desk(sqlite_database: Database) -> EarDesk:
    people, said = StoredPeople(sqlite_database, IdMint().mint, ()), SaidBack()
    ear = PairingEar(record=StoredPairings(people), codes=CODES, outbound=said, clock=FakeClock())
    return EarDesk(people, ear, said)


@pytest.mark.requirement("chan:pairing-code")
@pytest.mark.parametrize("text", [CODE, CODE.lower(), f"/start {CODE}", f"Hi, my code is {CODE}."])
async def test_the_sender_is_bound_and_hears_so_in_one_sentence(ear_desk: EarDesk, text: str) -> None:
    anna = await ear_desk.started()

    assert await ear_desk.ear.words(written(text))

    assert await ear_desk.proved(anna) == ["2000"]
    assert ear_desk.said.words == [PAIRED.format(name="Anna")]
    assert ear_desk.said.messages[0].context is not None
    assert ear_desk.said.messages[0].context.source_thread_identity == "2000:7"


async def test_a_message_that_is_read_again_has_the_same_reply_under_the_same_key(ear_desk: EarDesk) -> None:
    await ear_desk.started()

    assert [await ear_desk.ear.words(written(CODE)) for _ in range(2)] == [True, True]

    first, second = ear_desk.said.messages
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
async def test_no_other_pairs_and_the_code_stays_good(ear_desk: EarDesk, more: dict[str, Any]) -> None:
    anna = await ear_desk.started()

    assert not await ear_desk.ear.words(written(CODE, **more))
    assert (ear_desk.said.messages, await ear_desk.proved(anna)) == ([], [])

    assert await ear_desk.ear.words(written(CODE))


@pytest.mark.requirement("chan:pairing-who")
@pytest.mark.parametrize("text", ["WRONG234", "Hello there", "", None])
async def test_a_stranger_without_a_code_is_left_to_the_others(ear_desk: EarDesk, text: str | None) -> None:
    await ear_desk.started()

    assert not await ear_desk.ear.words(written(text))
    assert ear_desk.said.messages == []


@pytest.mark.requirement("chan:pairing-taken")
async def test_an_address_of_another_person_is_refused_in_the_log_without_a_word_of_the_message(
    ear_desk: EarDesk,
) -> None:
    anna = await ear_desk.started()
    bob = await ear_desk.person("Bob", PersonAddress(channel="telegram", address="2000", verified_at_us=1))

    with capture_logs() as logs:
        assert await ear_desk.ear.words(written(f"here: {CODE}"))

    assert (ear_desk.said.messages, await ear_desk.proved(anna), await ear_desk.proved(bob)) == ([], [], ["2000"])
    assert [one["event"] for one in logs] == ["pairing.refused"]
    assert CODE not in repr(logs) and "2000" not in repr(logs)


@pytest.mark.requirement("chan:pairing-code")
async def test_on_slack_the_user_is_bound_and_not_the_conversation(ear_desk: EarDesk) -> None:
    anna = await ear_desk.started("slack")

    in_channel = inbound_event("slack", envelope("e1", said(CODE, channel="C1", channel_type="channel")))
    alone = inbound_event("slack", envelope("e2", said(CODE)))

    assert isinstance(in_channel, InboundMessage) and isinstance(alone, InboundMessage)
    assert [await ear_desk.ear.words(in_channel), await ear_desk.ear.words(alone)] == [False, True]
    assert (alone.places, await ear_desk.proved(anna)) == (("D1", "U1"), ["U1"])
