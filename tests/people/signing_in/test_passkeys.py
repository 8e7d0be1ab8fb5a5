"""What a stranger may send in a passkey's place: every one of it is refused in one sentence, and nothing is stored."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
import pytest_asyncio
from sqlalchemy import func, insert, select
from starlette.requests import Request

from postroom.kernel.database.engine import Database
from postroom.kernel.running.clock import SystemClock
from postroom.kernel.values.ids import IdMint, seconds
from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.people.model import NewPerson, PersonRole
from postroom.people.signing_in.passkeys import (
    CHALLENGE_LIFE_SECONDS,
    MOST_CHALLENGES,
    UNKNOWN,
    Ceremony,
    Challenge,
    Passkey,
    PasskeyRefused,
    Passkeys,
    Site,
    StoredPasskeys,
    device_words,
    site_of,
    user_handle,
)
from postroom.people.store.people import StoredPeople
from postroom.people.store.tables import passkey_challenges

SITE = Site(rp_id="localhost", origin="http://localhost:40200")
BROWSER = "a secret of this browser"


class Hands(SystemClock):
    """A clock whose hands a test turns."""

    def __init__(self) -> None:
        super().__init__()
        self.later_us = 0

    def now_us(self) -> int:
        return super().now_us() + self.later_us


@pytest_asyncio.fixture
async def passkeys(database: Database) -> Passkeys:
    return Passkeys(store=StoredPasskeys(database, IdMint().mint), clock=Hands(), new_challenge=lambda: b"c" * 32)


def packed(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def answer(**changes: Any) -> dict[str, Any]:
    said = {"type": "webauthn.get", "challenge": packed(b"c" * 32), "origin": SITE.origin}
    response = {
        "clientDataJSON": packed(json.dumps(said).encode()),
        "authenticatorData": packed(b"\0" * 37),
        "signature": packed(b"x"),
        "userHandle": packed(user_handle("ann")),
    }
    return {"id": "a2V5", "rawId": "a2V5", "type": "public-key", "response": response, **changes}


HOSTILE: dict[str, str] = {
    "nothing": "",
    "no JSON": "{",
    "a list": "[]",
    "a number": "1",
    "null": "null",
    "deep": "[" * 9000,
    "too long": json.dumps(answer(id="x" * 20_000)),
    "no response": json.dumps({"id": "a2V5"}),
    "response is text": json.dumps(answer(response="x")),
    "no client data": json.dumps(answer(response={})),
    "client data is a number": json.dumps(answer(response={"clientDataJSON": 5})),
    "client data is no JSON": json.dumps(answer(response={"clientDataJSON": "!!!"})),
    "no challenge in it": json.dumps(answer(response={"clientDataJSON": packed(b"{}")})),
    "challenge is a list": json.dumps(answer(response={"clientDataJSON": packed(b'{"challenge": []}')})),
    "an unknown key": json.dumps(answer()),
    "id is a list": json.dumps(answer(id=["a2V5"])),
    "id with a zero byte": json.dumps(answer(id="a\0b")),
}


@pytest.mark.requirement("side:passkeys")
@pytest.mark.parametrize("said", HOSTILE.values(), ids=HOSTILE)
async def test_nothing_made_up_signs_in_or_registers(passkeys: Passkeys, said: str) -> None:
    await passkeys.question(SITE, BROWSER)

    with pytest.raises(PasskeyRefused):
        await passkeys.recognise(said, SITE, BROWSER)
    with pytest.raises(PasskeyRefused):
        await passkeys.register("ann", "person:ann", said, "x", SITE, BROWSER)


async def known(database: Database) -> StoredPasskeys:
    people, store = StoredPeople(database, IdMint().mint, ()), StoredPasskeys(database, IdMint().mint)
    new = NewPerson(name="Ann", role=PersonRole.MEMBER)
    await people.create(HOUSEHOLD_OWNER, new, source="test", now_us=1, reserved_id="ann")
    made = Passkey(
        id="a2V5", person_id="ann", public_key="eA", counter=7, transports=("usb",), label="phone", created_at_us=1
    )
    assert await store.add(made, "person:ann") and not await store.add(made, "person:ann")
    return store


@pytest.mark.requirement("side:passkeys")
@pytest.mark.parametrize(
    "case", ["wrong signature", "another browser", "too late", "a second time", "another person", "no handle"]
)
async def test_a_known_key_with_a_wrong_answer_signs_in_no_one(
    database: Database, passkeys: Passkeys, case: str
) -> None:
    store, said, browser = await known(database), answer(), BROWSER
    await passkeys.question(SITE, BROWSER)
    match case:
        case "another browser":
            browser = "another"
        case "too late":
            assert isinstance(passkeys.clock, Hands)
            passkeys.clock.later_us = seconds(CHALLENGE_LIFE_SECONDS) + 1
        case "a second time":
            with pytest.raises(PasskeyRefused):
                await passkeys.recognise(json.dumps(said), SITE, BROWSER)
        case "another person":
            said["response"]["userHandle"] = packed(user_handle("bob"))
        case "no handle":
            del said["response"]["userHandle"]

    with pytest.raises(PasskeyRefused):
        await passkeys.recognise(json.dumps(said), SITE, browser)

    kept = await store.get("a2V5")
    assert kept is not None and (kept.counter, kept.last_used_at_us) == (7, None)


async def test_a_count_moves_once_and_a_removed_person_takes_their_keys_along(database: Database) -> None:
    store = await known(database)
    kept = await store.get("a2V5")
    assert kept is not None

    assert await store.used(kept, 8, 5) and not await store.used(kept, 9, 6)
    assert not await store.remove("bob", "a2V5", "person:bob", 7)
    await StoredPeople(database, IdMint().mint, ()).delete(HOUSEHOLD_OWNER, "ann", now_us=9)
    assert await store.get("a2V5") is None


NOW_US = 10**15


async def test_more_challenges_than_may_be_open_push_out_the_oldest(database: Database) -> None:
    store, more = StoredPasskeys(database, IdMint().mint), {"ceremony": "sign in", "browser": "b", "person_id": None}
    rows = [{**more, "digest": f"d{one}", "expires_at": NOW_US + 10 + one} for one in range(MOST_CHALLENGES)]
    await database.write(lambda connection: connection.execute(insert(passkey_challenges), rows))
    new = Challenge(
        digest="new", ceremony=Ceremony.SIGN_IN, browser="b", person_id=None, expires_at_us=NOW_US + MOST_CHALLENGES * 2
    )

    await store.keep_challenge(new, NOW_US)

    asked = select(func.count()).select_from(passkey_challenges)
    assert await database.read(lambda connection: connection.execute(asked).scalar_one()) == MOST_CHALLENGES
    assert await store.take_challenge("d0", NOW_US) is None
    assert await store.take_challenge("d1", NOW_US) is not None
    assert await store.take_challenge("new", NOW_US) == new


HOSTS = {
    "localhost:40200": Site(rp_id="localhost", origin="http://localhost:40200"),
    "LOCALHOST": Site(rp_id="localhost", origin="http://localhost"),
    "post.example.org": Site(rp_id="post.example.org", origin="https://post.example.org"),
    "post.example.org:8443": Site(rp_id="post.example.org", origin="https://post.example.org:8443"),
    "127.0.0.1:40200": None,
    "[::1]:40200": None,
    "192.168.1.5": None,
    "box": None,
    "": None,
}


@pytest.mark.parametrize(("host", "expected"), HOSTS.items())
def test_a_name_has_passkeys_and_a_number_has_none(host: str, expected: Site | None) -> None:
    request = Request({"type": "http", "headers": [(b"host", host.encode())]})

    assert site_of(request) == expected


# Devices by the words people know them by, and never in a browser's own text.

AGENTS = {
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/130.0 Safari/537.36": "Chrome on Linux",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1": "Safari on iPhone",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Gecko/20100101 Firefox/131.0": "Firefox on Windows",
    "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/129 Mobile Safari/537.36 EdgA/129": "Edge on Android",
    "": UNKNOWN,
    "<script>alert(1)</script>": UNKNOWN,
}


@pytest.mark.parametrize(("agent", "words"), AGENTS.items())
def test_a_device_has_words(agent: str, words: str) -> None:
    assert device_words(agent) == words
