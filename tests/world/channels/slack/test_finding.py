from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.world.channels.slack.fake_slack import FakeSlack

from postroom.domain.delivery import Intent, Message, Receipt
from postroom.domain.errors import TargetUnavailable
from postroom.domain.ids import DeliveryId
from postroom.domain.markup import Revision
from postroom.world.channels.slack.call import SlackCall
from postroom.world.channels.slack.channel import Slack

SINCE = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
async def fake() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as fake:
        yield fake


@pytest.fixture
async def slack(fake: FakeSlack) -> AsyncIterator[Slack]:
    slack = Slack("slack", "xoxb-1", api_base_url=fake.url)
    yield slack
    await slack.close()


def part(slack: Slack, **changes: Any) -> SlackCall:
    given: dict[str, Any] = {"delivery_id": DeliveryId("d1"), "intent": Intent.SEND, "address": "C1", "text": "Hello"}
    [call] = slack.prepare(Message(**(given | changes)))
    return call


def message(ts: str, mark: str | None, text: str = "Hello", event_type: str = "postroom_delivery") -> dict[str, Any]:
    told: dict[str, Any] = {"type": "message", "ts": ts, "text": text, "bot_id": "B1"}
    return told | ({"metadata": {"event_type": event_type, "event_payload": {"mark": mark}}} if mark else {})


def page(*messages: dict[str, Any], cursor: str = "") -> dict[str, Any]:
    more = {"has_more": True, "response_metadata": {"next_cursor": cursor}} if cursor else {"has_more": False}
    return {"ok": True, "messages": list(messages), **more}


@pytest.mark.requirement("house:slack-found-again")
async def test_a_message_that_arrived_is_found_by_its_mark(fake: FakeSlack, slack: Slack) -> None:
    call = part(slack)
    fake.answers["conversations.history"] = [page(message("1.1", "another"), message("1.2", call.mark))]

    assert await slack.find(call, SINCE, 5.0) == Receipt("1.2", conversation="C1")
    [asked] = fake.called("conversations.history")
    oldest = (SINCE - timedelta(minutes=5)).timestamp()
    assert (asked["channel"], float(asked["oldest"]), asked["include_all_metadata"]) == ("C1", oldest, "true")


@pytest.mark.requirement("house:slack-found-again")
async def test_a_message_that_did_not_arrive_is_surely_absent(fake: FakeSlack, slack: Slack) -> None:
    call = part(slack)
    fake.answers["conversations.history"] = [
        page(message("1.1", "another"), cursor="more"),
        page(message("1.2", call.mark, event_type="somebody_elses"), {"text": "Hello", "user": "U1", "ts": "1.3"}),
    ]

    assert await slack.find(call, SINCE, 5.0) is None
    assert [asked.get("cursor") for asked in fake.called("conversations.history")] == [None, "more"]


async def test_a_reply_is_looked_for_in_its_thread(fake: FakeSlack, slack: Slack) -> None:
    call = part(slack, intent=Intent.REPLY, thread="1.1")
    fake.answers["conversations.replies"] = [page(message("1.5", call.mark))]

    assert await slack.find(call, SINCE, 5.0) == Receipt("1.5", conversation="C1")
    [asked] = fake.called("conversations.replies")
    assert asked["ts"] == "1.1"


async def test_a_persons_messages_are_looked_for_in_the_direct_message_with_them(fake: FakeSlack, slack: Slack) -> None:
    call = part(slack, address="U1")
    fake.answers["conversations.open"] = [{"ok": True, "channel": {"id": "D1"}}]
    fake.answers["conversations.history"] = [page(message("1.5", call.mark))]

    assert await slack.find(call, SINCE, 5.0) == Receipt("1.5", conversation="D1")
    assert await slack.find(call, SINCE, 5.0) == Receipt("1.5", conversation="D1")
    assert fake.called("conversations.open") == [{"users": "U1"}]


@pytest.mark.parametrize(
    "answer",
    [
        {"ok": False, "error": "missing_scope", "needed": "channels:history"},
        {"ok": False, "error": "not_in_channel"},
        {"ok": False, "error": "channel_not_found"},
        {"ok": False, "error": "fatal_error"},
        {"ok": False, "error": "ratelimited"},
        {"ok": True},
        {"ok": True, "messages": [], "has_more": True},
        page(message("1.1", None)),
        page(cursor="for ever"),
    ],
    ids=["scope", "not in", "unknown", "broken", "throttled", "nothing", "no cursor", "marks withheld", "endless"],
)
@pytest.mark.requirement("house:slack-found-again")
async def test_when_slack_cannot_say_that_is_what_is_said(
    fake: FakeSlack, slack: Slack, answer: dict[str, Any]
) -> None:
    fake.answers["conversations.history"] = [answer]

    with pytest.raises(TargetUnavailable):
        await slack.find(part(slack), SINCE, 5.0)
    assert len(fake.calls) <= 10


async def test_what_may_be_done_twice_is_not_looked_for(fake: FakeSlack, slack: Slack) -> None:
    edit = part(slack, revises=Revision(delivery_id=DeliveryId("d0"), provider_ids=("1.2",)))
    reaction = part(slack, intent=Intent.REACT, thread="1.2", emoji="👍")

    assert [await slack.find(one, SINCE, 5.0) for one in (edit, reaction)] == [None, None]
    assert fake.calls == []
