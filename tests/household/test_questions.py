"""Questions in a living household, and when approvals are on."""

from __future__ import annotations

import asyncio
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
from chaos.proxy import Proxy, Toxic

from postroom.cli.doctor.doctor import look_at_models
from postroom.conversations.texts import ENGLISH
from postroom.household.butlers import cannot_answer
from postroom.household.channels import build_channels
from postroom.household.people import household_people, keep_in_step
from postroom.household.questions import build_gate, deciders_of
from postroom.household.store import Premises, approval_policy, open_store
from postroom.kernel.acts.reading import made
from postroom.kernel.running.clock import SystemClock
from postroom.kernel.values.ids import seconds
from postroom.kernel.values.principal import OPERATOR
from postroom.message.wishes import Risk
from postroom.people.model import NewPerson, PersonAddress, PersonRole
from postroom.people.people import HouseholdPeople
from postroom.questions.acts import ReviseAsk
from postroom.questions.model import PresentationStatus, QuestionStatus, Said
from postroom.sandbox.accounts import SandboxAddress
from postroom.settings.load import load
from tests.butlers.runtimes.installed import install
from tests.clock import FakeClock
from tests.console.http import calling
from tests.household.asked_household import (
    HEALTH,
    SECONDS,
    ask,
    labels,
    letter,
    parts,
    phone,
    press,
    press_beside,
    shown,
    until,
    write,
)
from tests.household.calling import get, post
from tests.household.living import LIFTED, QUICK, Living, living, settings_for
from tests.household.talking import roster_of, script, talking

# When approvals are on, and what the settings make of them.
REAL = {"BUTLER_TELEGRAM_TOKEN": "1:token", "POSTROOM_OWNER__TELEGRAM_CHAT_ID": "1000"}


@pytest.mark.parametrize(
    ("environment", "is_on", "asked_on"),
    [
        pytest.param({}, False, ("telegram",), id="off in the sandbox"),
        pytest.param({"POSTROOM_APPROVALS__ENABLED": "true"}, True, ("telegram",), id="on when asked for"),
        pytest.param(REAL, True, ("telegram",), id="on with real credentials, and the owner is asked"),
        pytest.param({**REAL, "POSTROOM_APPROVALS__ENABLED": "false"}, False, ("telegram",), id="off when asked for"),
        pytest.param({**REAL, "POSTROOM_APPROVALS__ASK_OWNER": "false"}, True, None, id="in silence"),
        pytest.param(
            {**REAL, "POSTROOM_APPROVALS__ASK_CHANNEL": "email"}, True, ("console",), id="no address on that channel"
        ),
    ],
)
@pytest.mark.requirement("messenger:gated-tools")
async def test_the_gate_stands_as_soon_as_messages_reach_real_people(
    tmp_path: Path, environment: dict[str, str], is_on: bool, asked_on: tuple[str, ...] | None
) -> None:
    settings, _ = load({"POSTROOM_HOME": str(tmp_path), **environment})
    channels = build_channels(settings, SandboxAddress("127.0.0.1", 1, 1) if settings.in_sandbox else None)

    async with open_store(settings) as store:
        place = Premises(settings=settings, store=store, clock=FakeClock())
        await keep_in_step(place)
        gate = build_gate(place, HouseholdPeople(store.people, place.clock), channels)
        deciders = deciders_of(place, channels)
        found = await deciders.found(owner_only=False) if deciders else None

    assert (gate is not None) is is_on
    assert (tuple(found[1]) if found else None) == asked_on
    for channel in channels.values():
        await channel.close()


@pytest.mark.requirement("ask:approval-who")
async def test_the_owner_and_trusted_approvers_are_asked_each_where_they_are(tmp_path: Path) -> None:
    settings, _ = load({"POSTROOM_HOME": str(tmp_path)})
    async with open_store(settings) as store:
        place = Premises(settings=settings, store=store, clock=FakeClock())
        await keep_in_step(place)
        people = household_people(place)
        for name, trusted, role in (
            ("Ben", True, PersonRole.APPROVER),
            ("Eve", False, PersonRole.APPROVER),
            ("Joe", True, PersonRole.MEMBER),
        ):
            address = PersonAddress(channel="email", address=f"{name.lower()}@example.org")
            written = NewPerson(name=name, role=role, trusted=trusted, addresses=(address,))
            await people.create(written, source="test")
        await store.household.known()
        deciders = deciders_of(place, ["telegram", "email"])
        assert deciders is not None

        everyone, channels = await deciders.found(owner_only=False)
        alone, _ = await deciders.found(owner_only=True)

    assert [one.name for one in everyone][1:] == ["Ben"]
    assert channels == ["telegram", "email"]
    assert [one.id for one in alone] == ["owner"]


def test_every_number_comes_from_the_settings(tmp_path: Path) -> None:
    settings, _ = load(
        {
            "POSTROOM_HOME": str(tmp_path),
            "POSTROOM_APPROVALS__EXPIRY_HOURS": "2",
            "POSTROOM_APPROVALS__REPLIES": "ask",
            "POSTROOM_APPROVALS__RISK": "low",
            "POSTROOM_APPROVALS__RISK_BY_CHANNEL": '{"email": "critical"}',
            "POSTROOM_APPROVALS__MAX_PENDING_PER_ORIGIN": "3",
            "POSTROOM_APPROVALS__PHONE": "none",
        }
    )

    policy = approval_policy(settings)

    assert (policy.expiry_us, policy.replies_pass) == (7_200_000_000, False)
    assert (policy.risk.of_channel("telegram"), policy.risk.of_channel("email")) == (Risk.LOW, Risk.CRITICAL)
    assert (policy.most_pending_per_origin, policy.phone) == (3, None)


@pytest.mark.requirement("ask:closed-everywhere")
async def test_a_press_on_the_phone_answers_wakes_the_waiter_and_closes_the_card(house: Living) -> None:
    asked = asyncio.create_task(ask(house, wait_seconds=SECONDS))
    card = await phone(house, "Ship it?")
    assert labels(card) == ["yes", "no", "…"]
    await press(house, card, "yes")
    view = await asyncio.wait_for(asked, SECONDS)
    question = view.question
    assert question.status is QuestionStatus.ANSWERED
    assert question.answer is not None and question.answer.value == "yes"
    assert question.answered_by is not None
    assert (question.answered_by.person_id, question.answered_by.channel) == ("owner", "telegram")
    closed = await phone(house, "✅ yes: answered by")
    assert closed["message_id"] == card["message_id"]
    assert labels(closed) == []
    await shown(house, view, PresentationStatus.CLOSED)
    assert len(await house.received()) == 1


@pytest.mark.requirement("ask:closed-everywhere")
@pytest.mark.parametrize(
    ("preview", "context", "kept", "gone"),
    [
        ("full", "git push --force origin main", "\ngit push --force origin main\n", "(whole in the console)"),
        ("full", "make dist\n" * 30, "make dist…\n(whole in the console)", "\n" * 12),
        ("title", "git push --force origin main", "health asked:\nRun this?", "git push"),
    ],
    ids=["short", "long", "never shown there"],
)
async def test_a_closed_card_still_says_what_was_allowed(
    small: Living, preview: str, context: str, kept: str, gone: str
) -> None:
    options = [{"value": "allow", "label": "Allow"}, {"value": "deny", "label": "Deny"}]
    await ask(small, question="Run this?", context=context, options=options, allow_text=False, preview=preview)
    await press(small, await phone(small, "Run this?"), "Allow")

    closed = (await phone(small, "✅ Allow: answered by"))["text"]
    assert kept in closed and gone not in closed


@pytest.mark.requirement("ask:who-may-answer")
async def test_a_person_who_was_not_asked_cannot_answer_and_the_second_press_is_too_late(small: Living) -> None:
    view = await ask(small)
    card = await phone(small, "Ship it?")
    await press(small, card, "yes", from_id=4711)
    assert "/pair CODE" in await notice_of_a_press(small, "This sender is not verified.")
    await press(small, card, "no")
    await phone(small, "✅ no: answered by")
    kinds = [str(one.verdict.kind) for one in await parts(small).store.attempts(view.question.id)]
    assert kinds == ["unauthorised", "accepted"]


async def notice_of_a_press(house: Living, words: str) -> str:
    """What whoever pressed a button sees of it alone, once it says this."""

    async def look() -> str | None:
        async with house.http.get(house.played_at + "telegram/callbacks") as response:
            seen = [one["answer"] or "" for one in (await response.json())["callbacks"]]
        return next((one for one in seen if words in one), None)

    return await until(look)


@pytest.mark.requirement("ask:approve-exactly")
async def test_a_reply_with_the_exact_word_approves_and_ok_never_does(small: Living) -> None:
    view = await ask(small, kind="approve", options=None, question="Delete it?")
    card = await phone(small, "Delete it?")
    assert labels(card) == ["Approve", "Deny", "Rather not"]
    await shown(small, view, PresentationStatus.SHOWN)
    await write(small, "ok", reply_to_message_id=card["message_id"])
    await phone(small, "Press a button, or reply with exactly")
    await write(small, "deny", reply_to_message_id=card["message_id"])
    await phone(small, "✅ Deny: answered by")


@pytest.mark.requirement("ask:ticks")
async def test_several_options_are_ticked_redrawn_and_sent(small: Living) -> None:
    view = await ask(small, options=["a", "b", "c"], multiple=True, allow_text=False)
    card = await phone(small, "Ship it?")
    assert labels(card) == ["a", "b", "c", "Send", "Rather not"]

    async def redrawn() -> bool:
        return "✅ b" in labels(await phone(small, "Ship it?"))

    await press(small, card, "b")
    await until(redrawn)
    await press(small, card, "c")
    await press(small, card, "Send")
    await phone(small, "✅ b, c: answered by")
    question = await parts(small).store.get(view.question.id)
    assert question is not None and question.answer is not None and question.answer.selected == ("b", "c")


@pytest.mark.requirement("ask:card-rest")
async def test_the_small_button_opens_the_rest_on_the_card_and_goes_on_after_a_restart(home: Path) -> None:
    async with living(home, LIFTED, QUICK) as before:
        view = await ask(before)
        card = await phone(before, "Ship it?")
        await press_beside(before, card, "‹ Back")
        await until(partial(on_card, before, card, ["yes", "no", "…"]))
        await press(before, card, "…")
        await until(partial(on_card, before, card, ["✏️ Other", "Rather not", "Open", "‹ Back"]))
        assert await parts(before).store.attempts(view.question.id) == []
    async with living(home, LIFTED, QUICK) as after:
        await press(after, card, "‹ Back")
        await until(partial(on_card, after, card, ["yes", "no", "…"]))
        await press_beside(after, card, "Rather not")
        closed = await phone(after, "would rather not answer, via telegram")
        assert (closed["message_id"], labels(closed)) == (card["message_id"], [])
        assert len(await after.received()) == 1


async def on_card(house: Living, card: dict[str, Any], buttons: list[str]) -> bool:
    return [labels(one) for one in await house.received() if one["message_id"] == card["message_id"]] == [buttons]


@pytest.mark.requirement("ask:own-words")
async def test_an_answer_in_own_words_is_asked_for_in_a_box_and_found_by_the_reply_to_it(small: Living) -> None:
    await ask(small)
    await ask(small, question="Another one?")
    await phone(small, "Another one?")
    await press_beside(small, await phone(small, "Ship it?"), "✏️ Other")
    box = await phone(small, "Your answer to “Ship it?”")
    assert box["reply_markup"]["force_reply"] is True
    await write(small, "after lunch", reply_to_message_id=box["message_id"])
    await phone(small, "✅ after lunch: answered by")


@pytest.mark.requirement("ask:revised-in-place")
async def test_a_revision_is_edited_in_place_and_the_old_buttons_are_dead(small: Living) -> None:
    view = await ask(small)
    card = await phone(small, "Ship it?")
    await shown(small, view, PresentationStatus.SHOWN)
    old = card["reply_markup"]["inline_keyboard"][0][0]["callback_data"]
    one = made(ReviseAsk, ask_id=view.question.id, question="Ship it today?", options=["yes", "no", "later"])
    await parts(small).asking.revise(HEALTH, view.question.id, one.words)
    revised = await phone(small, "Ship it today?")
    assert revised["message_id"] == card["message_id"]
    assert "later" in labels(revised)
    assert old not in str(revised["reply_markup"])
    await press(small, revised, "later")
    await phone(small, "✅ later: answered by")


async def test_a_cancelled_question_is_taken_back_on_the_card_and_mail_gets_a_link(small: Living) -> None:
    view = await ask(small, channels=["telegram", "email"])
    await phone(small, "Ship it?")
    mail = await letter(small, "1. yes\n2. no")
    assert mail["subject"] == "Question: Ship it?" and "/a/" in mail["body"]
    await parts(small).asking.cancel(HEALTH, view.question.id, "decided already")
    await phone(small, "✖️ Taken back (decided already)")

    async def statuses() -> bool:
        found = {one.channel: one.status for one in await parts(small).world.store.presentations.of(view.question.id)}
        return found == {"telegram": PresentationStatus.CLOSED, "email": PresentationStatus.LEFT}

    await until(statuses)


@pytest.mark.requirement("ask:secrets")
async def test_a_secret_never_leaves_the_house(small: Living) -> None:
    both = ["telegram", "email"]
    await ask(small, kind="text", options=None, question="What is the safe's code?", secret=True, channels=both)
    waiting = await phone(small, "has a question for you")
    mail = await letter(small, "has a question for you")
    assert "safe" not in f"{waiting}{mail}"


@pytest.mark.requirement("ask:secrets")
async def test_a_secret_that_was_lost_on_its_way_is_there_again_and_wiped_five_minutes_later(
    small: Living, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, ahead_us = SystemClock.now_us, [0]
    monkeypatch.setattr(SystemClock, "now_us", lambda self: real(self) + ahead_us[0])
    asked = (await ask(small, kind="text", options=None, question="The safe's code?", secret=True)).question.id
    said = Said(text="sesame")
    await parts(small).asking.answer(OPERATOR, asked, said, channel="console", event_id="1")
    path, headers = f"/v1/asks/{asked}", {"Authorization": f"Bearer {small.token('health')}"}
    port = int(urlsplit(small.household.addresses["api"]).port or 0)
    async with Proxy(port) as line, aiohttp.ClientSession() as http:
        line.answer = Toxic(cut_after_bytes=0)
        with pytest.raises(aiohttp.ClientError):
            await http.get(f"http://127.0.0.1:{line.port}{path}", headers=headers)
    collected = [one["collected_at"] for one in small.rows("questions") if one["id"] == asked]
    assert collected != [None]

    again = (await get(small, path, token=small.token("health")))[1]["answer"]
    ahead_us[0] += seconds(301)
    await parts(small).world.timekeeper.look()
    await parts(small).world.timekeeper.idle()
    late = (await get(small, path, token=small.token("health")))[1]["answer"]

    assert (again["text"], late) == ("sesame", None)
    assert [one["answer"] for one in small.rows("questions") if one["id"] == asked] == [None]


@pytest.mark.requirement("ask:clocks-differ")
async def test_a_press_and_an_answer_over_http_count_when_the_clock_was_set_back(
    small: Living, monkeypatch: pytest.MonkeyPatch
) -> None:
    pressed, told = await ask(small, question="Ship it?"), await ask(small, question="And the other?")
    card = await phone(small, "Ship it?")
    await shown(small, pressed, PresentationStatus.SHOWN)
    real = SystemClock.now_us
    monkeypatch.setattr(SystemClock, "now_us", lambda self: real(self) - seconds(7200))

    await press(small, card, "yes")
    path, token = f"/v1/asks/{told.question.id}/answer", small.token("operator")
    status, answered, _ = await post(small, path, {"value": "no"}, token=token)
    waited = await parts(small).asking.wait(HEALTH, ask_id=pressed.question.id, wait_seconds=SECONDS)

    assert (status, answered["status"]) == (200, "answered")
    assert waited.question.answer is not None and waited.question.answer.value == "yes"


@pytest.mark.requirement("ask:after-a-gap")
async def test_a_question_survives_the_house_and_after_a_gap_its_card_says_so(home: Path) -> None:
    async with living(home, LIFTED, QUICK) as before:
        view = await ask(before, idempotency_key="ship")
        await shown(before, view, PresentationStatus.SHOWN)
        card = await phone(before, "Ship it?")
    with sqlite3.connect(home / "postroom.db") as connection:  # as if it had been down for ten minutes
        moved = "UPDATE inbound_offsets SET position = position - 600000000 WHERE source = 'telegram:listened'"
        assert connection.execute(moved).rowcount == 1
    async with living(home, LIFTED, QUICK) as after:
        told = await phone(after, "I could not hear you from")
        assert told["message_id"] == card["message_id"]
        await press(after, told, "yes")
        waited = await parts(after).asking.wait(HEALTH, key="ship", wait_seconds=SECONDS)
        assert waited.question.status is QuestionStatus.ANSWERED
        closed = await phone(after, "✅ yes: answered by")
        assert closed["message_id"] == card["message_id"]
        assert len(await after.received()) == 1


@pytest.mark.requirement("ask:shown-once")
async def test_a_card_that_a_dead_household_had_in_hand_is_taken_up_by_its_next_start_and_not_sent_twice(
    home: Path,
) -> None:
    async with living(home, LIFTED, QUICK) as one:
        view = await ask(one)
        await shown(one, view, PresentationStatus.SHOWN)
    with sqlite3.connect(home / "postroom.db") as connection:  # as it was when it had been claimed, for an hour
        connection.execute("DROP TRIGGER presentations_moves")
        claimed = "UPDATE presentations SET status = 'planned', delivery_id = NULL, due_at = created_at + 3600000000"
        assert connection.execute(claimed).rowcount == 1

    async with living(home, LIFTED, QUICK) as next_one:
        await shown(next_one, view, PresentationStatus.SHOWN)
        with sqlite3.connect(home / "postroom.db") as connection:
            assert connection.execute("SELECT count(*) FROM delivery_requests").fetchone() == (1,)


async def test_after_a_restart_the_sandboxs_phone_shows_what_it_showed_and_open_questions_are_answered_there(
    home: Path,
) -> None:
    async with living(home, LIFTED, QUICK) as before:
        await ask(before)
        shown = (await phone(before, "Ship it?"))["message_id"]
    async with living(home, LIFTED, QUICK) as after:
        card = await phone(after, "Ship it?")
        assert (card["message_id"], labels(card)[:2]) == (shown, ["yes", "no"])
        await press(after, card, "yes")
        assert (await phone(after, "✅ yes: answered by"))["message_id"] == shown


# No model is set up: whoever writes is told so and how to change it, and so is whoever looks after the household.
@pytest.mark.requirement("talk:no-model")
async def test_a_program_that_is_not_installed_is_named_with_what_to_do(home: Path, tmp_path: Path) -> None:
    async with talking(home, tmp_path, models=["general"]) as house:
        (tmp_path / "bin" / "codex").unlink()
        await write(house, "What is on today?")

        told = await phone(house, "no model is set up for it: the program 'codex' is not installed")
        assert "postroom doctor" in told["text"] and "Please try again" not in told["text"]


@pytest.mark.requirement("talk:no-model", "talk:failure-in-words")
@pytest.mark.parametrize(
    ("models", "words", "told"),
    [
        ([], "What is on today?", ENGLISH.no_model),
        (["general"], "/health How did I sleep?", ENGLISH.butler_without_model.format(butler="health")),
    ],
    ids=["nobody has one", "the one who is named has none"],
)
async def test_where_no_model_is_set_up_the_person_is_told_so(
    home: Path, tmp_path: Path, models: list[str], words: str, told: str
) -> None:
    async with talking(home, tmp_path, models=models) as house:
        await write(house, words)
        await phone(house, told)


@pytest.mark.requirement("talk:no-model")
@pytest.mark.parametrize(
    ("complaint", "told"),
    [
        ("Invalid API key. Please run /login", "none of CODEX_API_KEY, OPENAI_API_KEY, CODEX_HOME is set"),
        ("The disk is full", "could not answer this. Please try again."),
    ],
)
async def test_a_program_that_wants_a_login_it_was_not_given_is_told_apart_from_one_that_fails(
    home: Path, tmp_path: Path, complaint: str, told: str
) -> None:
    async with talking(home, tmp_path, models=["general"]) as house:
        program = tmp_path / "bin" / "codex"
        program.unlink()
        program.write_text(f"#!/bin/sh\ncat > /dev/null\necho '{complaint}' >&2\nexit 1\n")
        program.chmod(0o755)
        await write(house, script(say="Never."))

        await phone(house, told)


@pytest.mark.requirement("talk:no-model")
async def test_today_health_and_doctor_say_that_no_butler_can_answer(home: Path, tmp_path: Path) -> None:
    environment = {"PATH": install(tmp_path / "bin", ["gemini"])}
    settings = settings_for(home, LIFTED, QUICK)
    roster = roster_of(settings, ["general"])
    why = cannot_answer(roster, environment)
    assert "general: the program 'codex' is not installed" in why and "health: its butler.toml names no" in why
    assert look_at_models(roster, environment).detail == why
    assert look_at_models(roster, {"PATH": install(tmp_path / "all", ["codex"]), "CODEX_API_KEY": "k"}).advice == ""

    async with (
        talking(home, tmp_path, models=["general"], path=str(tmp_path / "empty")) as house,
        calling(house) as caller,
    ):
        assert house.household.sign_in is not None
        worn = await caller.sign_in(await house.household.sign_in())
        for page in ("/console/", "/console/health"):
            assert "No butler can answer: general: the program" in (await caller.get(page, worn)).text
