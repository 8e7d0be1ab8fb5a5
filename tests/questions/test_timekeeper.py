"""What happens to questions reaches those who subscribed to it, once."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update
from tests.attention.attended import names
from tests.clock import START_US, FakeClock
from tests.questions.asking_office import ANNA, CARDS, CHANNELS, HEALTH, Office, keeper, opened_office
from tests.questions.card_post import CardPost
from tests.questions.sample_questions import MINT
from tests.timekeeping import Rounds

from postroom.attention.attention import Attention, QuestionTimes
from postroom.attention.rules.policy import parse_policy
from postroom.attention.store import StoredNotices
from postroom.attention.turn import NoticeBook
from postroom.delivery.afterwards.webhooks import StoredWebhooks, Subscription, WebhookEvent, webhook_deliveries
from postroom.kernel.database.engine import Database, Marks
from postroom.kernel.running.loop import Signal
from postroom.kernel.running.timekeeper import GAP_SECONDS, LOOK_SECONDS, Listening
from postroom.kernel.values.ids import SECOND_US, seconds
from postroom.kernel.values.principal import OPERATOR, Agency, Principal, Role
from postroom.message.outgoing import ASKER
from postroom.questions.model import QuestionStatus, Said
from postroom.questions.presenter import Presenter
from postroom.questions.rules.cards import CardMaker
from postroom.questions.store.tables import questions
from postroom.questions.telling import Follower, QuestionNews, principal_of


def follower(office: Office) -> Follower:
    news = QuestionNews(
        feed=office.store,
        plans=office.presentations,
        subscribers=StoredWebhooks(office.database),
        agents=Agency(lambda _: ()).agents,
        signal=Signal(),
    )
    marks = Marks(office.database)
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
    await office.asking.answer(ANNA, ask_id, Said(value="yes"), channel="console", event_id="1")
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
    await office.asking.answer(ANNA, view.question.id, Said(text="hunter2"), channel="desk", event_id="1")
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


def quiet_times(office: Office, **written: Any) -> QuestionTimes:
    """It is midnight, and quiet for everybody until ten past."""
    policy = parse_policy({"zone": "UTC", "quiet_hours": [{"from": "22:00", "until": "00:10"}], **written})
    store = StoredNotices(office.database)
    return QuestionTimes(
        book=NoticeBook(store=store, people=names(office.database), clock=office.clock, household=policy)
    )


async def present(office: Office, post: CardPost, times: QuestionTimes | None = None) -> None:
    one = presenter(office, post, times)
    await one.look()
    await one.idle()


def presenter(office: Office, post: CardPost, times: QuestionTimes | None = None, follow: Any = None) -> Presenter:
    return Presenter(
        planning=office.asking.planning,
        claims=office.presentations,
        cards=CardMaker(channels=CHANNELS, key=b"k"),
        post=post,
        clock=office.clock,
        wake=Signal(),
        times=times,
        follow=follow,
    )


@pytest.mark.requirement("ask:reminded-once")
async def test_a_reminder_is_one_new_message_that_answers_the_card(office: Office) -> None:
    post = CardPost()
    await office.ask(to="anna", remind_after_seconds=60, deadline_seconds=600)
    await present(office, post)
    times = keeper(office, post)
    assert await times.look() == office.clock.now_us() + seconds(LOOK_SECONDS)
    assert len(post.sent) == 1
    office.clock.jump(60)
    for _ in range(3):
        await times.look()
    reminder = post.sent[-1]
    assert len(post.sent) == 2
    assert reminder.message == "health still waits for an answer to “Ship it?”, by 00:10 UTC."
    assert reminder.revises is None
    assert reminder.context is not None and reminder.context.source_thread_identity == "2000:d1-2"


async def test_a_crash_between_sending_a_reminder_and_noting_it_sends_no_second_one(office: Office) -> None:
    post = CardPost()
    view = await office.ask(to="anna", remind_after_seconds=60, deadline_seconds=600)
    await present(office, post)
    office.clock.jump(60)
    question = view.question
    (shown,) = await office.presentations.of(question.id)
    first = CARDS.reminder(question, shown)
    await post.submit(first, request_id="r", wait_seconds=0)  # and dies
    await keeper(office, post).look()
    assert len(post.sent) == 2


@pytest.mark.requirement("ask:reminded-once")
async def test_escalation_adds_people_and_shows_it_to_them(office: Office) -> None:
    post = CardPost()
    view = await office.ask(to="anna", escalate_to="owner", escalate_after_seconds=60, deadline_seconds=600)
    await present(office, post)
    office.clock.jump(60)
    await keeper(office, post).look()
    await present(office, post)
    question = await office.store.get(view.question.id)
    assert question is not None and [one.id for one in question.people] == ["anna", "owner"]
    assert {one.recipient for one in post.sent} == {"2000", "1000"}


@pytest.mark.requirement("ask:sent-in-time")
async def test_a_question_ends_with_its_default_only_after_what_was_sent_has_been_read(office: Office) -> None:
    post = CardPost()
    times = keeper(office, post)
    times.listening.expect("telegram")
    view = await office.ask(to="anna", deadline_seconds=30, default="no")
    await present(office, post)
    office.clock.jump(31)
    await times.look()
    assert (await office.asking.wait(HEALTH, ask_id=view.question.id, wait_seconds=0)).question.is_open
    await times.listening.looked("telegram", office.clock.now_us(), everything=True)
    office.clock.jump(1)
    await times.look()
    ended = (await office.asking.wait(HEALTH, ask_id=view.question.id, wait_seconds=0)).question
    assert ended.status is QuestionStatus.EXPIRED
    assert ended.answer is not None and ended.answer.value == "no"


@pytest.mark.requirement("ask:one-channel-at-a-time")
async def test_after_quiet_hours_the_channels_of_a_person_come_one_after_the_other_all_the_same(office: Office) -> None:
    post, times = CardPost(), quiet_times(office)
    await office.ask()
    for until, sent in ((300, []), (600, ["1000"]), (899, ["1000"]), (901, ["1000", "olga@example.org"])):
        office.clock.jump(until - (office.clock.now_us() - START_US) / SECOND_US)
        await present(office, post, times)
        assert [one.recipient for one in post.sent] == sent, until


@pytest.mark.requirement("attention:questions-wait")
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_a_reminder_that_falls_into_quiet_hours_comes_when_they_end(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with opened_office(kind, tmp_path, request) as office:
        post = CardPost()
        await office.ask(to="anna", remind_after_seconds=60, deadline_seconds=3600)
        await present(office, post)
        times = keeper(office, post, times=quiet_times(office))  # the policy came after the question
        office.clock.jump(60)
        await times.look()
        office.clock.jump(539)
        await times.look()
        assert len(post.sent) == 1
        office.clock.jump(1)
        for _ in range(2):
            await times.look()
        assert len(post.sent) == 2 and "still waits" in post.sent[-1].message


@pytest.mark.requirement("attention:questions-wait")
async def test_the_time_to_remind_and_to_escalate_does_not_run_while_no_one_was_shown_it(office: Office) -> None:
    post, times = CardPost(), quiet_times(office)
    quiet = replace(office, asking=replace(office.asking, times=times))
    asked = {"remind_after_seconds": 60, "escalate_to": "owner", "escalate_after_seconds": 120, "deadline_seconds": 600}
    view = await quiet.ask(to="anna", **asked)
    question = view.question
    minutes = [question.remind_after_seconds, question.escalate_after_seconds]
    assert minutes == [660, 720]
    assert question.expires_at_us == office.clock.now_us() + seconds(1200)
    office.clock.jump(600)
    await present(office, post)
    office.clock.jump(60)
    await keeper(office, post, times=times).look()
    assert ["still waits" in one.message for one in post.sent] == [False, True]
    office.clock.jump(60)
    await keeper(office, post, times=times).look()
    escalated = await office.store.get(question.id)
    assert escalated is not None and [one.id for one in escalated.people] == ["anna", "owner"]


@pytest.mark.requirement("attention:questions-wait")
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_other_quiet_hours_count_for_the_times_of_open_questions_from_the_moment_they_are_set(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with opened_office(kind, tmp_path, request) as office:
        times = quiet_times(office)
        asking = replace(office.asking, times=times)
        asked = {"remind_after_seconds": 60, "escalate_to": "owner", "escalate_after_seconds": 120}
        view = await replace(office, asking=asking).ask(to="anna", deadline_seconds=600, **asked)
        of_two_processes = [presenter(office, CardPost(), times, asking.follow) for _ in range(2)]

        async def moments(**wished: Any) -> list[int]:
            await Attention(book=times.book).set_policy("anna", parse_policy(wished))
            for one in of_two_processes:
                await one.look()
                await one.idle()
            question = await office.store.get(view.question.id)
            assert question is not None
            ends = (question.expires_at_us - question.created_at_us) // SECOND_US
            return [question.remind_after_seconds or 0, question.escalate_after_seconds or 0, ends]

        for one in of_two_processes:
            await one.look()
        assert await moments() == [660, 720, 1200]
        office.clock.jump(300)
        assert await moments(quiet_hours=[]) == [360, 420, 900]
        office.clock.jump(30)
        longer = [{"from": "22:00", "until": "00:20"}]
        assert await moments(quiet_hours=longer) == [1230, 1290, 1770]


@pytest.mark.requirement("attention:questions-wait")
async def test_a_reminder_passes_through_quiet_hours_when_the_policy_lets_its_urgency_pass(office: Office) -> None:
    post, times = CardPost(), quiet_times(office, let_pass=["time_sensitive"])
    await office.ask(to="anna", remind_after_seconds=60, deadline_seconds=3600, urgency="time_sensitive")
    await present(office, post)
    office.clock.jump(60)
    await keeper(office, post, times=times).look()
    assert len(post.sent) == 2


async def test_a_question_is_not_escalated_while_it_is_quiet_for_all_who_are_asked(office: Office) -> None:
    post, times = CardPost(), quiet_times(office)
    view = await office.ask(to="anna", escalate_to="owner", escalate_after_seconds=60, deadline_seconds=3600)
    for jump, people in ((60, ["anna"]), (540, ["anna", "owner"])):
        office.clock.jump(jump)
        await keeper(office, post, times=times).look()
        question = await office.store.get(view.question.id)
        assert question is not None and [one.id for one in question.people] == people


# ---- listening, after a crash ----


Gap = tuple[str, int, int]


def listening(database: Database, clock: FakeClock, gaps: list[Gap]) -> Listening:
    """As each process builds it."""

    async def repair(channel: str, since_us: int, until_us: int) -> None:
        gaps.append((channel, since_us, until_us))

    made = Rounds(database, clock).listening
    made.expect("telegram")
    made.after_a_gap(repair)
    return made


@pytest.mark.requirement("ask:gap")
async def test_the_next_process_repairs_a_gap_even_when_the_first_one_died_during_its_first_look(
    sqlite_database: Database,
) -> None:
    clock, gaps = FakeClock(), list[Gap]()
    began_us = clock.now_us()
    await listening(sqlite_database, clock, gaps).patience("telegram", 25.0)

    clock.jump(GAP_SECONDS + 1)
    again = listening(sqlite_database, clock, gaps)
    await again.patience("telegram", 25.0)
    await again.looked("telegram", clock.now_us(), everything=True)

    assert gaps == [("telegram", began_us, began_us + seconds(GAP_SECONDS + 1))]


async def test_a_house_that_has_never_listened_has_missed_nothing(sqlite_database: Database) -> None:
    clock, gaps = FakeClock(), list[Gap]()
    first = listening(sqlite_database, clock, gaps)

    await first.patience("telegram", 25.0)
    await first.looked("telegram", clock.now_us(), everything=True)

    assert gaps == []


async def test_the_first_look_waits_for_nothing_so_that_a_gap_is_known_at_once(sqlite_database: Database) -> None:
    clock = FakeClock()
    first = listening(sqlite_database, clock, [])

    assert await first.patience("telegram", 25.0) == 0
    await first.looked("telegram", clock.now_us(), everything=True)
    assert await first.patience("telegram", 25.0) == 25.0
