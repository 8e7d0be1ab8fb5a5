"""Preferences over HTTP: PUT is all of them, PATCH is some of them, and both refuse what they do not know."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.inbox.api import Api, Response

from postroom.kernel.values.principal import OPERATOR, Role

pytestmark = pytest.mark.asyncio(loop_scope="module")

DEFAULTS = {
    "delivery_channel": "in_app",
    "email": None,
    "email_pending": None,
    "quiet_hours_start": None,
    "quiet_hours_end": None,
    "quiet_hours_timezone": "UTC",
    "high_priority_passes": False,
    "warnings": [],
}
WISHED = {
    "delivery_channel": "both",
    "email": "ada@example.com",
    "quiet_hours_start": "22:00",
    "quiet_hours_end": "07:30:15",
    "quiet_hours_timezone": "Europe/Berlin",
    "high_priority_passes": True,
}
EMAIL_IS_OFF = "E-mail is switched off in this household (inbox.email_enabled): no copy is mailed."
FULL = {**WISHED, "email": None, "email_pending": "ada@example.com", "warnings": [EMAIL_IS_OFF]}


async def test_somebody_who_never_said_anything_has_the_defaults(api: Api) -> None:
    assert (await api.call("GET", "/preferences")).body == DEFAULTS


async def test_what_was_put_is_what_is_there(api: Api) -> None:
    assert (await api.call("PUT", "/preferences", json=WISHED)).body == FULL
    assert (await api.call("GET", "/preferences")).body == FULL


async def test_put_forgets_what_it_leaves_out_except_the_address(api: Api) -> None:
    await api.call("PUT", "/preferences", json=WISHED)
    after = await api.call("PUT", "/preferences", json={"delivery_channel": "email"})

    (silent,) = after.body["warnings"]
    assert silent.endswith("no copy is mailed, and the bell stays silent.")
    waiting = {"delivery_channel": "email", "email_pending": "ada@example.com", "warnings": [silent]}
    assert after.body == {**DEFAULTS, **waiting}


async def test_patch_changes_what_it_names(api: Api) -> None:
    await api.call("PUT", "/preferences", json=WISHED)
    await api.call("PATCH", "/preferences", json={"quiet_hours_end": "08:00"})
    after = await api.call("PATCH", "/preferences", json={"email": None})

    assert after.body == {**FULL, "quiet_hours_end": "08:00", "email_pending": None}
    assert (await api.call("PATCH", "/preferences", json={})).body == after.body


async def test_an_address_the_operator_sets_counts_at_once(api: Api) -> None:
    operator = {"Authorization": f"Bearer {api.tokens.token_of(OPERATOR)}"}

    after = await api.call("PATCH", "/preferences", json={"email": "olivia@example.com"}, headers=operator)

    assert (after.body["email"], after.body["email_pending"]) == ("olivia@example.com", None)


async def test_few_addresses_a_day_are_asked_and_the_same_one_once(api: Api) -> None:
    async def wish(name: str) -> Response:
        return await api.call("PATCH", "/preferences", json={"email": f"{name}@example.com"})

    names = ("one", "one", "two", "three", "one")
    answers = [await wish(name) for name in names]
    refused = await wish("four")

    assert [one.body["email_pending"] for one in answers] == [f"{name}@example.com" for name in names]
    assert (refused.status, refused.wrong) == (422, ["email"])
    assert (await api.call("GET", "/preferences")).body["email_pending"] == "one@example.com"
    assert (await api.call("PATCH", "/preferences", json={"email": "four@example.com"}, user="bob")).status == 200


@pytest.mark.requirement("attention:one-quiet-hours")
async def test_the_persons_policy_shows_the_same_windows_and_changes_them(api: Api) -> None:
    operator = {"Authorization": f"Bearer {api.tokens.token_of(OPERATOR)}"}
    async with api.http.post("/v1/people", json={"name": "Ann"}, headers=operator) as answer:
        ann = (await answer.json())["person"]["person_id"]
    wishes = {"delivery_channel": "both", "quiet_hours_start": "22:00", "quiet_hours_end": "07:30:15"}
    zone = {"quiet_hours_timezone": "Europe/Berlin"}
    await api.call("PUT", "/preferences", json=wishes | zone, user=ann, role=Role.PERSON)

    place, own = f"/v1/people/{ann}/attention", api.headers(ann, Role.PERSON)
    async with api.http.get(place, headers=own) as answer:
        policy = (await answer.json())["policy"]
    assert policy == {"zone": "Europe/Berlin", "quiet_hours": [{"from": "22:00", "until": "07:30:15"}]}
    changed = {**policy, "quiet_hours": [{"from": "21:00", "until": "06:00"}]}
    async with api.http.put(place, json=changed, headers=own) as answer:
        assert answer.status == 200
    shown = (await api.call("GET", "/preferences", user=ann, role=Role.PERSON)).body
    assert (shown["quiet_hours_start"], shown["quiet_hours_end"]) == ("21:00", "06:00")


WRONG: list[tuple[str, dict[str, Any], list[str]]] = [
    ("an unknown key", {"quiet_hour_start": "22:00"}, ["quiet_hour_start"]),
    ("a zone that is none", {"quiet_hours_timezone": "Mars/Olympus"}, ["quiet_hours_timezone"]),
    ("a path as zone", {"quiet_hours_timezone": "../../etc/passwd"}, ["quiet_hours_timezone"]),
    ("a very long zone", {"quiet_hours_timezone": "x" * 1000}, ["quiet_hours_timezone"]),
    ("half a surrogate pair", {"quiet_hours_timezone": "\ud800"}, ["quiet_hours_timezone"]),
    ("an unknown key of half a surrogate pair", {"\ud800": 1}, ["body"]),
    ("only a start", {"quiet_hours_start": "22:00"}, ["quiet_hours_end"]),
    ("only an end", {"quiet_hours_end": "22:00"}, ["quiet_hours_start"]),
    ("seconds as a number", {"quiet_hours_start": 79200, "quiet_hours_end": "07:00"}, ["quiet_hours_start"]),
    ("no time of day", {"quiet_hours_start": "24:00", "quiet_hours_end": "07:00"}, ["quiet_hours_start"]),
    ("an unknown channel", {"delivery_channel": "sms"}, ["delivery_channel"]),
    ("no channel", {"delivery_channel": None}, ["delivery_channel"]),
    ("no address", {"email": "ada"}, ["email"]),
    ("two addresses", {"email": "a@example.com,b@example.com"}, ["email"]),
    ("a flag as text", {"high_priority_passes": "yes"}, ["high_priority_passes"]),
]


@pytest.mark.parametrize(("wishes", "fields"), [pytest.param(*case[1:], id=case[0]) for case in WRONG])
@pytest.mark.parametrize("method", ["PUT", "PATCH"])
async def test_a_wrong_wish_is_refused_by_name_and_changes_nothing(
    api: Api, method: str, wishes: dict[str, Any], fields: list[str]
) -> None:
    body = json.dumps({"delivery_channel": "both", **wishes} if method == "PUT" else wishes)
    answer = await api.call(method, "/preferences", data=body, headers={"Content-Type": "application/json"})

    assert (answer.status, answer.wrong) == (422, fields)
    assert (await api.call("GET", "/preferences")).body == DEFAULTS


async def test_put_does_not_guess_the_channel(api: Api) -> None:
    answer = await api.call("PUT", "/preferences", json={})

    assert (answer.status, answer.wrong) == (422, ["delivery_channel"])


@pytest.mark.parametrize("body", [b"", b"no json", b"[]", b'"text"', b"\xff\xfe", b"{" * 100_000])
async def test_what_is_no_object_is_refused(api: Api, body: bytes) -> None:
    answer = await api.call("PUT", "/preferences", data=body, headers={"Content-Type": "application/json"})

    assert answer.status in (400, 422)
