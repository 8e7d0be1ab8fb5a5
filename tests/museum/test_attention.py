"""The right message at the wrong time: again and again, in the middle of the night, all at once, or never."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.app.asked_household import until
from tests.cli.command import Done, postroom_beside
from tests.museum.house import House

pytestmark = pytest.mark.asyncio(loop_scope="module")
POLICY = "/v1/people/owner/attention"
NIGHT = {"quiet_hours": [{"from": "00:00", "until": "12:00"}, {"from": "12:00", "until": "00:00"}]}
CASE = """
[[cases]]
name = "as it was reported"
policy = {{ {policy} }}
facts = [{facts}]
expect = [{expect}]
"""


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


async def judged(folder: Path, *, policy: str, facts: str, expect: str) -> Done:
    """What `postroom attention test` says of a policy on a clock that is not real."""
    file = folder / "cases.toml"
    file.write_text(CASE.format(policy=policy, facts=facts, expect=expect))
    return await postroom_beside("attention", "test", str(file))


@pytest.mark.exhibit("pulse-921")
async def test_what_was_acknowledged_is_not_repeated(house: House) -> None:
    await wake(house, "everything")
    notice = await house.notify(message="The disk is full", needs_ack=True, urgency="time_sensitive")
    assert "repeat" in await plan(house, notice)

    assert (await house.rest("POST", f"/v1/notices/{notice['notice_id']}/ack"))[0] == 200

    assert await plan(house, notice) == []


@pytest.mark.exhibit("pulse-1398")
async def test_an_escalation_keeps_the_quiet_hours_that_the_message_itself_keeps(tmp_path: Path) -> None:
    policy = 'quiet_hours = [{ from = "22:00", until = "07:00" }], let_pass = [], '
    policy += 'escalation = [{ after_seconds = 600, channel = "email" }]'
    alarm = (
        '{ at = 2026-01-05T21:55:00, notice = "a", urgency = "time_sensitive", message = "Offline", needs_ack = true }'
    )
    at = '{{ notice = "a", decision = "escalate", at = 2026-01-0{} }}'

    in_the_night = await judged(tmp_path, policy=policy, facts=alarm, expect=at.format("5T22:05:00"))
    in_the_morning = await judged(tmp_path, policy=policy, facts=alarm, expect=at.format("6T07:05:00"))

    assert (in_the_night.code, in_the_morning.code) == (1, 0), in_the_morning.out


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
async def test_what_came_in_quiet_hours_is_told_at_their_end_and_not_at_the_next_repetition(tmp_path: Path) -> None:
    told = await judged(
        tmp_path,
        policy='quiet_hours = [{ from = "10:00", until = "12:00" }]',
        facts='{ at = 2026-01-05T10:30:00, notice = "a", message = "Firing" }',
        expect='{ notice = "a", decision = "hold", until = 2026-01-05T12:00:00 }, '
        '{ notice = "a", decision = "release", at = 2026-01-05T12:00:00 }',
    )

    assert told.code == 0, told.out


@pytest.mark.exhibit("openclaw-128924")
async def test_the_same_alarm_every_minute_is_told_once_and_counted(tmp_path: Path) -> None:
    alarm = '{{ at = 2026-01-05T10:{:02}:00, notice = "n{}", message = "The route is broken" }}'
    merged = ", ".join(f'{{ notice = "n{n}", decision = "merge" }}' for n in range(1, 20))

    told = await judged(
        tmp_path,
        policy='preset = "calm"',
        facts=", ".join(alarm.format(minute, minute) for minute in range(20)),
        expect=f'{{ notice = "n0", decision = "release" }}, {merged}',
    )

    assert told.code == 0, told.out


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
