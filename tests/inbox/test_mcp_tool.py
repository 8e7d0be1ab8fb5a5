"""The same tool for a real MCP client: the token says whose notification it is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from tests.inbox.api import Api

from postroom.inbox.model import USER_META, Notification, NotificationQuery
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.message.wire import wish_object

pytestmark = pytest.mark.asyncio(loop_scope="module")


@asynccontextmanager
async def client(api: Api, user: str = "ada", role: Role = Role.USER) -> AsyncIterator[Client]:
    token = api.tokens.token_of(OPERATOR) if role is Role.OPERATOR else api.token(user, role)
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=20) as http,
        Client(streamable_http_client(f"{api.url}/mcp", http_client=http)) as client,
    ):
        yield client


async def kept(api: Api, user_id: str = "ada") -> list[Notification]:
    return list(await api.inbox.notes.page(user_id, NotificationQuery(), api.inbox.clock.now_us()))


DESCRIPTION = (
    "Send a notification to the user. Use this when the user asks to be reminded about something, when you identify "
    "information worth flagging for later, or when you want to surface a warning. Notifications persist beyond the "
    "current conversation and can be delivered via email if the user has opted in."
)
CONTRACT = {
    "message": {
        "type": "string",
        "minLength": 1,
        "maxLength": 500,
        "description": "The notification message (1-500 characters)",
    },
    "type": {
        "type": "string",
        "enum": ["reminder", "info", "warning"],
        "default": "info",
        "description": 'Notification type: "reminder", "info", or "warning". Default: "info"',
    },
}


@pytest.mark.requirement("inbox:tool-name", "inbox:tool-description", "inbox:parameter-message", "inbox:parameter-type")
async def test_a_client_sees_the_contract(api: Api) -> None:
    async with client(api) as connected:
        tools = {tool.name: tool for tool in (await connected.list_tools()).tools}

    tool = tools["send_notification"]
    contract = {name: tool.input_schema["properties"][name] for name in ("message", "type")}
    assert (tool.description, contract) == (DESCRIPTION, CONTRACT)
    assert tool.input_schema["required"] == ["message"]
    assert set(tool.input_schema["properties"]) == {"message", "type", *WISHES}
    assert tool.input_schema["additionalProperties"] is False


@pytest.mark.requirement("inbox:response-success", "inbox:context-user-id")
async def test_a_call_leaves_a_notification_for_the_tokens_owner(api: Api) -> None:
    async with client(api) as connected:
        answer = await connected.call_tool("send_notification", {"message": "x" * 60, "type": "reminder"})

    (one,) = await kept(api)
    assert not answer.is_error
    assert answer.structured_content == {
        "success": True,
        "action": "notification_created",
        "message": f"Notification created: {'x' * 47}...",
        "notification_id": one.id,
        "type": "reminder",
    }


BAD_LENGTH = "Message must be between 1 and 500 characters"
WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, BAD_LENGTH),
    ({"message": ""}, BAD_LENGTH),
    ({"message": 5}, BAD_LENGTH),
    ({"message": "x" * 501}, BAD_LENGTH),
    ({"message": "a\0"}, "Message must not contain NUL"),
    ({"message": "x", "type": []}, "Type must be one of: reminder, info, warning"),
    *(({"message": "x", "urgency": one}, "Urgency") for one in ("loud", 3, "", ["normal"])),
    ({"message": "x", "category": "x" * 201}, "Category must have at most 200 characters"),
    ({"message": "x", "thread": 5}, "Thread must be text"),
    ({"message": "x", "supersedes": " "}, "Supersedes must not be blank"),
    ({"message": "x", "needs_ack": "yes"}, "needs_ack must be true or false"),
    ({"message": "x", "expires_in_seconds": 0}, "expires_in_seconds must be at least 1"),
    ({"message": "x", "expires_in_seconds": True}, "expires_in_seconds must be a whole number"),
    ({"message": "x", "user_id": "bob"}, "Unknown argument user_id"),
]


@pytest.mark.requirement("inbox:response-validation-error", "inbox:validation-message-length", "inbox:validation-type")
@pytest.mark.requirement("attention:note-urgency", "attention:note-fields")
async def test_a_wrong_argument_is_named_in_the_contracts_answer_and_keeps_nothing(api: Api) -> None:
    async with client(api) as connected:
        for arguments, sentence in WRONG:
            answer = await connected.call_tool("send_notification", arguments)
            content = answer.structured_content or {}
            assert not answer.is_error and content.keys() == {"success", "action", "message"}, arguments
            assert (content["success"], content["action"]) == (False, "validation_error"), arguments
            assert content["message"].startswith(sentence), arguments

    assert await kept(api, "bob") == await kept(api) == []


SENDING = {"send_notification", "notify", "notify_status", "revise", "recall"}
ASKING = {"ask", "wait", "answers", "cancel_ask", "revise_ask", "permission_prompt"}


@pytest.mark.requirement("house:program-decides-nothing")
async def test_a_program_writes_to_its_person_asks_and_calls_no_other_tool(api: Api) -> None:
    ci = Principal(Role.PROGRAM, "ci", person="ada")
    token = api.tokens.token_of(ci) or api.tokens.create(ci)
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=20) as http,
        Client(streamable_http_client(f"{api.url}/mcp", http_client=http)) as connected,
    ):
        await connected.call_tool("send_notification", {"message": "The build failed"})
        other: Any = {USER_META: "bob"}
        named = await connected.call_tool("send_notification", {"message": "Hello"}, meta=other)
        for tool in (await connected.list_tools()).tools:
            if tool.name not in SENDING | ASKING:
                with pytest.raises(MCPError, match="program:ci may not call"):
                    await connected.call_tool(tool.name, {})

    assert [one.message for one in await kept(api)] == ["The build failed"]
    assert (named.structured_content or {})["action"] == "validation_error" and await kept(api, "bob") == []


@pytest.mark.parametrize(
    ("role", "named", "owner"),
    [
        pytest.param(Role.OPERATOR, "bob", "bob", id="the operator for anybody"),
        pytest.param(Role.OPERATOR, None, "operator", id="the operator without a name"),
        pytest.param(Role.USER, "ada", "ada", id="oneself by name"),
        pytest.param(Role.USER, "bob", None, id="somebody else"),
    ],
)
@pytest.mark.requirement("inbox:validation-user-id")
async def test_beside_the_arguments_only_the_operator_may_name_another(
    api: Api, role: Role, named: str | None, owner: str | None
) -> None:
    meta: Any = {USER_META: named} if named else None
    async with client(api, role=role) as connected:
        answer = await connected.call_tool("send_notification", {"message": "Hello"}, meta=meta)

    content = answer.structured_content or {}
    assert content["action"] == ("notification_created" if owner else "validation_error")
    assert [len(await kept(api, name)) for name in ("ada", "bob", "operator")] == [
        int(name == owner) for name in ("ada", "bob", "operator")
    ]


@pytest.mark.parametrize("role", [Role.BUTLER, Role.CONNECTOR])
async def test_who_is_no_person_may_not_call_it(api: Api, role: Role) -> None:
    async with client(api, "health", role) as connected:
        with pytest.raises(MCPError):
            await connected.call_tool("send_notification", {"message": "Hello"})


async def test_without_a_token_there_is_no_server(api: Api) -> None:
    async with api.http.post("/mcp", json={}) as answer:
        assert answer.status == 401


@pytest.mark.requirement("attention:note-urgency")
@pytest.mark.parametrize(
    ("urgency", "priority"),
    [("passive", "low"), ("normal", "medium"), ("time_sensitive", "high"), ("critical", "high")],
)
async def test_an_urgency_is_the_priority_of_the_note(api: Api, urgency: str, priority: str) -> None:
    async with client(api) as connected:
        answer = await connected.call_tool("send_notification", {"message": "Dentist", "urgency": urgency})

    (one,) = await kept(api)
    assert answer.structured_content is not None and answer.structured_content["success"]
    assert one.priority == priority


WISHES = {
    "urgency": "passive",
    "category": "chores",
    "thread": "laundry",
    "supersedes": "washing machine",
    "needs_ack": True,
    "expires_in_seconds": 3600,
}


@pytest.mark.requirement("attention:note-fields")
async def test_the_six_fields_are_kept_with_the_note_and_shown_to_its_reader(api: Api) -> None:
    async with client(api) as connected:
        plain = await connected.call_tool("send_notification", {"message": "Plain"})
        answer = await connected.call_tool("send_notification", {"message": "It has finished", **WISHES})

    assert answer.structured_content is not None and plain.structured_content is not None
    assert answer.structured_content.keys() == plain.structured_content.keys()
    newest, older = (await api.call("GET", "")).body["items"]
    assert {name: newest[name] for name in WISHES} == WISHES
    assert not WISHES.keys() & older.keys()
    (one, _) = await kept(api)
    assert (one.agent, wish_object(one.wish)) == ("inbox", WISHES)


@pytest.mark.requirement("inbox:response-system-error")
async def test_when_the_database_is_gone_the_answer_says_so_and_no_more(api: Api) -> None:
    database = api.inbox.notes._database
    await database.write(lambda one: one.exec_driver_sql("DROP TABLE notifications"))
    async with client(api) as connected:
        answer = await connected.call_tool("send_notification", {"message": "Hello"})

    assert answer.structured_content == {
        "success": False,
        "action": "error",
        "message": "Failed to create notification: the inbox is not available right now",
    }
