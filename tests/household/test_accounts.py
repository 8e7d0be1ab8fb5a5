"""Accounts of a household: two bots of a kind, accounts elsewhere, and providers that make an outcome certain."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
from chaos.proxy import Proxy

from postroom.channels.apprise.channel import AppriseService
from postroom.household.delivery import opened_lookups
from postroom.kernel.running.clock import SystemClock
from postroom.kernel.values.errors import OutcomeUncertain
from postroom.kernel.values.ids import seconds
from postroom.message.channel import Capabilities
from postroom.message.delivery import REPEAT_MARK, Message, Receipt
from postroom.message.inbound import LateNews, Listened, NewsKind
from postroom.overview.commands import timeline
from postroom.questions.model import PresentationStatus, QuestionStatus
from postroom.questions.shapes import QuestionView
from postroom.sandbox.server import Sandbox, SandboxOptions
from tests.contract.bot_api import BotApi, raw_reply
from tests.fakes.accounts import accounts_at
from tests.fakes.discord.face import DiscordFace
from tests.fakes.server import serve as fakes
from tests.household.asked_household import (
    HEALTH,
    OWNER_CHAT,
    OWNERS,
    SECONDS,
    ask,
    has_address,
    labels,
    parts,
    phone,
    press,
    shown,
    until,
    write,
)
from tests.household.living import LIFTED, QUICK, Living, living, settings_for
from tests.patience import PATIENCE_SECONDS

# Two bots in one household, each at a provider of its own: what belongs to one never comes by the other.
REAL = {"sandbox": False, "approvals": {"enabled": False}, "owner": {"name": "Olivia", "telegram_chat_id": OWNER_CHAT}}


@dataclass(frozen=True, slots=True)
class At(Living):
    """The household, and of its phones the owner's at this provider; the chat has the same number on all."""

    provider: Sandbox

    @property
    def played_at(self) -> str:
        return f"{self.provider.bot_api_url}/sandbox/"


def at(house: Living, provider: Sandbox) -> At:
    return At(house.settings, house.household, house.http, provider)


@dataclass(frozen=True, slots=True)
class TwoBots:
    house: Living
    home: At
    work: At


@pytest.fixture
async def bots(home: Path) -> AsyncIterator[TwoBots]:
    async with AsyncExitStack() as stack:
        one, other = [
            await stack.enter_async_context(Sandbox(SandboxOptions(token=token))) for token in ("1:home", "2:work")
        ]
        work = {"kind": "telegram", "token": "2:work", "api_base_url": other.bot_api_url}
        accounts = {"telegram": {"token": "1:home", "api_base_url": one.bot_api_url}, "channels": {"work": work}}
        house = await stack.enter_async_context(living(home, LIFTED, QUICK, REAL, accounts))
        await has_address(house, "work", rank=1)
        yield TwoBots(house, at(house, one), at(house, other))


@pytest.mark.requirement("chan:two-of-a-kind")
async def test_each_sends_by_its_own_bot(bots: TwoBots) -> None:
    answers = [await bots.house.notify(channel=name, message=f"by {name}") for name in ("telegram", "work")]

    assert [one["delivery"]["channel"] for one in answers] == ["telegram", "work"]
    assert (await bots.home.texts(), await bots.work.texts()) == (["by telegram"], ["by work"])


@pytest.mark.requirement("chan:two-of-a-kind")
async def test_a_card_is_answered_where_it_was_pressed_and_closed_on_both(bots: TwoBots) -> None:
    asked = asyncio.create_task(ask(bots.house, channels=["telegram", "work"], wait_seconds=SECONDS))
    at_home, at_work = await phone(bots.home, "Ship it?"), await phone(bots.work, "Ship it?")

    await press(bots.work, at_work, "yes")
    question = (await asyncio.wait_for(asked, SECONDS)).question

    assert question.status is QuestionStatus.ANSWERED and question.answered_by is not None
    assert question.answered_by.channel == "work"
    closed = [await phone(one, "✅ yes: answered by") for one in (bots.home, bots.work)]
    assert [one["message_id"] for one in closed] == [at_home["message_id"], at_work["message_id"]]
    assert [labels(one) for one in closed] == [[], []]


@pytest.mark.requirement("chan:two-of-a-kind")
async def test_a_reply_answers_the_card_of_its_own_account(bots: TwoBots) -> None:
    first = await ask(bots.house, question="At home?", channels=["telegram"], options=["yes", "no"])
    second = await ask(bots.house, question="At work?", channels=["work"], options=["yes", "no"])
    at_home, at_work = await phone(bots.home, "At home?"), await phone(bots.work, "At work?")
    assert at_home["message_id"] == at_work["message_id"]

    await write(bots.work, "no", reply_to_message_id=at_work["message_id"])
    await phone(bots.work, "✅ no: answered by")

    found = [await parts(bots.house).store.get(one.question.id) for one in (first, second)]
    assert [one.status for one in found if one] == [QuestionStatus.OPEN, QuestionStatus.ANSWERED]


@pytest.mark.requirement("chan:two-of-a-kind")
async def test_both_are_heard_and_each_from_its_own_place(bots: TwoBots) -> None:
    for one in (bots.home, bots.work):
        await write(one, "hello?")
    for one in (bots.home, bots.work):
        await phone(one, "Which butler do you mean?")

    async def offsets() -> bool:
        marks = parts(bots.house).world.store.marks
        return None not in [await marks.offset(name) for name in ("telegram", "work")]

    assert await until(offsets)


@pytest.mark.requirement("chan:auto")
async def test_auto_is_the_owners_first_account_and_the_answer_names_it(bots: TwoBots) -> None:
    sent = await bots.house.notify(channel="auto", message="as you like it")
    body = {"message": "over HTTP", "channel": "auto"}
    _, over_http = await bots.house.api("POST", "/v1/notify", body, who="health")
    envelope = {
        "schema_version": "notify.v1",
        "origin_butler": "health",
        "delivery": {"intent": "send", "channel": "auto", "message": "perhaps"},
    }
    rehearsed = await bots.house.call("messenger", "messenger_dry_run", {"notify_request": envelope}, caller="operator")

    assert (sent["status"], sent["delivery"]["channel"]) == ("ok", "work")
    assert over_http["delivery"]["channel"] == "work"
    assert rehearsed["channel_adapter"] == "work.bot"
    assert await bots.work.texts() == ["as you like it", "over HTTP"]
    assert await bots.home.texts() == []


@pytest.mark.requirement("chan:auto")
async def test_auto_for_a_person_nobody_knows_is_refused_by_field(bots: TwoBots) -> None:
    answer = await bots.house.notify(channel="auto", recipient="Nobody", message="hello")

    assert answer["status"] == "error"
    assert answer["error_message"].startswith("channel: ")
    assert await bots.work.texts() == [] == await bots.home.texts()


async def test_both_are_listed_with_their_kind_and_health(bots: TwoBots) -> None:
    listed = (await bots.house.api("GET", "/v1/channels"))[1]["channels"]

    told = {one["name"]: (one["kind"], one["configured"], one["health"]["circuit"]) for one in listed}
    assert told["telegram"] == told["work"] == ("telegram", True, "closed")
    assert told["email"][:2] == ("email", False)


@pytest.mark.requirement("chan:sandbox-accounts")
async def test_in_the_sandbox_two_bots_share_a_phone_and_not_what_is_pressed_there(home: Path) -> None:
    work = {"work": {"kind": "telegram", "token": "unused there"}}
    async with living(home, LIFTED, QUICK, {"sandbox": True, "channels": work}) as house:
        await has_address(house, "work", rank=1)
        asked = asyncio.create_task(ask(house, channels=["work"], wait_seconds=SECONDS))
        await press(house, await phone(house, "Ship it?"), "yes")
        question = (await asyncio.wait_for(asked, SECONDS)).question
        answer = await house.notify(channel="work", message="by work")

    assert question.answered_by is not None and question.answered_by.channel == "work"
    assert (answer["status"], answer["delivery"]["channel"]) == ("ok", "work")


# The household was down when the deadline passed; what a person had written in time is read before anything ends.
HOUR_US = seconds(3600)


class AnHourAgo(SystemClock):
    """Of a provider that says when something was written."""

    def now_us(self) -> int:
        return super().now_us() - HOUR_US


@pytest.mark.requirement("ask:sent-in-time")
@pytest.mark.parametrize(("written", "status"), [(True, QuestionStatus.ANSWERED), (False, QuestionStatus.EXPIRED)])
async def test_a_reply_that_was_written_in_time_is_the_answer(
    home: Path, written: bool, status: QuestionStatus
) -> None:
    async with Sandbox(SandboxOptions(token="1:home"), AnHourAgo()) as provider:
        account = {"telegram": {"token": "1:home", "api_base_url": provider.bot_api_url}}
        async with living(home, LIFTED, QUICK, REAL, account) as before:
            view = await ask(before, deadline_seconds=3600, default="no")
            card = await phone(at(before, provider), "Ship it?")
            await shown(before, view, PresentationStatus.SHOWN)
        with sqlite3.connect(home / "postroom.db") as connection:  # asked two hours ago, and over for half an hour
            moved = "UPDATE questions SET created_at = created_at - ?, expires_at = expires_at - ?"
            connection.execute(moved, (2 * HOUR_US, 3 * HOUR_US // 2))
            connection.execute("UPDATE moments SET due_at = due_at - ?1, look_at = look_at - ?1", (3 * HOUR_US // 2,))
        if written:
            async with aiohttp.ClientSession() as http:
                said = {"chat_id": OWNER_CHAT, "text": "yes", "reply_to_message_id": card["message_id"]}
                await http.post(f"{provider.bot_api_url}/sandbox/telegram/inbound", json=said)

        async with living(home, LIFTED, QUICK, REAL, account) as after:
            ended = await parts(after).asking.wait(HEALTH, ask_id=view.question.id, wait_seconds=SECONDS)

    assert ended.question.status is status
    assert ended.question.answer is not None and ended.question.answer.value == ("yes" if written else "no")


@pytest.mark.requirement("ask:sent-in-time")
@pytest.mark.parametrize("kept_off", ["a restart", "a sleep of the machine"])
async def test_a_reply_in_time_counts_although_the_channel_comes_back_long_after_the_household(
    home: Path, monkeypatch: pytest.MonkeyPatch, kept_off: str
) -> None:
    real, ahead_us = SystemClock.now_us, [0]
    monkeypatch.setattr(SystemClock, "now_us", lambda self: real(self) + ahead_us[0])

    async def without_an_end(house: Living, question_id: str, minutes: int) -> None:
        for _ in range(minutes * 3):
            ahead_us[0] += seconds(20)
            await parts(house).world.timekeeper.look()
        found = await parts(house).store.get(question_id)
        assert found is not None and found.is_open

    async with AsyncExitStack() as stack:
        provider = await stack.enter_async_context(Sandbox(SandboxOptions(token="1:home")))
        line = await stack.enter_async_context(Proxy(int(urlsplit(provider.bot_api_url).port or 0)))
        account = {"telegram": {"token": "1:home", "api_base_url": f"http://127.0.0.1:{line.port}"}}
        before = AsyncExitStack()
        house = await before.enter_async_context(living(home, LIFTED, QUICK, REAL, account))
        view = await ask(house, deadline_seconds=3600, default="no")
        card = await phone(at(house, provider), "Ship it?")
        await shown(house, view, PresentationStatus.SHOWN)
        line.refuse = True
        line.reset_all()
        if kept_off == "a restart":
            await before.aclose()
        async with aiohttp.ClientSession() as http:
            said = {"chat_id": OWNER_CHAT, "text": "yes", "reply_to_message_id": card["message_id"]}
            await http.post(f"{provider.bot_api_url}/sandbox/telegram/inbound", json=said)
        ahead_us[0] += 2 * HOUR_US
        if kept_off == "a restart":
            house = await stack.enter_async_context(living(home, LIFTED, QUICK, REAL, account))
        else:
            stack.push_async_exit(before)

        await without_an_end(house, view.question.id, minutes=8)
        line.heal()
        ended = await parts(house).asking.wait(HEALTH, ask_id=view.question.id, wait_seconds=SECONDS)

    assert ended.question.status is QuestionStatus.ANSWERED
    assert ended.question.answer is not None and ended.question.answer.value == "yes"


@pytest.mark.requirement("talk:flood")
async def test_a_press_behind_a_flood_of_texts_is_judged_before_the_first_of_them(home: Path) -> None:
    async with Sandbox(SandboxOptions(token="1:home")) as provider:
        account = {"telegram": {"token": "1:home", "api_base_url": provider.bot_api_url}}
        async with living(home, LIFTED, QUICK, REAL, account) as before:
            view = await ask(before)
            card = await phone(at(before, provider), "Ship it?")
            await shown(before, view, PresentationStatus.SHOWN)
        async with aiohttp.ClientSession() as http:
            there = f"{provider.bot_api_url}/sandbox/telegram"
            for number in range(80):
                await http.post(f"{there}/inbound", json={"chat_id": "2001", "text": f"noise {number}"})
            await http.post(f"{there}/press", json={"message_id": card["message_id"], "button": "yes"})

        async with living(home, LIFTED, QUICK, REAL, account) as after:
            ended = (await parts(after).asking.wait(HEALTH, ask_id=view.question.id, wait_seconds=SECONDS)).question

            async def heard() -> list[dict[str, Any]]:
                found = after.rows("(select *, received_at as created_at from inbound_messages)")
                return found if len(found) == after.settings.conversations.messages_per_minute else []

            noise = await until(heard)

    assert ended.answer is not None and ended.answer.value == "yes"
    assert ended.ended_at_us is not None
    assert ended.ended_at_us <= min(one["received_at"] for one in noise)


# An account of every kind at a server of its service: it sends, hears and answers.
async def seen(house: Living, kind: str, words: str) -> dict[str, Any]:
    async def look() -> dict[str, Any] | None:
        return next((one for one in await house.received(kind) if words in one["text"]), None)

    return await until(look)


async def press_at(house: Living, kind: str, card: dict[str, Any], button: str) -> None:
    body = {"message_id": card["message_id"], "button": button}
    async with house.http.post(house.played_at + f"{kind}/press", json=body) as response:
        assert response.status == 200, await response.text()


@pytest.mark.parametrize("kind", OWNERS)
async def test_a_message_and_a_card_go_out_and_the_press_comes_back(home: Path, kind: str) -> None:
    async with fakes() as services, living(home, LIFTED, QUICK, accounts_at(services)) as house:
        await has_address(house, kind, rank=1, address=OWNERS[kind])
        sent = await house.notify(channel="auto", message="Good morning")
        asked = asyncio.create_task(
            ask(house, channels=[kind], options=["yes", "no"], allow_text=False, wait_seconds=SECONDS)
        )
        await press_at(house, kind, await seen(house, kind, "Ship it?"), "yes")
        question = (await asyncio.wait_for(asked, SECONDS)).question
        await seen(house, kind, "Good morning")

    assert (sent["status"], sent["delivery"]["channel"]) == ("ok", kind)
    assert question.answer is not None and question.answer.value == "yes"
    assert question.answered_by is not None and question.answered_by.channel == kind


APPROVE: dict[str, Any] = {"kind": "approve", "options": None}
PERMISSION: dict[str, Any] = {
    "options": [{"value": "allow", "label": "Allow"}, {"value": "deny", "label": "Deny"}],
    "allow_text": False,
}


@pytest.mark.requirement("house:ntfy-buttons-answer")
@pytest.mark.parametrize(("token", "status"), [("", QuestionStatus.OPEN), ("tk_x", QuestionStatus.ANSWERED)])
async def test_where_all_may_read_the_topic_a_press_decides_nothing_and_the_card_stays_open_and_says_where_to_decide(
    home: Path, token: str, status: QuestionStatus
) -> None:
    async with fakes() as services:
        accounts = accounts_at(services)
        accounts["channels"]["ntfy"]["token"] = token
        async with living(home, LIFTED, QUICK, accounts) as house:
            await has_address(house, "ntfy", rank=1, address=OWNERS["ntfy"])
            for button, asked in (("Approve", APPROVE), ("Allow", PERMISSION), ("Deny", PERMISSION)):
                view = await ask(house, channels=["ntfy"], question=f"May I, {button}?", **asked)
                await press_as_a_reader(house, await on_the_topic(house, view, "May I"), button)
                told = f"{button}: answered by" if token else "Open the console to decide this."
                card = await on_the_topic(house, view, told)
                question = await parts(house).store.get(view.question.id)

                assert question is not None and question.status is status
                assert [one["label"] for one in card["buttons"]] == ([] if token else ["Open"])


async def on_the_topic(house: Living, view: QuestionView, words: str) -> dict[str, Any]:
    """The card of this question as it is shown now, once it says this."""

    async def look() -> dict[str, Any] | None:
        cards = [one for one in await house.received("ntfy") if view.question.wording.question in one["text"]]
        return next((one for one in cards if words in one["text"] and not one["deleted"]), None)

    return await until(look)


async def press_as_a_reader(house: Living, card: dict[str, Any], button: str) -> None:
    """Whoever can read the topic of the card sees what its button would post, and posts it."""
    action = next(one for one in card["body"]["actions"] if one["label"] == button)
    async with house.http.post(action["url"], data=action["body"]) as response:
        assert response.status == 200, await response.text()


@pytest.mark.requirement("house:ntfy-buttons-answer")
async def test_a_press_counts_once_and_only_for_the_topic_its_card_went_to(home: Path) -> None:
    async with fakes() as services, living(home, LIFTED, QUICK, accounts_at(services)) as house:
        await has_address(house, "ntfy", rank=1, address=OWNERS["ntfy"])
        view = await ask(house, channels=["ntfy"])
        action = (await on_the_topic(house, view, "Ship it?"))["body"]["actions"][0]
        token, topic = action["body"].split()
        for posted in (f"{token} bens-topic", f"{token[:-1]}? {topic}", f"yes {topic}", f"{token} {topic}"):
            async with house.http.post(action["url"], data=posted) as response:
                assert response.status == 200, await response.text()
        await on_the_topic(house, view, "yes: answered by")

        assert [one.verdict.kind for one in await parts(house).store.attempts(view.question.id)] == ["accepted"]


@pytest.mark.requirement("messenger:provider-throttle-passthrough")
async def test_a_message_waits_where_discord_has_said_that_it_takes_no_more_for_now(home: Path) -> None:
    async with fakes() as services, living(home, LIFTED, QUICK, accounts_at(services)) as house:
        await has_address(house, "discord", rank=1, address=OWNERS["discord"])
        discord = services.faces["discord"]
        assert isinstance(discord, DiscordFace)
        discord.rest.full_seconds = 60.0
        first = await house.notify(channel="discord", message="One")
        second = await house.notify(channel="discord", message="Two", wait_seconds=0)

        async def waits() -> str | None:
            asked = {"delivery_id": second["delivery"]["delivery_id"]}
            reason = (await house.call("health", "notify_status", asked))["delivery"].get("waiting_reason")
            return reason if "throttled" in (reason or "") else None

        reason = await until(waits)
        arrived = [one["text"] for one in await house.received("discord")]

    assert first["status"] == "ok" and reason.startswith("throttled by the provider")
    assert arrived == ["One"]


@pytest.mark.parametrize("kind", OWNERS)
async def test_an_account_without_a_timeout_of_its_own_has_the_households(home: Path, kind: str) -> None:
    quick = {"timeouts": {"default_seconds": 0.3}, "retry": {"max_attempts": 1}}
    async with fakes() as services, living(home, LIFTED, QUICK, accounts_at(services), quick) as house:
        await has_address(house, kind, rank=1, address=OWNERS[kind])
        await house.fault(channel=kind, times=9, mode="hang")
        answer = await house.notify(channel=kind)

        asked = {"delivery_id": answer["delivery"]["delivery_id"]}
        given_up = (await house.call("messenger", "messenger_delivery_attempts", asked))["attempts"][0]

    assert given_up["error_class"] == "timeout" and 300 <= given_up["latency_ms"] < 15_000
    assert settings_for(home).timeouts.default_seconds == 30.0


@pytest.mark.requirement("notify:channel-validation", "notify:unsupported-channel")
async def test_a_fresh_household_has_telegram_and_email_and_no_other(home: Path) -> None:
    async with living(home) as house:
        listed = [one["name"] for one in (await house.api("GET", "/v1/channels"))[1]["channels"]]
        answers = [await house.notify(channel=kind, recipient=OWNERS[kind], message="Hello") for kind in OWNERS]
        async with house.http.get(f"{house.played_at}slack/messages") as response:
            faces = response.status

    assert listed == ["telegram", "email"]
    wanted = [f"Unsupported channel '{kind}'. Supported channels: email, telegram." for kind in OWNERS]
    assert [(one["status"], one["error"]) for one in answers] == [("error", said) for said in wanted]
    assert faces == 404


# A household asks its channel after a doubtful call, and keeps what the channel says of a message later.
SETTINGS: dict[str, Any] = {
    "channels": {"parrot": {"factory": f"{__name__}:Parrot"}},
    "approvals": {"enabled": False},
}
KEPT: list[Message] = []


class Parrot:
    """Keeps a message, cuts the line, knows of it when it is asked, and tells later that it bounced."""

    name = "parrot"
    capabilities = Capabilities(reconciles=True, inbound=True)

    def address(self, text: str) -> str | None:
        return text

    def prepare(self, message: Message) -> Sequence[Message]:
        return (message,)

    async def send(self, part: Message, timeout_seconds: float) -> Receipt:
        KEPT.append(part)
        raise OutcomeUncertain("the line was cut")

    async def find(self, part: Message, since: datetime, timeout_seconds: float) -> Receipt | None:
        return next((Receipt("m1", conversation="D1") for one in KEPT if one.delivery_id == part.delivery_id), None)

    async def listen(self, position: int | None, timeout_seconds: float) -> Listened:
        if position or not KEPT:
            await asyncio.sleep(0.01)
            return Listened()
        news = LateNews(
            channel=self.name,
            event_id="bounce-1",
            kind=NewsKind.BOUNCED,
            at_us=1,
            words="the cage is full",
            delivery_id=KEPT[0].delivery_id,
        )
        return Listened(events=[news], position=1)

    async def close(self) -> None:
        """Nothing is open."""


@pytest.mark.requirement("chan:ask-first", "chan:asking-is-told", "chan:late-news")
async def test_what_was_cut_off_is_found_and_its_news_is_shown(home: Path) -> None:
    KEPT.clear()
    async with living(home, QUICK, SETTINGS) as household:
        answer = await household.notify(channel="parrot", recipient="cage", message="Hello")
        story = await told_of(household, answer["delivery"]["delivery_id"])

    assert (answer["status"], answer["delivery"].get("possible_duplicate")) == ("ok", None)
    assert len(KEPT) == 1
    assert any("We asked parrot whether it had arrived: it was there." in line for line in story)
    assert any("The provider said that it bounced: the cage is full" in line for line in story)


def pager(name: str, url: str) -> AppriseService:
    return AppriseService(name, url, allow_private=True)


@pytest.mark.requirement("house:apprise-evidence")
async def test_what_apprise_reports_as_failed_is_sent_again_as_perhaps_repeated(home: Path) -> None:
    async with BotApi() as server:
        server.behave(raw_reply(401, b"no"), raw_reply(200, b"{}"))
        options = {"name": "pager", "url": f"json://127.0.0.1:{server.port}/"}
        own = {"channels": {"pager": {"factory": f"{__name__}:pager", "options": options}}}
        async with living(home, QUICK, own, {"approvals": {"enabled": False}}) as household:
            answer = await household.notify(channel="pager", recipient="-", message="The backup failed")

        texts = [request.body["message"] for request in server.requests]
    assert texts == ["The backup failed", f"The backup failed\n\n{REPEAT_MARK}"]
    assert (answer["status"], answer["delivery"]["possible_duplicate"]) == ("ok", True)


async def told_of(household: Living, delivery_id: str) -> list[str]:
    """Once the news is there."""
    async with asyncio.timeout(PATIENCE_SECONDS), opened_lookups(household.settings) as view:
        while True:
            found = await view.trace(delivery_id)
            if found["deliveries"][0]["news"]:
                return timeline(found, "UTC")
            await asyncio.sleep(0.02)


# A household that writes to ntfy topics, over real sockets.
FACTORY = "postroom.channels.ntfy.channel:Ntfy"


@pytest.mark.parametrize(("priority", "number"), [("high", 4), ("low", 2)])
async def test_a_message_reaches_the_topic_with_its_priority_and_who_speaks(
    home: Path, priority: str, number: int
) -> None:
    async with fakes() as sandbox:
        options = {"name": "ntfy", "url": f"{sandbox.bot_api_url}/ntfy", "token": "tk_x", "answers_topic": "answers"}
        own = {"channels": {"ntfy": {"factory": FACTORY, "options": options}}, "approvals": {"enabled": False}}
        async with living(home, QUICK, own) as household:
            answer = await household.notify(channel="ntfy", recipient="anna", message="Tea is ready", priority=priority)

        [kept] = sandbox.faces["ntfy"].ledger.messages()

    assert (answer["status"], answer["delivery"]["provider_delivery_id"]) == ("ok", kept.message_id)
    assert (kept.text, kept.body["title"], kept.body["priority"]) == ("Tea is ready", "health", number)
