"""The channel and the sandbox's ntfy server, over real sockets: sent, cut off and found, asked, pressed, closed."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.clock import FakeClock
from tests.fakes.server import Fakes
from tests.opened_database import opened_database
from tests.questions.asking_office import MINT, Office, move_in, office_on, person
from tests.questions.card_post import CardPost

from postroom.channels.ntfy.channel import Ntfy
from postroom.kernel.running.loop import Signal
from postroom.kernel.values.errors import OutcomeUncertain, ProviderThrottled
from postroom.kernel.values.ids import DeliveryId
from postroom.kernel.values.principal import OWNER
from postroom.message.delivery import Intent, Message, Receipt
from postroom.message.markup import Button, Markup, Revision
from postroom.message.outgoing import Outcome, Outgoing
from postroom.questions.hearing import Hearing
from postroom.questions.model import QuestionStatus
from postroom.questions.presenter import Planning, Presenter
from postroom.questions.rules.cards import CardMaker
from postroom.questions.rules.plan import ChannelAbility

ABILITY = ChannelAbility(buttons=True, most_buttons=3, edits=True, inbound=True, replies=False)
YES = Button(label="Yes", token="t0ken")
SENDER = """
import asyncio, sys
from postroom.message.delivery import Intent, Message
from postroom.kernel.values.ids import DeliveryId
from postroom.channels.ntfy.channel import Ntfy

async def send():
    ntfy = Ntfy("ntfy", sys.argv[1])
    message = Message(delivery_id=DeliveryId("d1"), intent=Intent.SEND, address="anna", text="Tea is ready")
    await ntfy.send(ntfy.prepare(message)[0], 60.0)

asyncio.run(send())
"""


@pytest.fixture
async def ntfy(sandbox: Fakes) -> AsyncIterator[Ntfy]:
    channel = Ntfy("ntfy", f"{sandbox.bot_api_url}/ntfy", "tk_sandbox", "answers")
    yield channel
    await channel.close()


def message(text: str = "Tea is ready", **changes: Any) -> Message:
    given: dict[str, Any] = {"delivery_id": DeliveryId("d1"), "intent": Intent.SEND, "address": "anna", "text": text}
    return Message(**(given | changes))


async def send(ntfy: Ntfy, one: Message) -> list[Receipt]:
    return [await ntfy.send(part, 5.0) for part in ntfy.prepare(one)]


async def post(sandbox: Fakes, path: str, body: dict[str, Any]) -> dict[str, Any]:
    async with aiohttp.ClientSession() as http, http.post(f"{sandbox.bot_api_url}/sandbox/{path}", json=body) as answer:
        assert answer.status == 200, await answer.text()
        told: dict[str, Any] = await answer.json()
        return told


async def on_the_phone(sandbox: Fakes, topic: str = "anna") -> list[dict[str, Any]]:
    url = f"{sandbox.bot_api_url}/sandbox/ntfy/messages?topic={topic}"
    async with aiohttp.ClientSession() as http, http.get(url) as answer:
        return [one for one in (await answer.json())["messages"] if not one["deleted"]]


def a_minute_ago() -> datetime:
    return datetime.now(UTC) - timedelta(seconds=60)


@pytest.mark.requirement("house:ntfy-one-name")
async def test_a_message_is_shown_with_its_title_and_a_second_copy_of_it_replaces_it(
    sandbox: Fakes, ntfy: Ntfy
) -> None:
    await send(ntfy, message(subject="Kitchen"))
    await send(ntfy, message(subject="Kitchen", repeated=True))

    [shown] = await on_the_phone(sandbox)
    assert shown["text"] == "Tea is ready\n\n(possibly repeated)"
    assert (shown["body"]["title"], shown["body"]["priority"]) == ("Kitchen", 3)


async def test_a_long_text_arrives_in_parts_and_never_as_a_file(sandbox: Fakes, ntfy: Ntfy) -> None:
    text = 'a "quoted" line, ünd möre\n' * 500
    receipts = await send(ntfy, message(text))

    shown = await on_the_phone(sandbox)
    assert [one["message_id"] for one in shown] == [one.provider_id for one in receipts]
    assert len(shown) > 2
    assert all("attachment" not in one["body"] for one in shown)
    assert "".join("".join(one["text"].split()) for one in shown) == "".join(text.split())


async def test_an_edit_takes_the_place_of_every_part(sandbox: Fakes, ntfy: Ntfy) -> None:
    receipts = await send(ntfy, message("word " * 1500, markup=Markup(buttons=((YES,),))))
    revises = Revision(delivery_id=DeliveryId("d1"), provider_ids=tuple(one.provider_id for one in receipts))
    for _ in range(2):
        await send(ntfy, message("Closed", delivery_id=DeliveryId("d2"), revises=revises))

    shown = await on_the_phone(sandbox)
    assert [one["text"] for one in shown] == ["Closed"]
    assert not any(one["buttons"] for one in shown)


@pytest.mark.requirement("house:ntfy-certain-after-a-cut")
async def test_what_was_cut_off_after_it_was_taken_is_found_and_what_was_not_taken_is_not(
    sandbox: Fakes, ntfy: Ntfy
) -> None:
    [part] = ntfy.prepare(message())
    for mode in ("refuse", "accept_then_cut"):
        await post(sandbox, "faults", {"channel": "ntfy", "mode": mode})
        with pytest.raises(OutcomeUncertain):
            await ntfy.send(part, 5.0)
        found = await ntfy.find(part, a_minute_ago(), 5.0)
        arrived = [Receipt(one["message_id"]) for one in await on_the_phone(sandbox)]
        assert arrived == ([] if found is None else [found])
        assert (found is None) is (mode == "refuse")


@pytest.mark.requirement("house:ntfy-certain-after-a-cut")
async def test_what_a_process_sent_before_it_was_killed_is_found_by_the_next(sandbox: Fakes, ntfy: Ntfy) -> None:
    await post(sandbox, "faults", {"channel": "ntfy", "delay_seconds": 3600})
    sender = await asyncio.create_subprocess_exec(sys.executable, "-c", SENDER, f"{sandbox.bot_api_url}/ntfy")
    while not await on_the_phone(sandbox):
        await asyncio.sleep(0.02)
    sender.send_signal(signal.SIGKILL)
    await sender.wait()

    [part] = ntfy.prepare(message())
    assert await ntfy.find(part, a_minute_ago(), 5.0) == Receipt((await on_the_phone(sandbox))[0]["message_id"])


@pytest.mark.parametrize(("retry_after", "wait"), [(None, 5.0), (7, 7.0)])
async def test_too_many_requests_are_a_matter_of_seconds(
    sandbox: Fakes, ntfy: Ntfy, retry_after: int | None, wait: float
) -> None:
    fault = {"channel": "ntfy", "status": 429} | ({"retry_after": retry_after} if retry_after else {})
    await post(sandbox, "faults", fault)
    with pytest.raises(ProviderThrottled) as caught:
        await send(ntfy, message())
    assert caught.value.retry_after_seconds == wait


@pytest.mark.requirement("house:ntfy-daily-quota")
async def test_a_daily_quota_is_a_matter_of_the_day(sandbox: Fakes) -> None:
    evening = datetime(2026, 3, 1, 20, 0, tzinfo=UTC)
    ntfy = Ntfy("ntfy", f"{sandbox.bot_api_url}/ntfy", now=lambda: evening)
    await post(sandbox, "faults", {"channel": "ntfy", "status": 429, "retry_after": 86_400})
    with pytest.raises(ProviderThrottled, match="quota") as caught:
        await send(ntfy, message())
    await ntfy.close()
    assert caught.value.retry_after_seconds == 4 * 3600


async def test_the_probe_names_the_account(ntfy: Ntfy) -> None:
    assert await ntfy.probe(5.0) == "sandbox"


@dataclass(slots=True)
class NtfyPost(CardPost):
    """Really sends."""

    ntfy: Ntfy = field(kw_only=True)
    ids: dict[str, tuple[str, ...]] = field(default_factory=dict)

    async def submit(self, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome:
        known = len(self.sent)
        outcome = await CardPost.submit(self, outgoing, request_id=request_id, wait_seconds=wait_seconds)
        if len(self.sent) > known and outcome.delivery_id:
            self.ids[outcome.delivery_id] = await self._send(outcome.delivery_id, outgoing)
        return outcome

    async def parts(self, delivery_id: DeliveryId) -> tuple[str, ...]:
        return self.ids[delivery_id]

    async def _send(self, delivery_id: DeliveryId, outgoing: Outgoing) -> tuple[str, ...]:
        revises = outgoing.revises and Revision(delivery_id=outgoing.revises, provider_ids=self.ids[outgoing.revises])
        one = message(
            outgoing.message,
            delivery_id=delivery_id,
            address=str(outgoing.recipient),
            subject=outgoing.subject,
            origin_butler=outgoing.origin_butler,
            priority=outgoing.priority,
            markup=outgoing.markup,
            revises=revises or None,
        )
        return tuple(receipt.provider_id for receipt in await send(self.ntfy, one))


@dataclass(frozen=True, slots=True)
class Phone:
    """Anna's telephone, and a household that asks her something."""

    sandbox: Fakes
    ntfy: Ntfy
    office: Office
    planning: Planning
    presenter: Presenter
    hearing: Hearing
    post: NtfyPost

    async def ask(self, **arguments: Any) -> str:
        view = await self.office.ask(to="anna", channels=["ntfy"], **arguments)
        await self.present()
        return view.question.id

    async def present(self) -> None:
        await self.presenter.look()
        await self.presenter.idle()

    async def press(self, label: str) -> None:
        [card] = await on_the_phone(self.sandbox)
        await post(self.sandbox, "ntfy/press", {"message_id": card["message_id"], "button": label})

    async def hear(self) -> None:
        for event in (await self.ntfy.listen(None, 5.0)).events:
            await self.hearing.press(event)  # type: ignore[arg-type]
        await self.present()

    async def status(self, ask_id: str) -> QuestionStatus:
        question = await self.office.store.get(ask_id)
        assert question is not None
        return question.status


@pytest.fixture
async def phone(sandbox: Fakes, ntfy: Ntfy, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Phone]:
    anna, ben = (person(name.lower(), name, ("ntfy", name.lower())) for name in ("Anna", "Ben"))
    async with opened_database("sqlite", tmp_path, request) as database:
        await move_in(database, (person(OWNER, "Olga"), anna, ben))
        office, channels = office_on(database, FakeClock()), {"ntfy": ABILITY}
        planning = replace(office.asking.planning, channels=channels)
        office = replace(office, asking=replace(office.asking, planning=planning))
        out, cards = NtfyPost(ntfy=ntfy), CardMaker(channels=channels, key=b"k", base_url="https://home.example")
        hearing = Hearing(
            questions=office.asking.questions,
            store=office.store,
            shown=office.presentations,
            people=planning.people,
            cards=cards,
            outbound=out,
            bots={"ntfy": ntfy},
            clock=office.clock,
            mint=MINT.mint,
        )
        presenter = Presenter(
            planning=planning,
            claims=office.presentations,
            cards=cards,
            post=out,
            clock=office.clock,
            wake=Signal(),
        )
        yield Phone(sandbox, ntfy, office, planning, presenter, hearing, out)


@pytest.mark.requirement("house:ntfy-buttons-answer")
async def test_a_question_is_answered_by_one_press_and_the_card_closes(phone: Phone) -> None:
    ask_id = await phone.ask()
    [card] = await on_the_phone(phone.sandbox)
    assert [one["label"] for one in card["buttons"]] == ["yes", "no", "Open"]

    await phone.press("yes")
    await phone.hear()

    assert await phone.status(ask_id) is QuestionStatus.ANSWERED
    [closed] = await on_the_phone(phone.sandbox)
    assert "✅ yes: answered by Anna" in closed["text"]
    assert closed["buttons"] == []


@pytest.mark.requirement("house:ntfy-buttons-answer")
async def test_a_press_counts_once_and_only_for_the_topic_its_card_went_to(phone: Phone) -> None:
    ask_id = await phone.ask()
    [card] = await on_the_phone(phone.sandbox)
    token = card["body"]["actions"][0]["body"].split()[0]
    for forged in (f"{token} ben", f"{token} olga", f"{token[:-1]}x anna", "yes anna"):
        await post(phone.sandbox, "ntfy/inbound", {"topic": "answers", "text": forged})
    await phone.hear()
    assert await phone.status(ask_id) is QuestionStatus.OPEN

    await post(phone.sandbox, "ntfy/inbound", {"topic": "answers", "text": f"{token} anna"})
    await phone.hear()
    await phone.hear()
    assert await phone.status(ask_id) is QuestionStatus.ANSWERED
    assert [one.verdict.kind for one in await phone.office.store.attempts(ask_id)] == ["accepted"]


async def test_more_options_than_buttons_are_a_list_with_a_link(phone: Phone) -> None:
    await phone.ask(options=["one", "two", "three", "four"])
    [card] = await on_the_phone(phone.sandbox)

    assert "4. four" in card["text"]
    assert [(one["label"], one["data"]) for one in card["buttons"]] == [("Answer", None)]
    assert card["buttons"][0]["url"].startswith("https://home.example/a/")
