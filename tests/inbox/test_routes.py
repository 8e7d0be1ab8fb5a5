"""The inbox over HTTP, as its owner, as somebody else, and as nobody."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.inbox.api import Api, Response

from postroom.kernel.values.principal import OPERATOR, Principal, Role

pytestmark = pytest.mark.asyncio(loop_scope="module")
UNKNOWN = "019b76da-a800-7000-98dc-5a909701fae6"
ONE = [
    ("PATCH", "/{id}/read"),
    ("PATCH", "/{id}/unread"),
    ("PATCH", "/{id}/archive"),
    ("PATCH", "/{id}/unarchive"),
    ("PATCH", "/{id}/snooze"),
    ("DELETE", "/{id}"),
]
ALL = [
    ("GET", ""),
    ("GET", "/unread-count"),
    ("GET", "/stream"),
    ("GET", "/preferences"),
    ("PUT", "/preferences"),
    ("PATCH", "/preferences"),
    ("PATCH", "/read-all"),
    ("PATCH", "/see-all"),
    *ONE,
]


def body_for(path: str) -> dict[str, Any]:
    if path.endswith("/snooze"):
        return {"json": {"until": "2100-01-01T00:00:00Z"}}
    return {"json": {"delivery_channel": "both"}} if path.endswith("/preferences") else {}


async def items(api: Api, query: str = "", user: str = "ada") -> list[dict[str, Any]]:
    answer = await api.call("GET", query, user=user)
    assert answer.status == 200
    return list(answer.body["items"])


class TestReading:
    async def test_newest_first_with_what_a_page_needs_and_nothing_else(self, api: Api) -> None:
        first = await api.send("First", type="warning", conversation_id="c1")
        second = await api.send("Second")
        found = await items(api)

        assert [one["id"] for one in found] == [second, first]
        assert found[1] == {
            "id": first,
            "message": "First",
            "type": "warning",
            "priority": "high",
            "is_read": False,
            "conversation_id": "c1",
            "link": None,
            "created_at": found[1]["created_at"],
            "seen_at": None,
            "read_at": None,
            "archived_at": None,
            "snoozed_until": None,
        }

    async def test_pages_by_cursor_do_not_shift_when_something_arrives(self, api: Api) -> None:
        ids = [await api.send(str(number)) for number in range(5)]
        page = (await api.call("GET", "?limit=2")).body
        await api.send("new")
        seen = [one["id"] for one in page["items"]]
        while page["next_cursor"]:
            page = (await api.call("GET", f"?limit=2&cursor={page['next_cursor']}")).body
            seen += [one["id"] for one in page["items"]]

        assert seen == ids[::-1]
        assert page["limit"] == 2

    async def test_filters(self, api: Api) -> None:
        warning = await api.send(type="warning")
        read = await api.send(conversation_id="c9")
        await api.call("PATCH", f"/{read}/read")

        assert [one["id"] for one in await items(api, "?type=warning")] == [warning]
        assert [one["id"] for one in await items(api, "?is_read=true")] == [read]
        assert [one["id"] for one in await items(api, "?is_read=false")] == [warning]
        assert [one["id"] for one in await items(api, "?conversation_id=c9")] == [read]

    @pytest.mark.parametrize(
        ("query", "field"),
        [
            ("?limit=0", "limit"),
            ("?limit=101", "limit"),
            ("?limit=x", "limit"),
            ("?type=urgent", "type"),
            ("?is_read=perhaps", "is_read"),
            ("?view=all-of-it", "view"),
            ("?cursor=%00", "cursor"),
            ("?conversation_id=%00", "conversation_id"),
            ("?cursor=bm8", "cursor"),
        ],
    )
    async def test_a_wrong_question_names_what_is_wrong(self, api: Api, query: str, field: str) -> None:
        answer = await api.call("GET", query)

        assert (answer.status, answer.wrong) == (422, [field])


class TestChanging:
    async def test_reading_counts_down_and_may_be_undone(self, api: Api) -> None:
        one, _ = await api.send(), await api.send()
        read = await api.call("PATCH", f"/{one}/read")
        again = await api.call("PATCH", f"/{one}/read")

        assert (read.status, read.body["is_read"], again.body) == (200, True, read.body)
        assert (await api.call("GET", "/unread-count")).body == {"count": 1}
        assert (await api.call("PATCH", f"/{one}/unread")).body["is_read"] is False
        assert (await api.call("GET", "/unread-count")).body == {"count": 2}

    async def test_everything_is_read_at_once_and_once(self, api: Api) -> None:
        await api.send()
        await api.send()

        assert (await api.call("PATCH", "/see-all")).body == {"updated_count": 2}
        assert (await api.call("PATCH", "/read-all")).body == {"updated_count": 2}
        assert (await api.call("PATCH", "/read-all")).body == {"updated_count": 0}
        assert (await api.call("GET", "/unread-count")).body == {"count": 0}

    async def test_what_is_dismissed_never_comes_back_and_twice_is_fine(self, api: Api) -> None:
        one = await api.send()

        assert [(await api.call("DELETE", f"/{one}")).status for _ in range(2)] == [204, 204]
        assert await items(api, "?view=all") == []
        assert (await api.call("PATCH", f"/{one}/read")).status == 404
        assert (await api.call("GET", "/unread-count")).body == {"count": 0}

    async def test_what_is_snoozed_is_out_of_sight_until_then(self, api: Api) -> None:
        one = await api.send()
        snoozed = await api.call("PATCH", f"/{one}/snooze", json={"until": "2100-01-01T09:00:00+01:00"})

        assert snoozed.body["snoozed_until"] == "2100-01-01T08:00:00.000000Z"
        assert await items(api) == []
        assert (await api.call("GET", "/unread-count")).body == {"count": 0}
        assert [found["id"] for found in await items(api, "?view=snoozed")] == [one]
        await api.call("PATCH", f"/{one}/snooze", json={"until": None})
        assert [found["id"] for found in await items(api)] == [one]

    @pytest.mark.parametrize("until", ["yesterday", "2020-01-01T00:00:00Z", "2100-01-01T00:00:00", 5])
    async def test_a_snooze_needs_a_moment_to_come(self, api: Api, until: object) -> None:
        answer = await api.call("PATCH", f"/{await api.send()}/snooze", json={"until": until})

        assert (answer.status, answer.wrong) == (422, ["until"])

    async def test_what_is_put_away_can_be_taken_out_again(self, api: Api) -> None:
        one = await api.send()
        await api.call("PATCH", f"/{one}/archive")

        assert await items(api) == []
        assert [found["id"] for found in await items(api, "?view=archived")] == [one]
        await api.call("PATCH", f"/{one}/unarchive")
        assert [found["id"] for found in await items(api)] == [one]

    async def test_there_is_no_way_to_create_one_from_here(self, api: Api) -> None:
        refused = await api.call("POST", "", json={"message": "Hello"})

        assert refused.status == 405 and refused.body["error"]["code"] == "method_not_allowed"


class TestWhoMay:
    @pytest.mark.parametrize(("method", "path"), ONE)
    async def test_what_belongs_to_somebody_else_is_not_there(self, api: Api, method: str, path: str) -> None:
        one = await api.send(user="ada")
        foreign = await api.call(method, path.format(id=one), user="bob", **body_for(path))
        unknown = await api.call(method, path.format(id=UNKNOWN), user="bob", **body_for(path))

        assert foreign == unknown
        assert foreign.status == 404
        (kept,) = await items(api)
        assert (kept["is_read"], kept["archived_at"], kept["snoozed_until"]) == (False, None, None)

    async def test_lists_counts_and_preferences_are_ones_own(self, api: Api) -> None:
        await api.send(user="ada")
        await api.call("PATCH", "/preferences", json={"email": "ada@example.com"})
        await api.call("PATCH", "/read-all", user="bob")

        assert await items(api, user="bob") == []
        assert (await api.call("GET", "/unread-count", user="bob")).body == {"count": 0}
        assert (await api.call("GET", "/preferences", user="bob")).body["email"] is None
        assert (await api.call("GET", "/unread-count", user="ada")).body == {"count": 1}

    async def test_without_a_token_there_is_nothing(self, api: Api) -> None:
        for method, path in ALL:
            for headers in ({}, {"Authorization": "Bearer wrong"}):
                url = f"/notifications{path.format(id=UNKNOWN)}"
                async with api.http.request(method, url, headers=headers, **body_for(path)) as answer:
                    assert answer.status == 401, (method, path)

    async def test_who_has_no_inbox_is_refused(self, api: Api) -> None:
        for name, role in (("health", Role.BUTLER), ("chatgpt", Role.CONNECTOR), ("operator", Role.USER)):
            for method, path in ALL:
                answer = await api.call(method, path.format(id=UNKNOWN), user=name, role=role, **body_for(path))
                assert answer.status == 403, (name, method, path)

    @pytest.mark.parametrize(("method", "path"), ALL)
    async def test_a_program_reads_its_persons_inbox_and_changes_nothing_there(
        self, api: Api, method: str, path: str
    ) -> None:
        note = await api.send(user="ada")
        await api.send(user="bob")
        ci = Principal(Role.PROGRAM, "ci", person="ada")
        token = api.tokens.token_of(ci) or api.tokens.create(ci)
        reads = method == "GET" and path != "/preferences"

        url, headers = f"/notifications{path.format(id=note)}", {"Authorization": f"Bearer {token}"}
        async with api.http.request(method, url, headers=headers, **body_for(path)) as answer:
            assert answer.status == (200 if reads else 403)
            if path == "":
                assert [one["id"] for one in (await answer.json())["items"]] == [note]
        assert (await api.call("GET", "/unread-count", user="ada")).body == {"count": 1}

    async def test_the_operator_has_an_inbox_of_their_own(self, api: Api) -> None:
        await api.send(user="ada")
        await api.send("For the operator", user="operator")

        (one,) = await items_of_operator(api)
        assert one["message"] == "For the operator"


async def items_of_operator(api: Api) -> list[dict[str, Any]]:
    answer = await api.call("GET", "", user="operator", role=Role.OPERATOR)
    return list(answer.body["items"])


async def test_the_description_names_every_route_and_how_to_identify_oneself(api: Api) -> None:
    async with api.http.get("/openapi.json") as answer:
        document = await answer.json()

    named = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert {(method, f"/notifications{path}".replace("{id}", "{notification_id}")) for method, path in ALL} <= named
    assert document["components"]["securitySchemes"]["HTTPBearer"]["scheme"] == "bearer"


# Preferences over HTTP: PUT is all of them, PATCH is some of them, and both refuse what they do not know.

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
    ("an unknown key of half a surrogate pair", {"\ud800": 1}, ["\\ud800"]),
    ("only a start", {"quiet_hours_start": "22:00"}, ["quiet_hours_end"]),
    ("only an end", {"quiet_hours_end": "22:00"}, ["quiet_hours_start"]),
    ("seconds as a number", {"quiet_hours_start": 79200, "quiet_hours_end": "07:00"}, ["quiet_hours_start"]),
    ("no time of day", {"quiet_hours_start": "24:00", "quiet_hours_end": "07:00"}, ["quiet_hours_start"]),
    ("an unknown channel", {"delivery_channel": "sms"}, ["delivery_channel"]),
    ("no channel", {"delivery_channel": None}, ["delivery_channel"]),
    ("no address", {"email": "ada"}, ["email"]),
    ("two addresses", {"email": "a@example.com,b@example.com"}, ["email"]),
    ("an address with a line break", {"email": "a@example.com\r\nBcc: b@example.com"}, ["email"]),
    ("an address of another type", {"email": 7}, ["email"]),
    ("a time with an offset", {"quiet_hours_start": "22:00+01", "quiet_hours_end": "07:00"}, ["quiet_hours_start"]),
    ("a flag as text", {"high_priority_passes": "yes"}, ["high_priority_passes"]),
]


async def test_a_wrong_wish_is_refused_by_name_and_changes_nothing(api: Api) -> None:
    for what, wishes, fields in WRONG:
        for method, whole in (("PUT", {"delivery_channel": "both", **wishes}), ("PATCH", wishes)):
            body = json.dumps(whole)
            answer = await api.call(method, "/preferences", data=body, headers={"Content-Type": "application/json"})
            assert (answer.status, answer.wrong) == (422, fields), (what, method)

    assert (await api.call("GET", "/preferences")).body == DEFAULTS


async def test_put_does_not_guess_the_channel(api: Api) -> None:
    answer = await api.call("PUT", "/preferences", json={})

    assert (answer.status, answer.wrong) == (422, ["delivery_channel"])


@pytest.mark.parametrize("body", [b"", b"no json", b"[]", b'"text"', b"\xff\xfe", b"{" * 100_000])
async def test_what_is_no_object_is_refused(api: Api, body: bytes) -> None:
    answer = await api.call("PUT", "/preferences", data=body, headers={"Content-Type": "application/json"})

    assert answer.status in (400, 422)
