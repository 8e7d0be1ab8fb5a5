"""A whole household in which people prove who they are, on the sandbox's phone and by mail."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from tests.household.asked_household import ask, parts, phone, press, until, write
from tests.household.living import LIFTED, QUICK, Living, living
from tests.patience import PATIENCE_SECONDS

from postroom.conversations.notice_ear import SENTENCE
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.principal import Principal, Role
from postroom.questions.model import Question

pytestmark = pytest.mark.asyncio(loop_scope="module")
ADA = Principal(Role.PERSON, "ada")
CI = Principal(Role.PROGRAM, "ci", person="ada")
ANN = Principal(Role.USER, "ann")
_LINK = re.compile(r"http://\S+/confirm/[A-Za-z0-9_-]+")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    home = tmp_path_factory.mktemp("home")
    tokens = TokenFile(home / "tokens.json")
    for one in (ADA, CI, ANN):
        tokens.create(one)
    async with living(home, LIFTED, QUICK, {"approvals": {"enabled": True}}) as one:
        yield one


async def call(house: Living, method: str, path: str, body: Any = None, **more: Any) -> tuple[int, dict[str, Any]]:
    token = more.pop("token", None) or house.token("operator")
    headers = {"Authorization": f"Bearer {token}", **more}
    url = house.household.addresses["api"] + path
    async with house.http.request(method, url, json=body, headers=headers) as response:
        return response.status, await response.json()


async def person(house: Living, name: str, *places: str) -> str:
    addresses = [dict(zip(("channel", "address"), place.split(":", 1), strict=True)) for place in places]
    status, answer = await call(house, "POST", "/v1/people", {"name": name, "role": "member", "addresses": addresses})
    assert status == 201, answer
    return str(answer["person"]["person_id"])


async def pair(house: Living, person_id: str, channel: str = "telegram", **more: Any) -> tuple[int, dict[str, Any]]:
    return await call(house, "POST", f"/v1/people/{person_id}/pair", {"channel": channel}, **more)


async def code_of(house: Living, person_id: str) -> str:
    status, answer = await pair(house, person_id)
    assert status == 201, answer
    assert re.fullmatch("[A-Z0-9]{8}", answer["code"]) and answer["link_sent"] is False
    return str(answer["code"])


async def places(house: Living, person_id: str) -> list[tuple[str, str, bool]]:
    _, answer = await call(house, "GET", f"/v1/people/{person_id}")
    return [(one["channel"], one["address"], one["verified_at"] is not None) for one in answer["person"]["addresses"]]


async def said_to(house: Living, chat: str, count: int = 1) -> list[str]:
    async def look() -> list[str] | None:
        found = [one["text"] for one in await house.received() if str(one["chat_id"]) == chat]
        return found if len(found) >= count else None

    return await until(look)


@pytest.mark.requirement("chan:pairing-code")
async def test_a_person_sends_the_code_and_then_answers_a_question_from_there(house: Living) -> None:
    anna = await person(house, "Anna", "telegram:5999")
    code = await code_of(house, anna)

    await write(house, f"/start {code}", chat_id="5001")
    assert "verified as yours" in (await said_to(house, "5001"))[0]
    assert await places(house, anna) == [("telegram", "5001", True), ("telegram", "5999", False)]

    await call(house, "PATCH", f"/v1/people/{anna}", {"trusted": True})
    view = await ask(house, question="Is it Anna?", to=anna)
    await press(house, await phone(house, "Is it Anna?"), "yes", from_id="5001")

    async def answered() -> Question | None:
        found = await parts(house).store.get(view.question.id)
        return found if found and found.answered_by else None

    by = (await until(answered)).answered_by
    assert by is not None and (by.person_id, by.name) == (anna, "Anna")
    rows = [row for row in house.rows("pairing_codes") if row["person_id"] == anna]
    assert [row["used_at"] is not None for row in rows] == [True] and code not in repr(rows)


@pytest.mark.requirement("chan:pairing-who")
async def test_in_a_group_nothing_is_said_and_a_stranger_learns_nothing(house: Living) -> None:
    ben = await person(house, "Ben")
    code = await code_of(house, ben)

    await write(house, code, chat_id="-100555", from_id="5002")
    await write(house, code, chat_id="5003", forwarded=True)
    await write(house, code, chat_id="5004", from_is_bot=True)
    await write(house, "ABCD2345", chat_id="5005")
    assert await said_to(house, "5005") == [SENTENCE]
    assert await places(house, ben) == []
    assert not [one for one in await house.received() if str(one["chat_id"]) == "-100555"]

    await write(house, code, chat_id="5002")
    assert "verified as yours" in (await said_to(house, "5002"))[-1]
    assert await places(house, ben) == [("telegram", "5002", True)]


@pytest.mark.requirement("chan:pairing-guesses")
async def test_who_guesses_ten_times_is_not_helped_by_the_right_code(house: Living) -> None:
    carl = await person(house, "Carl")
    code = await code_of(house, carl)
    for n in range(10):
        await write(house, f"WRONG22{n}", chat_id="5006")
    await write(house, code, chat_id="5006")
    await write(house, code, chat_id="5007")

    assert "verified as yours" in (await said_to(house, "5007"))[0]
    assert await places(house, carl) == [("telegram", "5007", True)]
    assert await said_to(house, "5006") == [SENTENCE]


@pytest.mark.requirement("chan:pairing-taken")
async def test_an_account_of_one_person_never_becomes_anothers(house: Living) -> None:
    first, second = await person(house, "Dora"), await person(house, "Emil")
    await write(house, await code_of(house, first), chat_id="5008")
    await said_to(house, "5008")
    code = await code_of(house, second)

    await write(house, code, chat_id="5008")
    await write(house, code, chat_id="5009")
    await said_to(house, "5009")

    assert await places(house, first) == [("telegram", "5008", True)]
    assert await places(house, second) == [("telegram", "5009", True)]
    assert len(await said_to(house, "5008")) == 1


@pytest.mark.requirement("chan:pairing-link")
async def test_by_mail_a_link_is_sent_that_only_a_press_of_its_button_confirms(house: Living) -> None:
    fay = await person(house, "Fay", "email:fay@example.org")
    status, answer = await pair(house, fay, "email")
    assert (status, answer["code"], answer["link_sent"], answer["sent_to"]) == (201, None, True, "fay@example.org")

    async def look() -> str | None:
        bodies = [one["body"] for one in await house.received("email") if one["to"] == "fay@example.org"]
        return _LINK.findall(bodies[0])[0] if bodies else None

    link = await until(look)
    async with aiohttp.ClientSession() as http:
        async with http.head(link) as page:
            assert page.status == 200
        async with http.get(link) as page:
            assert (page.status, "fay@example.org" in await page.text()) == (200, True)
        assert await places(house, fay) == [("email", "fay@example.org", False)]
        async with http.post(link) as page:
            assert page.status == 200
        async with http.post(link) as page:
            assert page.status == 404

    assert await places(house, fay) == [("email", "fay@example.org", True)]
    status, answer = await pair(house, fay, "email")
    assert status == 422 and "verified already" in repr(answer)


@pytest.mark.requirement("chan:here")
async def test_here_is_answered_and_reorders_only_for_the_one_who_has_proved_it(house: Living) -> None:
    gus = await person(house, "Gus", "email:gus@example.org")
    await write(house, "/here", chat_id="5010")
    assert await said_to(house, "5010") == [SENTENCE]
    await write(house, await code_of(house, gus), chat_id="5010")
    await said_to(house, "5010", 2)

    await write(house, "/here", chat_id="5010")

    assert "written to here first" in (await said_to(house, "5010", 3))[-1]
    assert await places(house, gus) == [("telegram", "5010", True), ("email", "gus@example.org", False)]


@pytest.mark.requirement("chan:pairing-doors")
async def test_only_the_owner_and_the_person_themselves_start_it(house: Living) -> None:
    token = house.tokens.token_of
    assert (await pair(house, "ada", token=token(ADA)))[0] == 201
    assert (await pair(house, "owner", token=token(ADA)))[0] == 403
    for other in (CI, ANN):
        assert (await pair(house, "ada", token=token(other)))[0] == 403
    assert (await pair(house, "ada", token=house.token("health")))[0] == 403
    assert (await pair(house, "nobody"))[0] == 404

    status, answer = await pair(house, "ada", "pigeon")
    assert (status, answer["error"]["code"]) == (422, "schema_invalid") and "channel" in repr(answer)
    assert (await call(house, "POST", "/v1/people/ada/pair", {}))[0] == 422


@pytest.mark.requirement("chan:pairing-doors")
async def test_the_same_key_has_the_same_code_and_the_code_is_kept_nowhere(house: Living) -> None:
    hal, ida = await person(house, "Hal"), await person(house, "Ida")
    first = await pair(house, hal, **{"Idempotency-Key": "k1"})
    again = await pair(house, hal, **{"Idempotency-Key": "k1"})
    other = await pair(house, ida, **{"Idempotency-Key": "k1"})

    assert first == again and first[0] == 201
    assert other[0] == 409
    codes = [await pair(house, hal) for _ in range(3)]
    assert [status for status, _ in codes] == [201, 201, 409]
    assert first[1]["code"].encode() not in b"".join(file.read_bytes() for file in house.settings.home.glob("*.db*"))


async def test_a_code_is_good_after_a_restart(tmp_path: Path) -> None:
    async with living(tmp_path, LIFTED, QUICK) as house:
        code = await code_of(house, "owner")
    async with living(tmp_path, LIFTED, QUICK) as house:
        await write(house, code, chat_id="5011")
        await said_to(house, "5011")
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert ("telegram", "5011", True) in await places(house, "owner")
