"""Every moment that a person reads is in their zone: as their policy says, their record, the household, or UTC."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from postroom.kernel.values.principal import Principal, Role
from tests.household.asked_household import ask, phone, press, write
from tests.household.living import LIFTED, QUICK, Living, living
from tests.cli.command import postroom_beside

pytestmark = pytest.mark.requirement("attention:every-moment-in-the-persons-zone")
OWNER = Principal(Role.PERSON, "owner")
KOLKATA = {"household": {"zone": "Asia/Kolkata"}}
POLICY = {"attention": {"preset": "everything", "zone": "Pacific/Auckland"}}


async def tell(house: Living, method: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
    token = house.tokens.token_of(OWNER) or house.tokens.create(OWNER)
    url = house.household.addresses["api"].rstrip("/") + path
    async with house.http.request(method, url, json=body, headers={"Authorization": f"Bearer {token}"}) as response:
        answer: dict[str, Any] = await response.json()
        assert response.status < 300, answer
        return answer


async def lives_in(house: Living, zone: str) -> None:
    await tell(house, "PATCH", "/v1/people/owner", {"zone": zone})


def said(text: str, zone: str) -> bool:
    """An hour of this zone, by its name, and within some minutes of an hour or of now."""
    found = re.search(r"(\d\d):(\d\d) (\S+?)[.,]?$", text.strip().splitlines()[-1])
    assert found is not None, text
    now = datetime.now(ZoneInfo(zone))
    minutes = (int(found[1]) * 60 + int(found[2]) - now.hour * 60 - now.minute) % 1440
    return found[3] == now.tzname() and any((minutes - one) % 1440 < 5 for one in (0, 1435, 60, 55, 120, 115))


@pytest.mark.parametrize(
    ("settings", "person", "zone"),
    [
        ({}, None, "UTC"),
        (KOLKATA, None, "Asia/Kolkata"),
        (KOLKATA, "Asia/Tokyo", "Asia/Tokyo"),
        ({**KOLKATA, **POLICY}, "Asia/Tokyo", "Pacific/Auckland"),
    ],
    ids=["machine", "household", "person", "policy"],
)
async def test_a_card_its_closing_line_and_the_bot_say_the_hour_where_the_person_is(
    tmp_path: Path, settings: dict[str, Any], person: str | None, zone: str
) -> None:
    async with living(tmp_path, LIFTED, QUICK, settings) as house:
        if person is not None:
            await lives_in(house, person)
        await ask(house, deadline_seconds=3600)
        card = await phone(house, "Ship it?")
        await press(house, card, "yes")
        closed = await phone(house, "answered by")
        await write(house, "/mute health 2h")
        muted = await phone(house, "Muted health until")

    assert said(card["text"], zone)
    assert said(closed["text"], zone)
    assert said(muted["text"], zone)


async def test_quiet_hours_without_a_zone_are_those_of_the_person_and_are_said_so(tmp_path: Path) -> None:
    async with living(tmp_path, LIFTED, QUICK, KOLKATA) as house:
        before = await tell(house, "PUT", "/v1/people/owner/attention", {"preset": "calm"})
        await lives_in(house, "Asia/Tokyo")
        after = await tell(house, "PUT", "/v1/people/owner/attention", {"preset": "calm"})
        own = await tell(house, "PUT", "/v1/people/owner/attention", {"preset": "calm", "zone": "Europe/Lisbon"})

    assert [one["rules"]["zone"] for one in (before, after, own)] == ["Asia/Kolkata", "Asia/Tokyo", "Europe/Lisbon"]


async def test_what_is_held_leaves_by_the_clock_of_the_person(tmp_path: Path) -> None:
    async with living(tmp_path, LIFTED, QUICK, KOLKATA) as house:
        await lives_in(house, "Asia/Tokyo")
        here = datetime.now(ZoneInfo("Asia/Tokyo"))
        quiet = {"from": f"{here - timedelta(hours=2):%H:%M}", "until": f"{here + timedelta(hours=2):%H:%M}"}
        await tell(house, "PUT", "/v1/people/owner/attention", {"preset": "everything", "quiet_hours": [quiet]})
        held = await house.notify(message="Later")

    until = datetime.fromisoformat(held["until"]).astimezone(ZoneInfo("Asia/Tokyo"))
    assert (held["status"], f"{until:%H:%M}") == ("deferred", quiet["until"])


async def test_a_trace_is_told_by_the_clock_of_who_reads_it(home: Path) -> None:
    async with living(home, LIFTED, QUICK) as house:
        await lives_in(house, "Asia/Kolkata")
        sent = await house.notify(message="Hello")
        told = await postroom_beside("trace", sent["delivery"]["delivery_id"])

    moments = [line[:27] for line in told.out.splitlines()[1:]]
    assert all(re.fullmatch(r"[\d-]{10} \d\d:\d\d:\d\d\.\d{3} IST", one) for one in moments), told.out
    now = datetime.now(ZoneInfo("Asia/Kolkata")).replace(tzinfo=None)
    assert abs(now - datetime.fromisoformat(moments[0][:-4])) < timedelta(minutes=5)
