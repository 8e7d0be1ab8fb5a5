"""The inbox over HTTP, as its owner, as somebody else, and as nobody."""

from __future__ import annotations

from typing import Any

import pytest
from tests.inbox.api import Api

from postroom.kernel.values.principal import Principal, Role

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
        assert (await api.call("POST", "", json={"message": "Hello"})).status == 405


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

    @pytest.mark.parametrize(("method", "path"), ALL)
    async def test_without_a_token_there_is_nothing(self, api: Api, method: str, path: str) -> None:
        url = f"/notifications{path.format(id=UNKNOWN)}"
        for headers in ({}, {"Authorization": "Bearer wrong"}):
            async with api.http.request(method, url, headers=headers, **body_for(path)) as answer:
                assert answer.status == 401

    @pytest.mark.parametrize(("method", "path"), ALL)
    @pytest.mark.parametrize(
        ("name", "role"),
        [("health", Role.BUTLER), ("chatgpt", Role.CONNECTOR), ("operator", Role.USER)],
        ids=["a butler", "a connector", "a user called operator"],
    )
    async def test_who_has_no_inbox_is_refused(self, api: Api, method: str, path: str, name: str, role: Role) -> None:
        answer = await api.call(method, path.format(id=UNKNOWN), user=name, role=role, **body_for(path))

        assert answer.status == 403

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
