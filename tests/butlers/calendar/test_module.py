from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tests.butlers.calendar.google_server import Google, Trouble, at, google_server
from tests.clock import FakeClock

from postroom.butlers.calendar.acts import CALENDAR_ACTS
from postroom.butlers.calendar.calendar import ConflictPolicy
from postroom.butlers.calendar.module import CalendarConfig, CalendarModule
from postroom.kernel.acts.reading import arguments_schema
from postroom.kernel.acts.tools import add_tools
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.guard.tools import GuardedServer, ToolPolicy
from postroom.kernel.running.process import Secret
from postroom.kernel.values.principal import OPERATOR, Principal, Role


@pytest.mark.requirement("messenger:module-profile")
def test_the_messengers_section_is_google_and_suggest() -> None:
    config = CalendarConfig.model_validate({"provider": "google", "conflicts": {"policy": "suggest"}})

    assert (config.provider, config.conflicts.policy) == ("google", ConflictPolicy.SUGGEST)
    assert config == CalendarConfig(provider="google")


@pytest.mark.parametrize(("name", "policy"), [("allow", ConflictPolicy.ALLOW_OVERLAP), ("reject", ConflictPolicy.FAIL)])
def test_policies_have_older_names(name: str, policy: ConflictPolicy) -> None:
    config = CalendarConfig.model_validate({"provider": "google", "conflicts": {"policy": name}})

    assert config.conflicts.policy is policy


@pytest.mark.parametrize(
    ("section", "key"),
    [
        ({}, "provider"),
        ({"provider": "outlook"}, "provider"),
        ({"provider": "google", "timezone": "Mars/Olympus"}, "timezone"),
        ({"provider": "google", "calender_id": "x"}, "calender_id"),
        ({"provider": "google", "conflicts": {"policy": "maybe"}}, "conflicts.policy"),
        ({"provider": "google", "conflicts": {"latest_hour": 25}}, "conflicts.latest_hour"),
        ({"provider": "google", "conflicts": {"earliest_hour": 24}}, "conflicts.earliest_hour"),
    ],
)
def test_a_wrong_section_is_refused_by_key(section: dict[str, Any], key: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        CalendarConfig.model_validate(section)

    assert [".".join(map(str, error["loc"])) for error in refusal.value.errors()] == [key]


GENERAL = Principal(Role.BUTLER, "general")
Tool = Callable[..., Awaitable[dict[str, Any]]]
ENVIRONMENT = {
    "GOOGLE_OAUTH_CLIENT_ID": Secret("client"),
    "GOOGLE_OAUTH_CLIENT_SECRET": Secret("canary-secret"),
    "GOOGLE_OAUTH_REFRESH_TOKEN": Secret("canary-refresh"),
}


@pytest.fixture
async def google() -> AsyncIterator[Google]:
    async with google_server() as server:
        yield server


def calendar_server(module: CalendarModule) -> GuardedServer:
    server = GuardedServer("general", ToolPolicy({}, TokenFile(Path("none.json"))))
    add_tools(server, CALENDAR_ACTS, module, butler="general")
    return server


@asynccontextmanager
async def calendar(
    google: Google, clock: FakeClock, environment: dict[str, Secret] = ENVIRONMENT, **section: Any
) -> AsyncIterator[Tool]:
    """The tools of a butler with this calendar, called over MCP."""
    document = {"provider": "google", "calendar_id": "family@example.com", **section}
    config = CalendarConfig.model_validate(document | {"api_base_url": google.api_url, "token_url": google.token_url})
    module = CalendarModule(config, environment, clock)
    server = calendar_server(module)

    async def call(name: str, **arguments: Any) -> dict[str, Any]:
        answer = await server.from_caller(GENERAL, f"calendar_{name}", arguments)
        assert answer is not None and "canary" not in str(answer)
        return answer

    yield call
    await module.stop()


@pytest.fixture
async def tool(google: Google, clock: FakeClock) -> AsyncIterator[Tool]:
    async with calendar(google, clock) as call:
        yield call


def titles(answer: dict[str, Any]) -> list[str]:
    return [event["title"] for event in answer["events"]]


async def test_a_butler_may_call_all_its_tools_and_nobody_else_may() -> None:
    module = CalendarModule(CalendarConfig(provider="google"), {}, FakeClock())
    server = calendar_server(module)

    listed = {one.name for one in await server.list_tools()}

    assert len(listed) == len(CALENDAR_ACTS)
    for tool in listed:
        assert server.policy.allows(GENERAL, tool) and not server.policy.allows(OPERATOR, tool)
        assert not server.policy.allows(Principal(Role.BUTLER, "health"), tool)
        assert not server.policy.allows(Principal(Role.USER, "ada"), tool)


async def test_every_argument_has_words_and_no_other_is_taken(tool: Tool, google: Google) -> None:
    for act in CALENDAR_ACTS:
        assert act.declared.tool is not None
        shown = arguments_schema(act)
        assert shown["additionalProperties"] is False
        assert all(one["description"] for one in shown["properties"].values())
        refused = await tool(act.declared.tool.name.removeprefix("calendar_"), nosuch=1)
        assert (refused["status"], refused["error"]["fields"][0]["field"]) == ("error", "nosuch")
    assert google.requests == []


async def test_an_empty_description_takes_the_old_one_away(google: Google, tool: Tool) -> None:
    google.put("meeting", at(4, 10), at(4, 11), description="About nothing")

    await tool("update_event", event_id="meeting", description="", location=None)

    assert google.events["meeting"]["description"] == ""
    assert "location" not in google.events["meeting"]


async def test_an_event_is_created_read_changed_and_deleted(google: Google, tool: Tool) -> None:
    created = await tool(
        "create_event", title="Dentist", start="2026-05-04T10:00", end="2026-05-04T11:00", location="Main Street"
    )
    assert (created["status"], created["action"]) == ("ok", "created")
    event_id = created["event"]["event_id"]

    read = await tool("get_event", event_id=event_id)
    assert read["event"]["start"] == "2026-05-04T10:00:00+00:00"
    assert read["event"]["location"] == "Main Street"

    moved = await tool("update_event", event_id=event_id, start="2026-05-05T12:00", title="The dentist")
    assert (moved["event"]["end"], moved["event"]["title"]) == ("2026-05-05T13:00:00+00:00", "The dentist")
    assert google.events[event_id]["location"] == "Main Street"

    assert (await tool("delete_event", event_id=event_id))["status"] == "ok"
    assert google.events[event_id]["status"] == "cancelled"
    again = await tool("delete_event", event_id=event_id)
    assert (again["status"], again["error_class"], again["retryable"]) == ("error", "validation_error", False)


@pytest.mark.parametrize(
    ("change", "start"),
    [
        pytest.param({"start": "2026-05-06", "end": "2026-05-08"}, {"date": "2026-05-06"}, id="to whole days"),
        pytest.param(
            {"end": "2026-05-04T12:30"}, {"dateTime": "2026-05-04T10:00:00+00:00", "timeZone": "UTC"}, id="longer"
        ),
    ],
)
async def test_times_can_become_days_and_lengths_can_change(
    google: Google, tool: Tool, change: dict[str, str], start: dict[str, str]
) -> None:
    google.put("trip", at(4, 10), at(4, 11))

    answer = await tool("update_event", event_id="trip", **change)

    assert answer["status"] == "ok"
    assert google.events["trip"]["start"] == start


async def test_a_list_follows_every_page_in_order(google: Google, tool: Tool) -> None:
    google.page_size = 2
    for number in range(5):
        google.put(f"event{number}", at(4, 10 + number), at(4, 11 + number))

    answer = await tool("list_events", start="2026-05-04T00:00", end="2026-05-05T00:00")

    assert answer["complete"] is True
    assert titles(answer) == [f"event{number}" for number in range(5)]
    assert titles(await tool("list_events", start="2026-05-04", end="2026-05-05", limit=3)) == titles(answer)[:3]


async def test_reading_fails_open_with_a_note_and_keeps_what_it_has(
    google: Google, tool: Tool, clock: FakeClock
) -> None:
    google.page_size = 1
    google.put("first", at(4, 10), at(4, 11))
    google.put("second", at(4, 12), at(4, 13))
    assert titles(await tool("list_events", start="2026-05-04", end="2026-05-05")) == ["first", "second"]
    google.troubles = [Trouble(status=400, reason="invalid")]

    broken = await tool("list_events", start="2026-05-04", end="2026-05-05")

    assert (broken["status"], broken["complete"], broken["events"]) == ("ok", False, [])
    assert "400 (invalid)" in broken["note"]
    assert "Do not take this for an empty calendar" in broken["note"]
    assert broken["error"]["class"] == "validation_error"


async def test_writing_fails_closed_when_conflicts_cannot_be_known(google: Google, tool: Tool) -> None:
    google.troubles = [Trouble(status=400, reason="invalid")]

    answer = await tool("create_event", title="Party", start="2026-05-04T10:00", end="2026-05-04T11:00")

    assert answer["status"] == "error"
    assert google.events == {}


@pytest.mark.requirement("messenger:module-profile")
async def test_suggest_creates_nothing_and_offers_three_free_times(google: Google, tool: Tool) -> None:
    google.put("meeting", at(4, 10), at(4, 11, 20))
    google.put("lunch", at(4, 12), at(4, 13))

    answer = await tool("create_event", title="Dentist", start="2026-05-04T10:30", end="2026-05-04T11:00")

    assert (answer["status"], answer["policy"]) == ("conflict", "suggest")
    assert [one["event_id"] for one in answer["conflicts"]] == ["meeting"]
    assert [one["start"] for one in answer["suggested_slots"]] == [
        "2026-05-04T11:30:00+00:00",
        "2026-05-04T13:00:00+00:00",
        "2026-05-04T13:30:00+00:00",
    ]
    assert set(google.events) == {"meeting", "lunch"}


@pytest.mark.parametrize(("policy", "status"), [("fail", "conflict"), ("reject", "conflict"), ("allow_overlap", "ok")])
async def test_the_other_policies(google: Google, clock: FakeClock, policy: str, status: str) -> None:
    google.put("meeting", at(4, 10), at(4, 11))
    async with calendar(google, clock, conflicts={"policy": policy}) as tool:
        answer = await tool("create_event", title="Dentist", start="2026-05-04T10:30", end="2026-05-04T11:00")

    assert answer["status"] == status
    assert "suggested_slots" not in answer
    assert [one["event_id"] for one in answer["conflicts"]] == ["meeting"]
    assert len(google.events) == (2 if status == "ok" else 1)


@pytest.mark.parametrize(
    "free",
    [
        {"transparency": "transparent"},
        {"attendees": [{"self": True, "responseStatus": "declined"}]},
        {"status": "cancelled"},
    ],
    ids=["transparent", "declined", "cancelled"],
)
async def test_events_that_take_no_time_are_in_nobodys_way(google: Google, tool: Tool, free: dict[str, Any]) -> None:
    google.put("ghost", at(4, 10), at(4, 11), **free)

    answer = await tool("create_event", title="Dentist", start="2026-05-04T10:00", end="2026-05-04T11:00")

    assert answer["status"] == "ok"


async def test_an_event_is_not_in_its_own_way(google: Google, tool: Tool) -> None:
    google.put("meeting", at(4, 10), at(4, 11))

    moved = await tool("update_event", event_id="meeting", start="2026-05-04T10:30")
    seen = await tool("find_conflicts", start="2026-05-04T10:30", end="2026-05-04T12:00", ignore_event_id="meeting")

    assert moved["status"] == "ok"
    assert seen["conflicts"] == []


async def test_the_same_key_creates_one_event_even_when_its_answer_is_lost(google: Google, tool: Tool) -> None:
    arguments = {"title": "Party", "start": "2026-05-04T18:00", "end": "2026-05-04T20:00", "idempotency_key": "k1"}

    first = await tool("create_event", **arguments)
    second = await tool("create_event", **arguments)

    assert first["event"]["event_id"] == second["event"]["event_id"]
    assert len(google.events) == 1


async def test_a_lost_answer_is_asked_for_again_and_nothing_is_created_twice(
    google: Google, tool: Tool, clock: FakeClock
) -> None:
    google.troubles = [Trouble(method="POST", cut=True)]

    creating = asyncio.create_task(
        tool("create_event", title="Party", start="2026-05-04T18:00", end="2026-05-04T20:00")
    )
    await clock.parked()
    await clock.advance(1.0)

    assert (await creating)["status"] == "ok"
    assert len(google.events) == 1


async def test_a_change_whose_answer_is_lost_is_not_repeated(google: Google, tool: Tool) -> None:
    google.put("meeting", at(4, 10), at(4, 11))
    google.troubles = [Trouble(method="PATCH", cut=True)]

    answer = await tool("update_event", event_id="meeting", title="New")

    assert (answer["status"], answer["error_class"]) == ("error", "timeout")
    assert [method for method, _ in google.requests].count("PATCH") == 1


async def test_a_deletion_whose_answer_is_lost_is_asked_for_once(google: Google, tool: Tool) -> None:
    google.put("dentist", at(4, 10), at(4, 11))
    assert (await tool("get_event", event_id="dentist"))["status"] == "ok"  # so that the connection is a kept one
    google.troubles = [Trouble(method="DELETE", cut=True)]

    answer = await tool("delete_event", event_id="dentist")

    assert [method for method, _ in google.requests].count("DELETE") == 1
    assert answer["status"] == "error" and "no complete answer" in str(answer["error"])


@pytest.mark.parametrize(
    ("trouble", "waits"),
    [
        pytest.param(Trouble(status=429, retry_after="7"), 7.0, id="429 with Retry-After"),
        pytest.param(Trouble(status=503), 1.0, id="503"),
        pytest.param(Trouble(status=403, reason="rateLimitExceeded"), 1.0, id="403 rate limit"),
        pytest.param(Trouble(status=403, reason="userRateLimitExceeded", retry_after="3"), 3.0, id="403 user limit"),
    ],
)
async def test_google_is_given_the_time_it_asks_for(
    google: Google, tool: Tool, clock: FakeClock, trouble: Trouble, waits: float
) -> None:
    google.put("meeting", at(4, 10), at(4, 11))
    google.troubles = [trouble]

    reading = asyncio.create_task(tool("get_event", event_id="meeting"))
    await clock.parked()
    await clock.advance(waits - 0.001)
    assert len(google.requests) == 1
    await clock.advance(0.001)

    assert (await reading)["event"]["title"] == "meeting"


async def test_after_three_refusals_it_is_an_error_that_says_when_to_come_again(
    google: Google, tool: Tool, clock: FakeClock
) -> None:
    google.troubles = [Trouble(status=503, retry_after="4") for _ in range(3)]

    deleting = asyncio.create_task(tool("delete_event", event_id="meeting"))
    for _ in range(2):
        await clock.parked()
        await clock.advance(4.0)
    answer = await deleting

    assert (answer["error_class"], answer["retryable"]) == ("target_unavailable", True)
    assert answer["error"]["retry_after_seconds"] == 4.0


async def test_a_wait_that_is_too_long_is_handed_on(google: Google, tool: Tool) -> None:
    google.troubles = [Trouble(status=429, retry_after="3600")]

    answer = await tool("delete_event", event_id="meeting")

    assert answer["error"]["retry_after_seconds"] == 3600.0


async def test_a_token_that_is_turned_down_is_replaced_once(google: Google, tool: Tool) -> None:
    google.put("meeting", at(4, 10), at(4, 11))
    await tool("get_event", event_id="meeting")
    google.expire_tokens()

    answer = await tool("get_event", event_id="meeting")

    assert answer["event"]["title"] == "meeting"
    assert google.refreshes == 2


async def test_credentials_that_are_never_accepted_end_in_a_sentence(google: Google, tool: Tool) -> None:
    google.troubles = [Trouble(status=401), Trouble(status=401)]

    answer = await tool("delete_event", event_id="meeting")

    assert "connect the calendar again" in answer["error"]["message"]
    assert len(google.requests) == 2


async def test_a_revoked_refresh_token_is_named(google: Google, tool: Tool) -> None:
    google.login_error = "invalid_grant"

    read = await tool("list_events")
    write = await tool("delete_event", event_id="meeting")

    assert (read["complete"], read["events"]) == (False, [])
    assert "no longer accepts the refresh token" in write["error"]["message"]
    assert write["error_class"] == "target_unavailable"


async def test_a_token_is_fetched_once_for_many_and_again_before_it_runs_out(
    google: Google, tool: Tool, clock: FakeClock
) -> None:
    google.put("meeting", at(4, 10), at(4, 11))
    await asyncio.gather(*(tool("get_event", event_id="meeting") for _ in range(5)))
    assert google.refreshes == 1

    await clock.advance(3600 - 61)
    await tool("get_event", event_id="meeting")
    assert google.refreshes == 1
    await clock.advance(1)
    await tool("get_event", event_id="meeting")
    assert google.refreshes == 2


async def test_a_version_that_is_out_of_date_is_not_written_over(google: Google, tool: Tool) -> None:
    google.put("meeting", at(4, 10), at(4, 11))
    seen = (await tool("get_event", event_id="meeting"))["event"]["etag"]
    google.put("meeting", at(4, 10), at(4, 11), location="moved")

    for name, more in (("update_event", {"title": "Mine"}), ("delete_event", {})):
        answer = await tool(name, event_id="meeting", etag=seen, **more)

        assert (answer["status"], answer["retryable"]) == ("error", True)
        assert "changed by somebody else" in answer["error"]["message"]
    assert google.events["meeting"]["summary"] == "meeting"


async def test_without_a_version_a_change_starts_again_from_the_newest(google: Google, tool: Tool) -> None:
    google.put("meeting", at(4, 10), at(4, 11))
    google.changed_on_read = True

    answer = await tool("update_event", event_id="meeting", title="Mine")

    assert (answer["event"]["title"], answer["event"]["location"]) == ("Mine", "elsewhere")


async def test_times_are_in_the_calendars_zone_unless_another_is_named(google: Google, clock: FakeClock) -> None:
    async with calendar(google, clock, timezone="Europe/Paris") as tool:
        paris = await tool("create_event", title="a", start="2026-05-04T10:00", end="2026-05-04T11:00")
        tokyo = await tool(
            "create_event", title="b", start="2026-05-05T10:00", end="2026-05-05T11:00", timezone="Asia/Tokyo"
        )

    assert paris["event"]["start"] == "2026-05-04T10:00:00+02:00"
    assert tokyo["event"]["start"] == "2026-05-05T10:00:00+09:00"


@pytest.mark.parametrize(
    ("name", "arguments", "field"),
    [
        ("create_event", {"title": "a", "start": "soon", "end": "2026-05-04T11:00"}, "start"),
        ("create_event", {"title": "a", "start": "2026-05-04T11:00", "end": "2026-05-04T11:00"}, "end"),
        ("create_event", {"title": "a", "start": "2026-05-04", "end": "2026-05-05T11:00"}, "end"),
        ("create_event", {"title": "a\x00", "start": "2026-05-04", "end": "2026-05-05"}, "title"),
        ("list_events", {"timezone": "Mars/Olympus"}, "timezone"),
        ("list_events", {"timezone": "../../etc/passwd"}, "timezone"),
        ("get_event", {"event_id": "../../token"}, "event_id"),
        ("delete_event", {"event_id": ""}, "event_id"),
    ],
)
async def test_a_wrong_argument_is_named_and_nothing_is_asked(
    google: Google, tool: Tool, name: str, arguments: dict[str, str], field: str
) -> None:
    answer = await tool(name, **arguments)

    assert (answer["status"], answer["error_class"]) == ("error", "validation_error")
    assert [one["field"] for one in answer["error"]["fields"]] == [field]
    assert google.requests == []


async def test_an_event_that_is_not_there_is_an_error_and_not_an_empty_answer(tool: Tool) -> None:
    answer = await tool("get_event", event_id="nothing")

    assert (answer["status"], answer["error_class"]) == ("error", "validation_error")


async def test_a_calendar_google_does_not_know_is_the_households_mistake(google: Google, clock: FakeClock) -> None:
    async with calendar(google, clock, calendar_id="unknown@example.com") as tool:
        answer = await tool("list_events")

    assert "calendar_id" in answer["note"]


async def test_without_credentials_the_tools_say_what_is_missing(google: Google, clock: FakeClock) -> None:
    async with calendar(google, clock, {"GOOGLE_OAUTH_CLIENT_ID": Secret("client")}) as tool:
        read = await tool("list_events")
        write = await tool("create_event", title="a", start="2026-05-04", end="2026-05-05")

    assert (read["status"], read["complete"]) == ("ok", False)
    assert write["status"] == "error"
    for text in (read["note"], write["error"]["message"]):
        assert text == "no calendar is connected: set GOOGLE_OAUTH_CLIENT_SECRET, GOOGLE_OAUTH_REFRESH_TOKEN"


async def test_a_google_that_cannot_be_reached_is_an_answer_too(google: Google, clock: FakeClock) -> None:
    async with calendar(google, clock) as tool:
        google.put("meeting", at(4, 10), at(4, 11))
        await tool("get_event", event_id="meeting")
    google.api_url = "http://127.0.0.1:1/calendar/v3"
    async with calendar(google, clock) as tool:
        writing = asyncio.create_task(tool("delete_event", event_id="meeting"))
        answer = await writing

    assert (answer["error_class"], answer["retryable"]) == ("target_unavailable", True)


LAST = {"start": "9999-12-31T00:00:00+00:00", "end": "9999-12-31T01:00:00+00:00"}
WRONG: list[tuple[str, dict[str, Any]]] = [
    ("list_events", {"start": "9999-12-31T00:00:00+00:00"}),
    ("find_conflicts", LAST),
    ("create_event", {"title": "Party", **LAST}),
    ("update_event", {"event_id": "abc", "title": "Party", "etag": '"1"\r\nX-Evil: 1'}),
    ("delete_event", {"event_id": "abc", "etag": '"1"\nX-Evil: 1'}),
]


@pytest.mark.parametrize(("name", "arguments"), WRONG, ids=[name for name, _ in WRONG])
async def test_what_no_calendar_can_be_asked_is_a_wrong_argument(
    tool: Tool, google: Google, name: str, arguments: dict[str, Any]
) -> None:
    answer = await tool(name, **arguments)

    assert (answer["status"], answer["error_class"]) == ("error", "validation_error")
