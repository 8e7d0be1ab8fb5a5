"""How Slack shows that an answer is worked on, by Slack's documentation."""

from __future__ import annotations

from typing import Any

import pytest
from tests.channels.slack.fake_slack import FakeSlack

from postroom.channels.slack.channel import Slack
from postroom.channels.slack.listening import STATUS, WORDS
from postroom.message.channel import HidesWork, ShowsWork

EYES = {"channel": "D1", "timestamp": "1.000001", "name": "eyes"}


def refused(code: str) -> list[dict[str, Any]]:
    return [{"ok": False, "error": code}]


@pytest.fixture
def fake(fake: FakeSlack) -> FakeSlack:
    fake.answers |= {one: [{"ok": True}] for one in (STATUS, "reactions.add", "reactions.remove")}
    return fake


@pytest.mark.requirement("talk:typing")
async def test_a_status_stands_in_the_thread_and_is_taken_away(fake: FakeSlack, slack: Slack) -> None:
    assert isinstance(slack, ShowsWork) and isinstance(slack, HidesWork)

    assert await slack.show_work("D1", "1.000001", 5.0)
    await slack.hide_work("D1", "1.000001", 5.0)

    there = {"channel_id": "D1", "thread_ts": "1.000001"}
    assert fake.calls == [(STATUS, there | {"status": WORDS}), (STATUS, there | {"status": ""})]


@pytest.mark.requirement("talk:typing")
@pytest.mark.parametrize("code", ["missing_scope", "unknown_method", "channel_not_found"])
async def test_where_no_status_is_taken_a_reaction_stands_for_it(fake: FakeSlack, slack: Slack, code: str) -> None:
    fake.answers[STATUS] = refused(code)

    assert [await slack.show_work("D1", "1.000001", 5.0) for _ in range(3)] == [True] * 3
    await slack.hide_work("D1", "1.000001", 5.0)

    assert (fake.called("reactions.add"), fake.called("reactions.remove")) == ([EYES], [EYES])


async def test_a_reaction_of_an_earlier_process_is_removed_as_well(fake: FakeSlack, slack: Slack) -> None:
    fake.answers |= {STATUS: refused("unknown_method"), "reactions.add": refused("already_reacted")}

    assert await slack.show_work("D1", "1.000001", 5.0)
    await slack.hide_work("D1", "1.000001", 5.0)

    assert fake.called("reactions.remove") == [EYES]


async def test_an_app_without_the_scopes_shows_nothing_and_asks_once(fake: FakeSlack, slack: Slack) -> None:
    fake.answers |= {STATUS: refused("missing_scope"), "reactions.add": refused("missing_scope")}

    assert [await slack.show_work("D1", "1.000001", 5.0) for _ in range(2)] == [False, False]
    await slack.hide_work("D1", "1.000001", 5.0)

    assert [name for name, _ in fake.calls] == [STATUS, "reactions.add"]
