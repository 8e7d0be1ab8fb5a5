"""What a person wrote, what answered it and what they were asked: one history, over HTTP and on the command line."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from postroom.kernel.values.principal import Principal, Role
from tests.household.asked_household import ask
from tests.household.talking import Talking, reply, script, talking
from tests.cli.command import postroom_beside

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Talking]:
    folder = tmp_path_factory.mktemp("history")
    async with talking(folder / "home", folder) as one:
        yield one


async def get(house: Talking, path: str, who: Principal | None = None) -> tuple[int, Any]:
    if who is not None:
        house.tokens.ensure([who])
    token = house.tokens.token_of(who) if who else house.token("operator")
    url = house.household.addresses["api"] + path
    async with house.http.get(url, headers={"Authorization": f"Bearer {token}"}) as response:
        return response.status, await response.json()


def person_at(house: Talking, chat: int) -> str:
    with sqlite3.connect(house.settings.home / "postroom.db") as connection:
        asked = "SELECT person_id FROM person_addresses WHERE channel = 'telegram' AND address = ?"
        return str(connection.execute(asked, (str(chat),)).fetchone()[0])


async def history(house: Talking, chat: int, more: str = "") -> list[dict[str, Any]]:
    status, body = await get(house, f"/v1/people/{person_at(house, chat)}/history{more}")
    assert status == 200, body
    found: list[dict[str, Any]] = body["history"]
    return found


@pytest.mark.requirement("talk:history")
async def test_a_message_its_answer_and_a_command_stand_in_one_history(house: Talking) -> None:
    words = "/general " + script(reply("At noon."))
    await house.write(2001, words)
    await house.kept(2001, "answered")
    await house.write(2001, "/help")
    await house.kept(2001, "answered", "handled")
    await house.said(2001, 2)

    found = await history(house, 2001)

    assert [(one["kind"], one["direction"]) for one in found if one["kind"] == "message"] == [("message", "in")] * 2
    by_kind = {(one["kind"], one["origin_butler"]): one for one in found}
    asked, answer = by_kind["message", "general"], by_kind["delivery", "general"]
    assert (asked["status"], asked["reason"], asked["words"]) == ("answered", "general is named in it", "kept")
    assert asked["replies"] == [answer["delivery_id"]] and asked["delivery_id"] is None and asked["session_id"]
    assert (answer["excerpt"], answer["direction"]) == ("At noon.", "out")
    command = by_kind["message", None]
    assert (command["status"], command["reason"], command["words"]) == ("handled", "it is a command", "not_kept")
    assert {one["id"] for one in await history(house, 2001, "?butler=general")} == {asked["id"], answer["id"]}
    assert await history(house, 2001, "?channel=email") == []
    pages, cursor = list[dict[str, Any]](), ""
    for _ in range(len(found)):
        _, body = await get(house, f"/v1/people/{person_at(house, 2001)}/history?limit=1{cursor}")
        pages, cursor = pages + body["history"], f"&cursor={body['next_cursor']}"
    assert pages == found and body["next_cursor"] is None


@pytest.mark.requirement("talk:history")
async def test_the_command_line_shows_both_ways_and_says_which_words_are_gone(house: Talking) -> None:
    await house.write(2002, "/general " + script(reply("Hello\x1b[31m\nthere.")))
    await house.kept(2002, "answered")
    with sqlite3.connect(house.settings.home / "postroom.db") as connection:  # as `postroom prune` does in the end
        connection.execute("UPDATE inbound_messages SET text = NULL WHERE place = '2002'")

    here = ("--home", str(house.settings.home))
    shown = await postroom_beside("people", "history", "Person 2002", *here)
    by_butler = await postroom_beside("people", "history", "Person 2002", "--butler", "health", *here)
    listed = await postroom_beside(
        "people", "history", "Person 2002", "--channel", "telegram", "--limit", "1", "--json", *here
    )

    answer, asked = shown.out.splitlines()
    assert "telegram  delivered  general: Hello" in answer and "\x1b" not in answer
    assert "telegram  answered  Person 2002 to general: [words erased] (general is named in it)" in asked
    assert by_butler.out == "Nothing was said with Person 2002.\n"
    [one] = json.loads(listed.out)
    assert (one["kind"], one["direction"], one["words"]) == ("delivery", "out", "kept")


@pytest.mark.requirement("talk:history")
async def test_a_question_is_one_line_with_its_answer(house: Talking) -> None:
    question = (await ask(house, question="Tea or coffee?", options=["tea", "coffee"])).question
    url = f"{house.household.addresses['api']}/v1/asks/{question.id}/answer"
    headers = {"Authorization": f"Bearer {house.token('operator')}"}
    async with house.http.post(url, json={"value": "tea"}, headers=headers) as response:
        assert response.status == 200, await response.text()

    found = await history(house, 1000)

    assert [one["kind"] for one in found if "coffee" in one["excerpt"]] == ["question"]
    [line] = [one for one in found if one["question_id"] == question.id]
    assert (line["status"], line["answer"], line["direction"]) == ("answered", "tea", "out")


@pytest.mark.requirement("talk:history-own")
async def test_people_read_their_own_history_and_no_other_caller_reads_any(house: Talking) -> None:
    own = person_at(house, 2003)
    others = [Principal(Role.PERSON, person_at(house, 2004)), Principal(Role.BUTLER, "health")]
    others += [Principal(Role.PROGRAM, "ci", person=own), Principal(Role.CONNECTOR, "claude")]

    assert (await get(house, f"/v1/people/{own}/history", Principal(Role.PERSON, own)))[0] == 200
    assert [(await get(house, f"/v1/people/{own}/history", one))[0] for one in others] == [403] * 4
    for odd in ("?butler=%00", "?channel=%00", "?cursor=%00", "?butler=" + "x" * 65, "?limit=0"):
        assert (await get(house, f"/v1/people/{own}/history{odd}"))[0] == 422, odd
