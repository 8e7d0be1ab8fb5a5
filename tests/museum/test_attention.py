"""The right message at the wrong time: again and again, in the middle of the night, all at once, or never."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from postroom.attention.rules.simulate import simulate
from postroom.attention.state import Fact
from tests.attention.sample import accepted, at, book, empty
from tests.household.asked_household import until
from tests.household.living import ALL_DAY
from tests.museum.house import House

pytestmark = pytest.mark.asyncio(loop_scope="module")
POLICY = "/v1/people/owner/attention"
NIGHT = {"quiet_hours": ALL_DAY}


@pytest_asyncio.fixture(loop_scope="module")
async def sleeping(house: House) -> AsyncIterator[House]:
    """The owner sleeps until the test wakes them."""
    assert (await house.rest("PUT", POLICY, {"preset": "calm", "zone": "UTC", **NIGHT}))[0] == 200
    yield house
    assert (await house.rest("DELETE", POLICY))[0] == 200


async def wake(house: House, preset: str = "calm") -> None:
    assert (await house.rest("PUT", POLICY, {"preset": preset, "zone": "UTC", "quiet_hours": []}))[0] == 200


async def plan(house: House, notice: dict[str, Any]) -> list[str]:
    _, told = await house.rest("GET", f"/v1/notices/{notice['notice_id']}/plan")
    return [one["what"] for one in told["plan"]]


def judged(policy: dict[str, Any], *facts: Fact) -> list[tuple[str, str, int]]:
    """What is decided about whom, and when, on a clock that is not real."""
    run = simulate(facts, book(policy), state=empty())
    return [(one.notice, str(one.kind), one.at_us) for one in run.decisions]


@pytest.mark.exhibit("pulse-921")
async def test_what_was_acknowledged_is_not_repeated(house: House) -> None:
    await wake(house, "everything")
    notice = await house.notify(message="The disk is full", needs_ack=True, urgency="time_sensitive")
    assert "repeat" in await plan(house, notice)

    assert (await house.rest("POST", f"/v1/notices/{notice['notice_id']}/ack"))[0] == 200

    assert await plan(house, notice) == []


@pytest.mark.exhibit("pulse-1398")
async def test_an_escalation_keeps_the_quiet_hours_that_the_message_itself_keeps() -> None:
    chain = [{"after_seconds": 600, "channel": "email"}]
    policy = {"quiet_hours": [{"from": "22:00", "until": "07:00"}], "let_pass": [], "escalation": chain}

    decided = judged(policy, accepted("a", "21:55", "time_sensitive", needs_ack=True))

    assert [moment for _, kind, moment in decided if kind == "escalate"] == [at("2026-01-06T07:05")]


@pytest.mark.exhibit("tasks-1388")
async def test_what_was_held_all_night_is_one_message_in_the_morning(sleeping: House) -> None:
    for hour in range(5):
        assert (await sleeping.notify(message=f"Hour {hour} of the night"))["status"] == "deferred"

    await wake(sleeping)

    together = await sleeping.shows("of the night")
    await sleeping.settled()
    assert [f"Hour {hour} of the night" in together["text"] for hour in range(5)] == [True] * 5
    assert len(await sleeping.saying("of the night")) == 1


@pytest.mark.exhibit("alertmanager-3367")
async def test_what_came_in_quiet_hours_is_told_at_their_end_and_not_at_the_next_repetition() -> None:
    policy = {"quiet_hours": [{"from": "10:00", "until": "12:00"}]}

    assert judged(policy, accepted("a", "10:30")) == [("a", "hold", at("10:30")), ("a", "release", at("12:00"))]


@pytest.mark.exhibit("openclaw-128924")
async def test_the_same_alarm_every_minute_is_told_once_and_counted() -> None:
    alarms = [accepted(f"n{minute:02}", f"10:{minute:02}", fingerprint="same") for minute in range(20)]

    decided = judged({"preset": "calm"}, *alarms)

    assert decided[0] == ("n00", "release", at("10:00"))
    assert [(name, kind) for name, kind, _ in decided[1:]] == [(one.notice.id, "merge") for one in alarms[1:]]


@pytest.mark.exhibit("openclaw-42246")
async def test_a_burst_of_events_is_one_message_now_and_one_later(house: House) -> None:
    await wake(house)
    answers = [await house.notify(message=f"Event {n} of a burst", butler="general") for n in range(6)]

    assert [one["status"] for one in answers] == ["ok", *["deferred"] * 5]
    assert len({one["until"] for one in answers[1:]}) == 1
    assert len(await house.saying("of a burst")) == 1


@pytest.mark.exhibit("novu-2937")
async def test_what_was_withdrawn_is_never_shown_and_what_was_shown_is_taken_back(sleeping: House) -> None:
    held = await sleeping.notify(message="Cancelled in time")
    _, told = await sleeping.rest("POST", f"/v1/notices/{held['notice_id']}/withdraw", who="health")
    assert told["notice"]["state"] == "withdrawn"
    await wake(sleeping, "everything")
    shown = await sleeping.notify(message="Cancelled too late")
    _, told = await sleeping.rest("POST", f"/v1/notices/{shown['notice_id']}/withdraw", who="health")
    assert told["notice"]["state"] == "recalled"

    async def taken_back() -> bool:
        return not [
            one for one in await sleeping.received() if one["text"] == "Cancelled too late" and not one["is_deleted"]
        ]

    await until(taken_back)
    assert await sleeping.saying("Cancelled in time") == []


@pytest.mark.exhibit("novu-5050")
async def test_a_cancellation_that_overtakes_its_message_still_holds(house: House) -> None:
    await wake(house, "everything")
    await house.rest("POST", "/v1/notices/withdraw", {"key": "overtaken"}, who="health")

    late = await house.notify(message="Overtaken by its end", supersedes="overtaken")
    other = await house.notify(message="Of another agent", supersedes="overtaken", butler="general")

    assert (late["status"], late["reasons"], other["status"]) == ("deferred", ["tombstone"], "ok")
    assert await house.saying("Overtaken by its end") == []


@pytest.mark.exhibit("grafana-87007")
async def test_good_news_that_come_in_quiet_hours_are_not_lost(house: House) -> None:
    await wake(house, "everything")
    await house.notify(message="The disk is too full", supersedes="disk")
    alarm = await house.shows("The disk is too full")
    assert (await house.rest("PUT", POLICY, {"preset": "everything", "zone": "UTC", **NIGHT}))[0] == 200
    assert (await house.notify(message="There is room again", supersedes="disk"))["status"] == "deferred"

    await wake(house, "everything")

    assert (await house.shows("There is room again"))["message_id"] == alarm["message_id"]
    assert await house.saying("The disk is too full") == []
