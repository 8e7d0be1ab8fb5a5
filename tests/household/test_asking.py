"""A person is asked: strangers and contacts, and one channel at a time."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from postroom.kernel.values.ids import seconds
from postroom.kernel.values.principal import Principal, Role
from postroom.questions.model import PresentationClaim, PresentationStatus, Shown
from postroom.questions.shapes import QuestionView
from postroom.questions.store.presentations import StoredPresentations
from tests.household.asked_household import OWNER_CHAT, ask, behind, labels, letter, parts, phone, press, until, write
from tests.household.calling import get, post
from tests.household.living import ASKING, LIFTED, QUICK, Living, living

# What an agent asks somebody who is not trusted: not one word of it arrives that a person did not agree to.
BOB = "2001"
EVIL = "Pay 900 EUR to DE12"
CI = Principal(Role.PROGRAM, "ci", person="owner")
OTHER = Principal(Role.PROGRAM, "other", person="owner")


@pytest.fixture
async def both(approving_house: Living) -> Living:
    await bob_is_known(approving_house)
    return approving_house


@pytest.fixture
async def house(approving: Living) -> Living:
    await bob_is_known(approving)
    return approving


async def bob_is_known(house: Living, role: str = "contact", *, proves: bool = True) -> None:
    """Not trusted, but he has proved his address."""
    operator, there = house.token("operator"), {"channel": "telegram", "address": BOB}
    body = {"name": "Bob", "role": role, "addresses": [] if proves else [there]}
    _, made, _ = await post(house, "/v1/people", body, token=operator)
    if proves:
        path = f"/v1/people/{made['person']['person_id']}/pair"
        _, code, _ = await post(house, path, {"channel": "telegram"}, token=operator)
        await write(house, f"/start {code['code']}", chat_id=BOB)
        await phone(house, "verified as yours")


def token(house: Living, who: Principal = CI) -> str:
    return house.token(who)


async def ask_bob(house: Living, question: str = "Tea?", *, who: Principal = CI, **more: Any) -> str:
    body = {"to": "Bob", "question": question, "options": ["yes", "no"], "channels": ["telegram"], **more}
    status, asked, _ = await post(house, "/v1/asks", {**body, "wait_seconds": 0}, token=token(house, who))
    assert status in (200, 201, 202), asked
    return str(asked["ask_id"])


async def change(house: Living, ask_id: str, act: str, body: dict[str, Any]) -> None:
    status, answer, _ = await post(house, f"/v1/asks/{ask_id}/{act}", body, token=token(house))
    assert status == 200, answer


async def waiting(house: Living) -> list[dict[str, Any]]:
    """What waits for a person, as the tools list it."""
    listed = await house.call("messenger", "list_pending_actions", {"status": "pending"}, caller="operator")
    found: list[dict[str, Any]] = listed["actions"]
    return found


async def only_one_waits(house: Living, words: str) -> dict[str, Any]:
    async def look() -> dict[str, Any] | None:
        found = await waiting(house)
        return found[0] if len(found) == 1 and words in found[0]["preview"] else None

    return await until(look)


async def decide(house: Living, action: dict[str, Any], tool: str = "approve_action", **more: Any) -> None:
    given = {"action_id": action["action_id"], "content_hash": action["content_hash"], **more}
    if tool == "reject_action":
        given.pop("content_hash")
    answer = await house.call("messenger", tool, given, caller="operator")
    assert answer["status"] == "ok", answer


async def bobs(house: Living) -> list[dict[str, Any]]:
    """The cards he has."""
    theirs = [one for one in await house.received() if str(one["chat_id"]) == BOB]
    return [one for one in theirs if "verified as yours" not in one["text"]]


async def bob_reads(house: Living, words: str) -> dict[str, Any]:
    async def look() -> dict[str, Any] | None:
        return next((one for one in await bobs(house) if words in one["text"]), None)

    return await until(look)


async def bob_has_read_nothing_of_it(house: Living) -> None:
    for one in await bobs(house):
        assert EVIL not in one["text"] and EVIL not in str(labels(one))


async def shown_to_bob(house: Living, **more: Any) -> str:
    ask_id = await ask_bob(house, **more)
    await decide(house, await only_one_waits(house, "Tea?"))
    await bob_reads(house, "Tea?")
    await status_of_card(house, ask_id, "shown")
    return ask_id


async def status_of_card(house: Living, ask_id: str, status: str) -> None:
    async def look() -> bool:
        _, asked = await get(house, f"/v1/asks/{ask_id}", token=token(house))
        return [one["status"] for one in asked["presentations"]] == [status]

    await until(look)


async def test_new_words_of_a_question_that_was_agreed_to_are_agreed_to_anew(both: Living) -> None:
    ask_id = await shown_to_bob(both)
    await change(both, ask_id, "revise", {"question": EVIL, "context": EVIL})

    action = await only_one_waits(both, EVIL)
    assert action["origin_butler"] == "program:ci"
    await bob_has_read_nothing_of_it(both)
    await write(both, "yes", chat_id=BOB, reply_to_message_id=(await bobs(both))[0]["message_id"])
    await press(both, (await bobs(both))[0], "yes")
    _, asked = await get(both, f"/v1/asks/{ask_id}", token=token(both))
    assert asked["status"] == "open"  # he has not seen what it asks now

    await decide(both, action)
    await press(both, await bob_reads(both, EVIL), "yes")
    await bob_reads(both, "✅ yes: answered by")


async def test_a_press_on_new_words_that_nobody_has_noted_yet_ends_the_card_with_its_answer(
    house: Living, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask_id, noted, pressed = await shown_to_bob(house), StoredPresentations.presented, list[str]()

    async def answered() -> bool:
        return (await get(house, f"/v1/asks/{ask_id}", token=token(house)))[1]["status"] == "answered"

    async def after_a_press(self: StoredPresentations, claim: PresentationClaim, shown: Shown, now_us: int) -> bool:
        if claim.question.id == ask_id and not pressed:
            pressed.append(ask_id)
            await press(house, await bob_reads(house, EVIL), "yes")
            await until(answered)
        return await noted(self, claim, shown, now_us)

    monkeypatch.setattr(StoredPresentations, "presented", after_a_press)
    await change(house, ask_id, "revise", {"question": EVIL, "context": EVIL})
    await decide(house, await only_one_waits(house, EVIL))

    closed = await bob_reads(house, "✅ yes: answered by")
    assert EVIL in closed["text"]
    assert await waiting(house) == []  # and no one is asked to agree to the same words again


async def test_what_a_butler_asks_rewords_and_takes_back_is_agreed_to_each_time(house: Living) -> None:
    given = {"recipient": "Bob", "channels": ["telegram"], "options": ["yes", "no"], "wait_seconds": 0}
    asked = await house.call("health", "ask", {**given, "question": "Tea?"})
    await decide(house, await only_one_waits(house, "Tea?"))
    card = await bob_reads(house, "Tea?")

    reworded = await post(house, f"/v1/asks/{asked['ask_id']}/revise", {"question": EVIL})
    assert reworded[0] == 200, reworded
    action = await only_one_waits(house, EVIL)
    assert action["origin_butler"] == "health"
    await bob_has_read_nothing_of_it(house)
    await decide(house, action)
    assert (await bob_reads(house, EVIL))["message_id"] == card["message_id"]

    taken_back = await house.call("health", "cancel_ask", {"ask_id": asked["ask_id"], "reason": "No more tea."})
    assert taken_back["status"] == "cancelled"
    closed = await bob_reads(house, "✖️ Taken back")
    assert labels(closed) == [] and "No more tea." not in closed["text"]
    await decide(house, await only_one_waits(house, "No more tea."))
    await bob_reads(house, "No more tea.")


@pytest.mark.parametrize("change_of", [{"options": [EVIL, "no"]}, {"context": EVIL}])
async def test_new_options_and_context_wait_as_a_new_question_does(house: Living, change_of: dict[str, Any]) -> None:
    ask_id = await shown_to_bob(house)
    await change(house, ask_id, "revise", change_of)
    await only_one_waits(house, "Tea?")
    await bob_has_read_nothing_of_it(house)


async def test_what_is_reworded_while_it_waits_waits_once_with_its_new_words(both: Living) -> None:
    ask_id = await ask_bob(both)
    await only_one_waits(both, "Tea?")
    await change(both, ask_id, "revise", {"question": "Coffee?"})
    await decide(both, await only_one_waits(both, "Coffee?"))
    card = await bob_reads(both, "Coffee?")
    await change(both, ask_id, "revise", {"question": EVIL})
    await only_one_waits(both, EVIL)
    await change(both, ask_id, "revise", {"question": "Cocoa?"})
    await decide(both, await only_one_waits(both, "Cocoa?"))
    assert (await bob_reads(both, "Cocoa?"))["message_id"] == card["message_id"]
    assert await waiting(both) == []
    await bob_has_read_nothing_of_it(both)


async def test_what_is_taken_back_while_it_waits_is_not_asked_about_any_more(both: Living) -> None:
    ask_id = await ask_bob(both)
    await only_one_waits(both, "Tea?")
    await change(both, ask_id, "cancel", {"reason": EVIL})
    await until(lambda: nothing_waits(both))
    await status_of_card(both, ask_id, "left")
    assert await bobs(both) == []


async def nothing_waits(house: Living) -> bool:
    return await waiting(house) == []


async def test_the_reason_of_taking_back_is_agreed_to_and_the_card_closes_at_once(both: Living) -> None:
    ask_id = await shown_to_bob(both)
    await change(both, ask_id, "cancel", {"reason": EVIL})
    closed = await bob_reads(both, "✖️ Taken back")
    assert labels(closed) == [] and "Tea?" in closed["text"]
    await bob_has_read_nothing_of_it(both)
    await decide(both, await only_one_waits(both, "Taken back"))
    assert (await bob_reads(both, EVIL))["message_id"] == closed["message_id"]


async def test_words_that_were_never_agreed_to_are_in_no_end_of_the_card(house: Living) -> None:
    ask_id = await shown_to_bob(house)
    await change(house, ask_id, "revise", {"question": EVIL, "options": [EVIL, "no"]})
    await only_one_waits(house, EVIL)
    await change(house, ask_id, "cancel", {})
    closed = await bob_reads(house, "✖️ Taken back")
    assert labels(closed) == []
    await bob_has_read_nothing_of_it(house)


async def test_a_no_to_new_words_leaves_the_card_as_it_was(house: Living) -> None:
    ask_id = await shown_to_bob(house)
    await change(house, ask_id, "revise", {"question": EVIL})
    await decide(house, await only_one_waits(house, EVIL), "reject_action", reason="no")
    await until(lambda: nothing_waits(house))
    await change(house, ask_id, "cancel", {})
    await bob_reads(house, "✖️ Taken back")
    await bob_has_read_nothing_of_it(house)


async def test_what_the_owner_left_out_does_not_come_back_with_the_end(house: Living) -> None:
    ask_id = await ask_bob(house, EVIL)
    await decide(house, await only_one_waits(house, EVIL), edits={"message": "ci asks: Tea?"})
    await bob_reads(house, "Tea?")
    await status_of_card(house, ask_id, "shown")
    await change(house, ask_id, "cancel", {})
    assert labels(await bob_reads(house, "✖️ Taken back")) == []
    await bob_has_read_nothing_of_it(house)


async def test_an_answer_and_its_own_ticks_need_no_further_approval(house: Living) -> None:
    ask_id = await shown_to_bob(house, options=["yes", "no"], multiple=True)
    card = await bob_reads(house, "Tea?")
    await press(house, card, "yes")
    await until(lambda: ticked(house))
    await press(house, (await bobs(house))[0], "Send")
    await bob_reads(house, "answered by Bob")
    await status_of_card(house, ask_id, "closed")
    assert await waiting(house) == []


async def ticked(house: Living) -> bool:
    return any("✅" in one or "☑" in one for one in labels((await bobs(house))[0]))


async def test_who_decides_sees_the_buttons(house: Living) -> None:
    await ask_bob(house, options=[EVIL, "no"])
    card = await phone(house, "Approval needed: ci wants to")
    assert f"“{EVIL}”" in card["text"]
    action = await only_one_waits(house, "Tea?")
    found = await house.call("messenger", "show_pending_action", {"action_id": action["action_id"]}, caller="operator")
    assert EVIL in found["action"]["visible"]["buttons"]


async def test_a_rule_made_from_one_agents_question_is_for_that_agent(both: Living) -> None:
    await ask_bob(both)
    action = await only_one_waits(both, "Tea?")
    await decide(both, action, create_rule=True)
    await bob_reads(both, "Tea?")

    second = await ask_bob(both, "Coffee?")
    await bob_reads(both, "Coffee?")
    await status_of_card(both, second, "shown")
    await ask_bob(both, EVIL, who=OTHER)
    waits = await only_one_waits(both, EVIL)
    assert waits["origin_butler"] == "program:other"
    await bob_has_read_nothing_of_it(both)
    rules = await both.call("messenger", "list_approval_rules", {}, caller="operator")
    assert rules["rules"][0]["constraints"]["origin_butler"]["value"] == "program:ci"


async def test_how_many_wait_is_counted_for_each_asker(home: Path) -> None:
    few = {"approvals": {"enabled": True, "max_pending_per_origin": 2}}
    async with living(home, LIFTED, QUICK, ASKING, few) as house:
        await bob_is_known(house)
        for number in range(3):
            await ask_bob(house, f"Tea {number}?")
        await until(lambda: many_wait(house, 2))
        await ask_bob(house, "Of another?", who=OTHER)
        await until(lambda: many_wait(house, 3))
        assert sorted(one["origin_butler"] for one in await waiting(house)) == [
            "program:ci",
            "program:ci",
            "program:other",
        ]


async def many_wait(house: Living, many: int) -> bool:
    return len(await waiting(house)) == many


@pytest.mark.parametrize("role", ["member", "approver"])
async def test_the_households_own_people_are_asked_and_told_without_an_approval(home: Path, role: str) -> None:
    async with living(home, LIFTED, QUICK, ASKING) as house:
        await bob_is_known(house, role)
        ask_id = await ask_bob(house)
        await status_of_card(house, ask_id, "shown")
        told = await house.notify(recipient=BOB, message="Dinner at eight?")
        assert told["status"] == "ok", told
        assert await waiting(house) == []


async def test_a_question_is_passed_on_to_a_member_without_an_approval(home: Path) -> None:
    async with living(home, LIFTED, QUICK, ASKING) as house:
        await bob_is_known(house, "member")
        passed_on = {"to": "owner", "escalate_to": "Bob", "escalate_after_seconds": 30, "channels": ["telegram"]}
        ask_id = await ask_bob(house, **passed_on)
        await phone(house, "Tea?")
        with sqlite3.connect(home / "postroom.db") as connection:  # as if half a minute had gone by
            assert connection.execute("UPDATE questions SET created_at = created_at - 30000000").rowcount == 1
            connection.execute("UPDATE moments SET due_at = due_at - 30000000, look_at = look_at - 30000000")
        parts(house).bells.every.ring()
        card = await bob_reads(house, "Tea?")
        assert await waiting(house) == []
        _, why = await get(house, f"/v1/deliveries/{ask_id}/why", token=token(house))
        assert "passed on to Bob" in str(why) and "on its way" not in str(why)
        await press(house, card, "yes")
        await bob_reads(house, "✅ yes: answered by")


@pytest.mark.parametrize(("role", "proves"), [("member", False), ("contact", True)])
async def test_who_has_not_proved_an_address_and_who_is_a_contact_waits(home: Path, role: str, proves: bool) -> None:
    async with living(home, LIFTED, QUICK, ASKING) as house:
        await bob_is_known(house, role, proves=proves)
        ask_id = await ask_bob(house)
        await only_one_waits(house, "Tea?")
        await until(lambda: why_it_waits(house, ask_id))


async def why_it_waits(house: Living, ask_id: str) -> bool:
    _, answer = await get(house, f"/v1/deliveries/{ask_id}/why", token=token(house))
    [reason] = [one["why"] for one in answer["reasons"]]
    return "It has not been shown to Bob on telegram yet: it waits for an approval." in reason


async def test_questions_that_wait_for_an_approval_hold_up_nobody_elses(home: Path) -> None:
    many = {"approvals": {"enabled": True, "max_pending_per_origin": 100}, "questions": {"open_per_asker": 100}}
    async with living(home, LIFTED, QUICK, ASKING, many) as house:
        await bob_is_known(house)
        for number in range(60):  # more than are in hand at a time
            await ask_bob(house, f"Tea {number}?")
        await ask(house)
        await phone(house, "Ship it?")


async def bobs_token(house: Living) -> str:
    status, found = await get(house, "/v1/people?q=Bob", token=house.token("operator"))
    assert status == 200, found
    [bob] = [one for one in found["people"] if one["name"] == "Bob"]
    return token(house, Principal(Role.PERSON, bob["person_id"]))


async def doors(house: Living, ask_id: str) -> list[str]:
    """The question at each door that his own token opens: the list, the question itself, and why."""
    mine, found = await bobs_token(house), []
    for path in ("/v1/asks", "/v1/asks?mine=true&status=open&limit=1", f"/v1/asks/{ask_id}"):
        found.append(str((await get(house, path, token=mine))[1]))
    found.append(str((await get(house, f"/v1/deliveries/{ask_id}/why", token=mine))[1]))
    found.append(str((await answer_over_http(house, ask_id))[1]))
    return found


async def answer_over_http(house: Living, ask_id: str) -> tuple[int, dict[str, Any]]:
    status, answer, _ = await post(house, f"/v1/asks/{ask_id}/answer", {"value": "none"}, token=await bobs_token(house))
    return status, answer


async def test_with_a_token_of_their_own_nobody_reads_or_answers_what_was_not_agreed_to(both: Living) -> None:
    ask_id = await ask_bob(both, EVIL)
    action = await only_one_waits(both, EVIL)
    assert not [one for one in await doors(both, ask_id) if EVIL in one or "yes" in one]
    assert (await answer_over_http(both, ask_id))[0] == 404

    await decide(both, action)
    await status_of_card(both, ask_id, "shown")
    mine = await bobs_token(both)
    assert EVIL in str((await get(both, "/v1/asks", token=mine))[1])
    status, answered, _ = await post(both, f"/v1/asks/{ask_id}/answer", {"value": "yes"}, token=mine)
    assert (status, answered["status"]) == (200, "answered")


async def test_with_a_token_of_their_own_nobody_reads_new_words_before_they_are_agreed_to(both: Living) -> None:
    ask_id = await shown_to_bob(both)
    first = await ask_bob(both, "Cake?")
    await decide(both, await only_one_waits(both, "Cake?"))
    await status_of_card(both, first, "shown")
    await change(both, ask_id, "revise", {"question": EVIL, "options": [EVIL, "no"]})
    await only_one_waits(both, EVIL)
    assert not [one for one in await doors(both, ask_id) if EVIL in one]
    _, found = await get(both, "/v1/asks?mine=true&limit=1", token=await bobs_token(both))
    assert [one["ask_id"] for one in found["asks"]] == [first]

    await change(both, ask_id, "cancel", {"reason": EVIL})
    await status_of_card(both, ask_id, "closed")
    assert not [one for one in await doors(both, ask_id) if EVIL in one]


async def test_the_reason_of_an_end_and_what_the_owner_left_out_are_at_no_door(house: Living) -> None:
    taken_back = await shown_to_bob(house)
    await change(house, taken_back, "cancel", {"reason": EVIL})
    await only_one_waits(house, "Taken back")
    seen = await doors(house, taken_back)
    assert "Tea?" in seen[2]
    assert not [one for one in seen if EVIL in one]
    await decide(house, await only_one_waits(house, "Taken back"), "reject_action", reason="no")

    shortened = await ask_bob(house, EVIL)
    await decide(house, await only_one_waits(house, EVIL), edits={"message": "ci asks: Tea?"})
    await status_of_card(house, shortened, "shown")
    assert not [one for one in await doors(house, shortened) if EVIL in one]


async def test_the_stream_says_nothing_of_what_was_not_agreed_to(house: Living) -> None:
    url, heard = house.household.addresses["api"] + "/v1/asks/stream", ""
    ask_id = await ask_bob(house, EVIL)
    await only_one_waits(house, EVIL)
    await shown_to_bob_besides(house)
    headers = {"Authorization": f"Bearer {await bobs_token(house)}", "Last-Event-ID": "0"}
    async with house.http.get(url, headers=headers) as stream:
        while "Biscuit?" not in heard:
            heard += (await stream.content.readany()).decode()
    assert EVIL not in heard and ask_id not in heard


async def shown_to_bob_besides(house: Living) -> None:
    ask_id = await ask_bob(house, "Biscuit?")

    async def look() -> dict[str, Any] | None:
        return next((one for one in await waiting(house) if "Biscuit?" in one["preview"]), None)

    await decide(house, await until(look))
    await status_of_card(house, ask_id, "shown")


async def test_a_reply_to_an_unknown_message_tells_nothing_of_what_waits_and_answers_none(both: Living) -> None:
    first = await ask_bob(both, f"{EVIL}, first?")
    await only_one_waits(both, EVIL)
    await bob_replies_to_what_is_unknown(both, "yes")
    await ask_bob(both, f"{EVIL}, second?")
    await until(lambda: many_wait(both, 2))
    await bob_replies_to_what_is_unknown(both, "no")
    assert (await get(both, f"/v1/asks/{first}", token=token(both)))[1]["status"] == "open"
    await bob_has_read_nothing_of_it(both)


async def bob_replies_to_what_is_unknown(house: Living, words: str) -> None:
    """To a message of which the process that sent it noted nothing. He is heard when what he sends next is."""
    bot = house.played_at.removesuffix("sandbox/") + "bot1:sandbox/sendMessage"
    async with house.http.post(bot, json={"chat_id": BOB, "text": "Hello?"}) as response:
        sent = (await response.json())["result"]["message_id"]
    await write(house, words, chat_id=BOB, reply_to_message_id=sent)
    before = len(await bobs(house))
    await write(house, "/help", chat_id=BOB)

    async def heard() -> bool:
        return len(await bobs(house)) > before

    await until(heard)


async def ann_gets_a_letter(house: Living, edits: dict[str, Any] | None = None, **more: Any) -> str:
    """What the page says that the link in it leads to. All that she was to read was agreed to, or edited."""
    body = {"name": "Ann", "role": "contact", "addresses": [{"channel": "email", "address": "ann@example.org"}]}
    await post(house, "/v1/people", body, token=house.token("operator"))
    await ask_bob(house, to="Ann", channels=["email"], **more)
    waits = (await until(lambda: waiting(house)))[0]
    await decide(house, waits, **({"edits": edits} if edits else {}))

    return await behind(house, await letter(house, "/a/"))


async def test_the_page_behind_a_link_says_what_was_agreed_to(house: Living) -> None:
    page = await ann_gets_a_letter(house)
    assert "Tea?" in page and "yes" in page


async def test_the_page_behind_a_link_says_nothing_that_the_owner_left_out(house: Living) -> None:
    page = await ann_gets_a_letter(house, {"message": "ci asks: Tea?"}, question=EVIL)
    assert EVIL not in page


async def test_the_page_behind_a_link_says_no_more_than_the_card(house: Living) -> None:
    page = await ann_gets_a_letter(house, context=EVIL, preview="title")
    assert "Tea?" in page and EVIL not in page


async def test_the_page_behind_a_link_shows_of_a_form_what_the_card_shows(house: Living) -> None:
    field = {"type": "string", "title": EVIL, "description": EVIL, "default": EVIL}
    page = await ann_gets_a_letter(
        house, options=None, kind="form", form={"type": "object", "properties": {"tea": field}}
    )
    assert "tea" in page and EVIL not in page


async def test_of_a_question_hidden_from_its_card_a_wrong_answer_brings_nothing_to_light(house: Living) -> None:
    ask_id = await ask_bob(house, EVIL, preview="none", options=[EVIL, "no"], allow_text=False)
    await decide(house, await only_one_waits(house, "has a question for you"))
    card = await bob_reads(house, "has a question for you")
    await write(house, "perhaps", chat_id=BOB, reply_to_message_id=card["message_id"])
    await bob_reads(house, "console")
    await until(lambda: more_than_one_card(house))
    await bob_has_read_nothing_of_it(house)
    assert not [one for one in await doors(house, ask_id) if EVIL in one]


async def more_than_one_card(house: Living) -> bool:
    return len(await bobs(house)) > 1


# A question is on one channel of a person at a time: the next one has it when nobody answers, or the first fails.
SOON: dict[str, Any] = {"questions": {"next_channel_seconds": 0.3}}


async def asked(house: Living, **more: Any) -> QuestionView:
    return await ask(house, **{"channels": None, **more})


async def where(house: Living, view: QuestionView) -> dict[str, PresentationStatus]:
    return {one.channel: one.status for one in await parts(house).world.store.presentations.of(view.question.id)}


async def shown_on(house: Living, view: QuestionView, *channels: str) -> None:
    async def look() -> bool:
        found = await where(house, view)
        return all(found.get(one) is PresentationStatus.SHOWN for one in channels)

    await until(look)


@pytest.mark.requirement("ask:one-channel-at-a-time")
async def test_the_first_channel_has_it_alone_and_an_answer_there_is_all_the_others_ever_hear(small: Living) -> None:
    view = await asked(small)
    card = await phone(small, "Ship it?")
    await shown_on(small, view, "telegram")
    assert (await where(small, view))["email"] is PresentationStatus.PLANNED
    await press(small, card, "yes")
    await phone(small, "✅ yes")

    assert (await where(small, view))["email"] is PresentationStatus.LEFT
    assert await small.received("email") == []


@pytest.mark.requirement("ask:one-channel-at-a-time")
async def test_who_does_not_answer_is_asked_on_the_next_channel_after_a_while(home: Path) -> None:
    async with living(home, LIFTED, QUICK, SOON) as house:
        view = await asked(house)
        await shown_on(house, view, "telegram", "email")

        assert [one["subject"] for one in await house.received("email")] == ["Question: Ship it?"]


@pytest.mark.requirement("ask:one-channel-at-a-time")
async def test_named_channels_are_all_rung_at_once(small: Living) -> None:
    view = await asked(small, channels=["telegram", "email"])
    await shown_on(small, view, "telegram", "email")


@pytest.mark.requirement("ask:one-channel-at-a-time")
async def test_when_the_first_channel_fails_for_good_the_next_has_it_at_once(small: Living) -> None:
    await small.fault(channel="telegram", times=1, status=400)
    view = await asked(small)
    await shown_on(small, view, "email")

    assert (await where(small, view))["telegram"] is PresentationStatus.FAILED


@pytest.mark.requirement("ask:one-channel-at-a-time")
async def test_while_the_first_channel_keeps_failing_the_next_has_it_at_once(home: Path) -> None:
    async with living(home, LIFTED, QUICK, {"breaker": {"failure_threshold": 1}}) as house:
        await house.fault(channel="telegram", times=1, status=503)
        await house.notify(wait_seconds=0)
        await until(lambda: is_open(house, "telegram"))
        view = await asked(house)
        await shown_on(house, view, "email")

        assert (await where(house, view))["telegram"] is PresentationStatus.PLANNED


async def is_open(house: Living, channel: str) -> bool:
    listed = (await house.api("GET", "/v1/channels"))[1]["channels"]
    return {one["name"]: one["health"]["circuit"] for one in listed}[channel] == "open"


@pytest.mark.requirement("ask:one-channel-at-a-time")
async def test_a_persons_own_escalation_says_when_and_where_it_goes_next(home: Path) -> None:
    steps = {"attention": {"escalation": [{"after_seconds": 1800, "channel": "email"}]}}
    async with living(home, LIFTED, QUICK, SOON, steps) as house:
        view = await asked(house)
        await shown_on(house, view, "telegram")
        mail = next(
            one for one in await parts(house).world.store.presentations.of(view.question.id) if one.channel == "email"
        )

        assert mail.due_at_us == view.question.created_at_us + seconds(1800)


@pytest.mark.requirement("ask:one-channel-at-a-time")
@pytest.mark.parametrize("has_address", [True, False], ids=["the only channel fails", "no address at all"])
async def test_when_nobody_can_be_reached_those_whom_it_is_passed_on_to_are_asked_at_once(
    home: Path, has_address: bool
) -> None:
    bob = {"name": "Bob"} | ({"telegram_chat_id": "2001"} if has_address else {})
    async with living(home, LIFTED, QUICK, {"contacts": [bob]}) as house:
        if has_address:
            await house.fault(channel="telegram", times=1, status=400)
        await asked(house, to="Bob", escalate_to="owner", escalate_after_seconds=3600)
        card = await phone(house, "Ship it?")

        assert card["chat_id"] == OWNER_CHAT
