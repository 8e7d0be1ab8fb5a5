"""People over HTTP: written down, read, changed, removed, and closed to everybody but the owner and the person."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from sqlalchemy import update
from tests.telephone import CHATGPT, Answer, Telephone, settings_for, telephone

from postroom.household.store import connect_store
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.people.store.tables import person_addresses

pytestmark = pytest.mark.asyncio(loop_scope="module")

OWNER = Principal(Role.PERSON, "owner")
ADA = Principal(Role.PERSON, "ada")
CI = Principal(Role.PROGRAM, "ci", person="ada")
ANN = Principal(Role.USER, "ann")
HEALTH = Principal(Role.BUTLER, "health")
CALLERS = (OWNER, ADA, CI, ANN)

EVE = {
    "name": "Eve Adams",
    "role": "member",
    "trusted": True,
    "zone": "Europe/Rome",
    "language": "it-IT",
    "aliases": ["Evie"],
    "addresses": [
        {"channel": "email", "address": "Eve@EXAMPLE.org", "rank": 2, "label": "work"},
        {"channel": "telegram", "address": "@EveAdams", "rank": 1},
    ],
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def line(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Telephone]:
    settings = settings_for(tmp_path_factory.mktemp("home"))
    tokens = TokenFile(settings.tokens_file)
    for one in CALLERS:
        tokens.create(one)
    async with telephone(settings) as opened:
        yield opened


async def add(line: Telephone, caller: Principal | None = OPERATOR, /, **fields: Any) -> Answer:
    return await line.post("/v1/people", fields, caller)


async def made(line: Telephone, **fields: Any) -> dict[str, Any]:
    answer = await add(line, **fields)
    assert answer.status == 201, answer.body
    person: dict[str, Any] = answer.body["person"]
    return person


async def patch(line: Telephone, person_id: str, caller: Principal | None = OPERATOR, /, **fields: Any) -> Answer:
    return await line.call("PATCH", "api", f"/v1/people/{person_id}", fields, caller)


async def everybody(line: Telephone, query: str = "") -> list[dict[str, Any]]:
    page = await line.get(f"/v1/people?limit=200{query}")
    found: list[dict[str, Any]] = page.body["people"]
    return found


async def verify(line: Telephone, person_id: str, at_us: int = 1_700_000_000_000_000) -> None:
    """As pairing would."""
    store = connect_store(line.household.settings)
    proved = update(person_addresses).where(person_addresses.c.person_id == person_id).values(verified_at=at_us)
    try:
        await store.database.write(lambda connection: connection.execute(proved))
    finally:
        await store.database.close()


@pytest.mark.requirement("house:people-over-http")
async def test_a_person_is_written_down_read_changed_and_removed(line: Telephone) -> None:
    person = await made(line, **EVE)

    plain = EVE.keys() - {"addresses"}
    assert {name: person[name] for name in plain} == {name: EVE[name] for name in plain}
    assert person["addresses"] == [
        {"channel": "telegram", "address": "@eveadams", "rank": 1, "label": "", "verified_at": None},
        {"channel": "email", "address": "Eve@example.org", "rank": 2, "label": "work", "verified_at": None},
    ]
    assert person["source"] == "api" and person["created_at"] == person["updated_at"]

    path = f"/v1/people/{person['person_id']}"
    assert (await line.get(path)).body == {"ok": True, "person": person}
    changed = (await patch(line, person["person_id"], zone=None, aliases=[])).body["person"]
    assert (changed["zone"], changed["aliases"]) == (None, [])
    assert changed["name"] == "Eve Adams" and changed["addresses"] == person["addresses"]

    assert (await line.call("DELETE", "api", path)).body == {"ok": True}
    assert (await line.get(path)).status == 404
    assert (await line.call("DELETE", "api", path)).status == 404
    assert (await patch(line, person["person_id"], zone="UTC")).status == 404


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no name": ({"zone": "UTC"}, "name"),
    "an unknown key": ({"name": "Wrong", "phone": "1"}, "phone"),
    "an unknown key of an address": (
        {"name": "Wrong", "addresses": [{"channel": "email", "address": "a@b.c", "verified_at": "now"}]},
        "addresses.0.verified_at",
    ),
    "an unknown channel": ({"name": "Wrong", "addresses": [{"channel": "fax", "address": "1"}]}, "addresses.0.channel"),
    "no address of the channel": (
        {"name": "Wrong", "addresses": [{"channel": "email", "address": "1"}]},
        "addresses.0.address",
    ),
    "an unknown zone": ({"name": "Wrong", "zone": "Europe/Atlantis"}, "zone"),
    "no language": ({"name": "Wrong", "language": "en_US"}, "language"),
    "rank 0": (
        {"name": "Wrong", "addresses": [{"channel": "email", "address": "a@b.c", "rank": 0}]},
        "addresses.0.rank",
    ),
    "rank 51": (
        {"name": "Wrong", "addresses": [{"channel": "email", "address": "a@b.c", "rank": 51}]},
        "addresses.0.rank",
    ),
    "twice": (
        {"name": "Wrong", "addresses": [{"channel": "telegram", "address": one} for one in ("7", " 7")]},
        "addresses.1.address",
    ),
    "a second owner": ({"name": "Wrong", "role": "owner"}, "role"),
    "an unknown role": ({"name": "Wrong", "role": "king"}, "role"),
    "a text for a truth": ({"name": "Wrong", "trusted": "yes"}, "trusted"),
}


@pytest.mark.requirement("house:people-refused-by-field")
@pytest.mark.parametrize(("body", "field"), WRONG.values(), ids=WRONG)
async def test_what_is_wrong_is_named_and_nothing_is_stored(line: Telephone, body: dict[str, Any], field: str) -> None:
    answer = await add(line, **body)

    assert answer.status == 422
    assert [one["field"] for one in answer.body["error"]["fields"]] == [field]
    assert await everybody(line, "&q=Wrong") == []


async def test_a_wrong_change_changes_nothing(line: Telephone) -> None:
    person = await made(line, name="Steady")

    for fields in ({"zone": "nowhere"}, {"name": None}, {"role": "owner"}, {"person_id": "x"}):
        assert (await patch(line, person["person_id"], **{"language": "en", **fields})).status == 422
    assert (await line.get(f"/v1/people/{person['person_id']}")).body["person"] == person


async def test_the_owner_is_a_person_that_stays(line: Telephone) -> None:
    owner = (await line.get("/v1/people/owner")).body["person"]
    assert (owner["person_id"], owner["role"]) == ("owner", "owner")

    assert (await line.call("DELETE", "api", "/v1/people/owner")).status == 403
    assert (await patch(line, "owner", role="member")).status == 422
    assert (await patch(line, "owner", OWNER, language="de")).body["person"]["language"] == "de"
    assert [one["person_id"] for one in await everybody(line, "&role=owner")] == ["owner"]


@pytest.mark.requirement("house:proof-stays-with-the-address")
async def test_an_address_that_stays_keeps_its_proof(line: Telephone) -> None:
    person = await made(line, name="Proved", addresses=[{"channel": "email", "address": "proved@example.org"}])
    await verify(line, person["person_id"])
    telegram = {"channel": "telegram", "address": "5550"}

    both = await patch(
        line, person["person_id"], addresses=[telegram, {"channel": "email", "address": "PROVED@example.org"}]
    )
    again = await patch(line, person["person_id"], addresses=[telegram])
    back = await patch(line, person["person_id"], addresses=[{"channel": "email", "address": "proved@example.org"}])

    proofs = {one["channel"]: one["verified_at"] for one in both.body["person"]["addresses"]}
    assert proofs == {"telegram": None, "email": "2023-11-14T22:13:20.000000Z"}
    assert [one["channel"] for one in again.body["person"]["addresses"]] == ["telegram"]
    assert back.body["person"]["addresses"][0]["verified_at"] is None


@pytest.mark.requirement("house:proof-stays-with-the-address")
async def test_an_address_proved_by_one_person_is_no_other_persons(line: Telephone) -> None:
    first = await made(line, name="First", addresses=[{"channel": "telegram", "address": "5551"}])
    second = await made(line, name="Second", addresses=[{"channel": "telegram", "address": "5551"}])
    third = await made(line, name="Third")
    await verify(line, first["person_id"])
    wanted = [{"channel": "telegram", "address": " 5551"}]

    refused = await add(line, name="Fourth", addresses=wanted)
    also = await patch(line, third["person_id"], addresses=wanted)

    assert (refused.status, also.status) == (409, 409)
    assert [one["field"] for one in refused.body["error"]["fields"]] == ["addresses"]
    assert await everybody(line, "&q=Fourth") == []
    assert (await patch(line, second["person_id"], zone="UTC")).status == 200  # it was there before


async def test_people_are_listed_by_page_by_beginning_and_by_role(line: Telephone) -> None:
    for number in range(5):
        await made(line, name=f"Pagey {number}", aliases=[f"Nick {number}"], role="approver")
    seen: list[str] = []
    cursor = ""
    for _ in range(5):
        page = (await line.get(f"/v1/people?q=pagey&limit=2{cursor}")).body
        seen += [one["name"] for one in page["people"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"

    assert sorted(seen) == [f"Pagey {number}" for number in range(5)]
    assert [one["name"] for one in await everybody(line, "&q=NICK%203")] == ["Pagey 3"]
    assert [one["name"] for one in await everybody(line, "&q=agey")] == []
    assert [one["name"] for one in await everybody(line, "&q=%25")] == []
    assert {one["name"] for one in await everybody(line, "&role=approver")} == set(seen)
    assert (await line.get("/v1/people?role=king")).status == 422
    assert (await line.get("/v1/people?limit=0")).status == 422


@pytest.mark.requirement("house:people-over-http")
async def test_what_was_sent_to_a_person_is_listed_newest_first(line: Telephone) -> None:
    person = await made(
        line,
        name="Reader",
        addresses=[{"channel": "telegram", "address": "5560"}, {"channel": "email", "address": "reader@example.org"}],
    )
    for number in range(3):
        body = {"message": f"word {number}", "to": "Reader", "channel": "telegram"}
        assert (await line.post("/v1/notify", body, HEALTH)).status == 200
    mail = {"message": "long letter", "subject": "A letter", "to": "Reader", "channel": "email"}
    assert (await line.post("/v1/notify", mail, HEALTH)).status == 200

    path = f"/v1/people/{person['person_id']}/history"
    whole = (await line.get(path)).body
    first = (await line.get(f"{path}?limit=2")).body
    rest = (await line.get(f"{path}?limit=2&cursor={first['next_cursor']}")).body

    assert [(one["channel"], one["excerpt"]) for one in whole["history"]] == [
        ("email", "long letter"),
        *(("telegram", f"word {number}") for number in (2, 1, 0)),
    ]
    assert whole["next_cursor"] is None
    newest = whole["history"][0]
    assert (newest["subject"], newest["origin_butler"], newest["status"]) == ("A letter", "health", "delivered")
    assert newest["address"] == "reader@example.org" and newest["at"].endswith("Z") and newest["delivery_id"]
    assert first["history"] + rest["history"] == whole["history"]


async def test_a_person_without_addresses_has_no_history(line: Telephone) -> None:
    person = await made(line, name="Unreached")

    answer = await line.get(f"/v1/people/{person['person_id']}/history")
    assert answer.body == {"ok": True, "history": [], "next_cursor": None}
    assert (await line.get("/v1/people/nobody/history")).status == 404


NOT_OWNERS = {"another person": ADA, "a program": CI, "a user": ANN, "a butler": HEALTH, "a connector": CHATGPT}


@pytest.mark.requirement("house:people-are-the-owners")
@pytest.mark.parametrize("caller", NOT_OWNERS.values(), ids=NOT_OWNERS)
async def test_nobody_but_the_owner_lists_or_writes_people(line: Telephone, caller: Principal) -> None:
    calls = [
        await line.get("/v1/people", caller),
        await line.get("/v1/people/owner", caller),
        await line.get("/v1/people/owner/history", caller),
        await add(line, caller, name="Mallory"),
        await patch(line, "owner", caller, zone="UTC"),
        await line.call("DELETE", "api", "/v1/people/owner", None, caller),
    ]

    assert {one.status for one in calls} == {403}
    assert await everybody(line, "&q=Mallory") == []


async def test_without_a_token_there_are_no_people(line: Telephone) -> None:
    assert (await line.get("/v1/people", None)).status == 401
    assert (await add(line, None, name="Mallory")).status == 401


@pytest.mark.requirement("house:people-are-the-owners")
async def test_a_person_reads_themselves_and_changes_zone_and_language(line: Telephone) -> None:
    own = await line.get("/v1/people/ada", ADA)
    changed = await patch(line, "ada", ADA, zone="Europe/London", language="en-GB")

    assert own.body["person"]["name"] == "ada"
    assert (changed.body["person"]["zone"], changed.body["person"]["language"]) == ("Europe/London", "en-GB")
    for fields in ({"trusted": True}, {"role": "approver"}, {"addresses": []}, {"zone": "UTC", "name": "Root"}):
        refused = await patch(line, "ada", ADA, **fields)
        assert refused.status == 403, refused.body
        assert refused.body["error"]["fields"][0]["field"] == next(name for name in fields if name != "zone")
    assert (await line.get("/v1/people/ada", ADA)).body["person"] == changed.body["person"]
    assert (await line.get("/v1/people/ada/history", ADA)).status == 200
    assert (await line.get("/v1/people/owner/history", ADA)).status == 403
    for caller in (CI, ANN):
        assert (await line.get("/v1/people/ada", caller)).status == 403


async def test_the_same_call_under_a_key_makes_one_person(line: Telephone) -> None:
    key = {"Idempotency-Key": "one-person"}
    body = {"name": "Once Only"}
    answers = [await line.call("POST", "api", "/v1/people", body, OPERATOR, key) for _ in range(2)]

    assert answers[0] == answers[1] and answers[0].status == 201
    assert len(await everybody(line, "&q=Once")) == 1
    other = await line.call("POST", "api", "/v1/people", {"name": "Another"}, OPERATOR, key)
    assert other.status == 409


@pytest.mark.requirement("talk:default-butler")
async def test_persons_choose_their_own_default_butler(line: Telephone) -> None:
    assert (await made(line, name="Jo", default_butler="general"))["default_butler"] == "general"

    assert (await patch(line, "ada", ADA, default_butler="health")).body["person"]["default_butler"] == "health"
    refused = await patch(line, "ada", ADA, default_butler="../health")
    assert (refused.status, refused.body["error"]["fields"][0]["field"]) == (422, "default_butler")
    assert (await line.get("/v1/people/ada")).body["person"]["default_butler"] == "health"
