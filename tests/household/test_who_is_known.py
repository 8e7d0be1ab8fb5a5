"""What callers learn of who is known, by the names they write to: nothing that is not theirs to know."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from postroom.kernel.values.principal import OPERATOR, OWNER, Principal, Role
from tests.household.living import LIFTED, QUICK, Living, living
from tests.household.test_ports import get, post
from tests.telephone import CHATGPT

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOBODY = "Nobody Anywhere"
PEOPLE = {
    "Anna": ("member", "2001"),
    "Ben": ("member", "2002"),
    "Carla": ("contact", "2003"),  # trusted
    "Dora": ("contact", "2004"),
    "Edgar": ("contact", "2005"),
}
CAST = ("anna", "dora", "annas program", "doras program", "an old token")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    async with living(tmp_path_factory.mktemp("home"), LIFTED, QUICK, {"approvals": {"enabled": True}}) as one:
        for name, (role, chat) in PEOPLE.items():
            there = [{"channel": "telegram", "address": chat}]
            body = {"name": name, "role": role, "addresses": there, "trusted": name == "Carla"}
            status, made, _ = await post(one, "/v1/people", body, token=one.token("operator"))
            assert status == 201, made
        yield one


async def id_of(house: Living, name: str) -> str:
    _, found = await get(house, f"/v1/people?q={name}", token=house.token("operator"))
    return str(found["people"][0]["person_id"])


async def token(house: Living, who: str) -> str:
    anna, dora = await id_of(house, "Anna"), await id_of(house, "Dora")
    cast = {
        "anna": Principal(Role.PERSON, anna),
        "dora": Principal(Role.PERSON, dora),
        "annas program": Principal(Role.PROGRAM, "backup", person=anna),
        "doras program": Principal(Role.PROGRAM, "shop", person=dora),
        "an old token": Principal(Role.USER, dora),
        "the owner": Principal(Role.PERSON, OWNER),
        "the owners program": Principal(Role.PROGRAM, "ci", person=OWNER),
        "a butler": Principal(Role.BUTLER, "health"),
        "an assistant": CHATGPT,
        "the operator": OPERATOR,
    }
    return house.tokens.token_of(cast[who]) or house.tokens.create(cast[who])


async def asked(house: Living, who: str, **body: Any) -> tuple[int, dict[str, Any]]:
    body = {"question": "Tea?", "options": ["yes", "no"], "wait_seconds": 0, **body}
    status, answer, _ = await post(house, "/v1/asks", body, token=await token(house, who))
    return status, answer


async def told(house: Living, who: str, **body: Any) -> tuple[int, dict[str, Any]]:
    status, answer, _ = await post(house, "/v1/notify", {"message": "Hi", **body}, token=await token(house, who))
    return status, {name: value for name, value in answer.items() if name != "request_context"}


def but_for(answer: tuple[int, dict[str, Any]], name: str) -> str:
    """What is left of it without the name that its caller gave."""
    return str(answer).replace(name, "…")


@pytest.mark.parametrize("who", CAST)
async def test_who_asks_somebody_that_is_not_theirs_hears_what_they_hear_of_nobody(house: Living, who: str) -> None:
    nobody = await asked(house, who, to=NOBODY)
    assert nobody[0] == 422

    others = ["Carla", "Edgar", "2003", await id_of(house, "Edgar")]
    others += [] if who == "anna" else ["Ben"]
    for name in others:
        assert but_for(await asked(house, who, to=name), name) == but_for(nobody, NOBODY)
    near = await asked(house, who, to="Carlo")
    assert but_for(near, "Carlo") == but_for(nobody, NOBODY)  # it says not either who is called almost so
    escalated = [
        await asked(house, who, to="owner", escalate_to=name, escalate_after_seconds=60) for name in (NOBODY, "Edgar")
    ]
    assert but_for(escalated[0], NOBODY) == but_for(escalated[1], "Edgar")


@pytest.mark.parametrize(
    ("who", "to"),
    [
        *[(who, "owner") for who in CAST],
        ("anna", "Ben"),
        ("annas program", "Anna"),
        ("doras program", "Dora"),
        *[(who, "Edgar") for who in ("the owner", "the owners program", "a butler", "an assistant", "the operator")],
    ],
)
async def test_who_asks_somebody_of_their_own_is_heard(house: Living, who: str, to: str) -> None:
    status, answer = await asked(house, who, to=to, question=f"Tea, {to}, says {who}?")
    assert status == 201, answer


@pytest.mark.parametrize("who", ["the owner", "the owners program", "a butler", "an assistant", "the operator"])
async def test_the_owner_and_the_owners_agents_hear_who_was_meant(house: Living, who: str) -> None:
    status, answer = await asked(house, who, to="Edgr")
    assert status == 422 and "did you mean “Edgar”?" in str(answer)


@pytest.mark.parametrize("who", ["annas program", "doras program"])
@pytest.mark.parametrize("channel", [None, "telegram", "auto", "email"])
async def test_a_program_that_writes_to_others_hears_what_it_hears_of_nobody(
    house: Living, who: str, channel: str | None
) -> None:
    more = {} if channel is None else {"channel": channel}
    before = len(await house.received())
    nobody = await told(house, who, to=NOBODY, **more)
    assert nobody[0] == 400 and "unknown_recipient" in str(nobody)
    for name in ("Ben", "Carla", "Edgar", "2003", "2005", "9999", "zoe@example.org", await id_of(house, "Edgar")):
        assert await told(house, who, to=name, **more) == nobody
    assert len(await house.received()) == before
    last = house.rows("delivery_refusals")[-1]["origin_butler"]
    assert last == ("program:backup" if who == "annas program" else "program:shop")  # on the record, as any other


@pytest.mark.parametrize("to", [None, "Anna", "anna", "2001"])
async def test_a_program_writes_to_its_own_person_by_name_and_by_address(house: Living, to: str | None) -> None:
    status, answer = await told(house, "annas program", **({} if to is None else {"to": to}))
    assert (status, answer["status"]) == (202, "pending_approval"), answer  # her address is not verified
    [action] = [one for one in house.rows("delivery_requests") if one["id"] == answer["action_id"]]
    assert (action["origin_butler"], action["target_identity"]) == ("program:backup", "2001")


@pytest.mark.parametrize("to", ["owner", "1000"])
async def test_a_program_of_somebody_writes_to_the_owner(house: Living, to: str) -> None:
    status, answer = await told(house, "doras program", to=to)
    assert (status, answer["status"]) == (200, "ok"), answer


async def test_a_contact_of_its_persons_name_gets_nothing_of_what_a_program_writes(house: Living) -> None:
    body = {"name": "Anna", "addresses": [{"channel": "telegram", "address": "2099"}], "trusted": True}
    made = (await post(house, "/v1/people", body, token=house.token("operator")))[1]["person"]["person_id"]
    path = house.household.addresses["api"] + f"/v1/people/{made}"
    try:
        await told(house, "annas program", to="Anna", message="For Anna alone")
        assert "For Anna alone" not in str(await house.received())
    finally:
        headers = {"Authorization": f"Bearer {house.token('operator')}"}
        async with house.http.delete(path, headers=headers) as response:
            assert response.status == 200


@pytest.mark.parametrize("field", ["delegate", "escalation"])
async def test_wishes_for_ones_own_post_name_only_whom_one_reaches(house: Living, field: str) -> None:
    dora = await id_of(house, "Dora")
    answers = []
    for name in (NOBODY, "Edgar"):
        path, body = f"/v1/people/{dora}/away", {"until": "2999-01-01T00:00:00Z", "delegate": name}
        if field == "escalation":
            path, body = f"/v1/people/{dora}/attention/preview", {"escalation": [{"after": "5m", "person": name}]}
        status, answer, _ = await post(house, path, body, token=await token(house, "dora"))
        answers.append(but_for((status, answer), name))
    assert answers[0] == answers[1] and "(422," in answers[0]
