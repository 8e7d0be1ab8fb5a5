"""What happens to questions reaches those who subscribed to it, once."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update
from tests.opened_database import KINDS
from tests.work.questions.asking_office import ANNA, HEALTH, MINT, Office, opened_office

from postroom.domain.inbox_agent import ASKER
from postroom.domain.principal import OPERATOR, Principal, Role
from postroom.domain.webhook import Subscription, WebhookEvent
from postroom.doors.asks.answer_shape import answer_shape
from postroom.system.signal import Signal
from postroom.work.intents.agency import Agency
from postroom.work.questions.follower import Follower
from postroom.work.questions.given import Given
from postroom.work.questions.news import QuestionNews, principal_of
from postroom.world.store.intents.intents import StoredIntents
from postroom.world.store.intents.webhooks import StoredWebhooks
from postroom.world.store.tables.questions import questions
from postroom.world.store.tables.webhooks import webhook_deliveries


@pytest.fixture(params=KINDS)
async def office(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Office]:
    async with opened_office(request.param, tmp_path, request) as one:
        yield one


def follower(office: Office) -> Follower:
    news = QuestionNews(
        feed=office.store,
        plans=office.presentations,
        subscribers=StoredWebhooks(office.database),
        agents=Agency(lambda _: ()).agents,
        document=lambda view: answer_shape(view.question, view.presentations),
        signal=Signal(),
    )
    marks = StoredIntents(office.database, MINT.mint)
    return Follower(name="question_news", feed=office.store, marks=marks, take=news.take, clock=office.clock)


async def subscribe(office: Office, agent: str, *events: WebhookEvent) -> None:
    await StoredWebhooks(office.database).save(
        Subscription(
            id=f"s-{agent}",
            owner_agent=agent,
            callback_url=f"https://{len(agent)}.example/hook",
            event_types=events,
            secret="s" * 32,
            active=True,
            description="",
            created_at_us=0,
            updated_at_us=0,
        )
    )


async def told(office: Office) -> list[dict[str, Any]]:
    asked = select(webhook_deliveries.c.body).order_by(webhook_deliveries.c.id)
    bodies = await office.database.read(lambda connection: list(connection.execute(asked).scalars()))
    return [json.loads(body) for body in bodies]


@pytest.mark.requirement("ask:news")
async def test_each_subscriber_is_told_once_of_what_they_wanted(office: Office) -> None:
    await subscribe(office, "agent://butler/health", WebhookEvent.ASK_OPENED, WebhookEvent.ASK_ANSWERED)
    await subscribe(office, "agent://user/anna", WebhookEvent.ASK_ANSWERED)
    await subscribe(office, "agent://butler/general", *WebhookEvent)
    ask_id = (await office.ask(to="anna", state={"step": 1})).question.id
    await office.asking.answer(ANNA, ask_id, Given(value="yes"), channel="console", event_id="1")
    one = follower(office)
    await one.look()
    await one.marks.save_offset("question_news", 0)  # as if it had died before it could save its place
    await one.look()
    news = await told(office)
    assert [(body["event_type"], body["owner_agent"]) for body in news] == [
        ("ask.opened", "agent://butler/health"),
        ("ask.answered", "agent://butler/health"),
        ("ask.answered", "agent://user/anna"),
    ]
    assert [body["ask"]["ask_id"] for body in news] == [ask_id] * 3
    assert news[1]["ask"]["answer"]["value"] == "yes"
    assert [body["ask"]["state"] for body in news] == [{"step": 1}, {"step": 1}, None]


async def test_a_secret_is_in_no_news(office: Office) -> None:
    await subscribe(office, "agent://butler/health", *WebhookEvent)
    view = await office.ask(to="anna", kind="text", options=None, secret=True)
    await office.asking.answer(ANNA, view.question.id, Given(text="hunter2"), channel="desk", event_id="1")
    await follower(office).look()
    news = await told(office)
    assert len(news) == 2 and "hunter2" not in str(news)


@pytest.mark.parametrize("principal", [OPERATOR, HEALTH, ANNA, Principal(Role.CONNECTOR, "chatgpt")])
def test_an_asker_is_read_as_it_was_written(principal: Principal) -> None:
    assert principal_of(str(principal)) == principal


@pytest.mark.parametrize("asker", ["intents:agent://butler/health", ASKER])
async def test_of_what_the_household_asks_by_itself_only_the_people_asked_are_told(office: Office, asker: str) -> None:
    await subscribe(office, "agent://user/anna", WebhookEvent.ASK_OPENED)
    await subscribe(office, "agent://butler/health", WebhookEvent.ASK_OPENED)
    question = (await office.ask(to="anna")).question
    told_of = update(questions).where(questions.c.id == question.id).values(asker=asker)
    await office.database.write(lambda connection: connection.execute(told_of))
    await follower(office).look()
    assert [one["owner_agent"] for one in await told(office)] == ["agent://user/anna"]


@pytest.mark.requirement("ask:news")
@pytest.mark.parametrize("asker", ["intents:Ann", "system:approvals"])
async def test_what_the_household_itself_asks_stops_no_news(office: Office, asker: str) -> None:
    await subscribe(office, "agent://user/anna", WebhookEvent.ASK_OPENED)
    asked = (await office.ask(to="anna")).question
    await office.store.ask(replace(asked, id=MINT.mint(office.clock.now_us()), asker=asker, key="own"))
    await office.ask(to="anna", question="And this?")
    await follower(office).look()
    assert len(await told(office)) == 3
