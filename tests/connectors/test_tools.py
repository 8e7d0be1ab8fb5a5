"""The tools an assistant sees, on a real MCP server over the household's own work."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from tests.clock import FakeClock
from tests.intents.office import Butlers, Post
from tests.support.worlds import world_of
from tests.telephone import settings_for
from tests.timekeeping import Rounds, rounds

from postroom.connectors.tools import ACTS
from postroom.household.conversations import build_correspondence
from postroom.household.people import owner_seed
from postroom.household.questions import AskingParts
from postroom.household.store import open_store
from postroom.intents.store import MOMENTS
from postroom.kernel.acts.tools import add_tools
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.guard.tools import GuardedServer, ToolPolicy
from postroom.kernel.values.principal import HOUSEHOLD_OWNER, OPERATOR, Principal, Role
from postroom.people.person_rules import new_contact
from postroom.settings.roster import parse_butler

CHATGPT = Principal(Role.CONNECTOR, "chatgpt")
ANN = Principal(Role.USER, "ann")
TOOLS = {"resolve_contact", "send_message", "confirm_recipient", "list_inbox", "reply", "get_intent_status"}


HEALTH = {"butler": {"name": "health", "port": 0, "db": {"name": "butlers", "schema": "health"}}}


@dataclass(frozen=True, slots=True)
class Assistants:
    server: GuardedServer
    tokens: TokenFile
    times: Rounds
    post: Post

    async def call(self, caller: Principal, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = await self.server.from_inside(str(self.tokens.token_of(caller)), tool, arguments)
        assert answer is not None
        return answer


@pytest.fixture
async def assistants(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Assistants]:
    settings = settings_for(tmp_path)
    tokens, post = TokenFile(settings.tokens_file), Post()
    tokens.ensure([OPERATOR, CHATGPT, ANN, Principal(Role.BUTLER, "health")])
    async with open_store(settings) as store:
        world = world_of(settings, store, clock=clock, roster=[parse_butler(HEALTH, {}, file="health/butler.toml")])
        built = build_correspondence(world, post, Butlers(), AskingParts(world))
        await store.people.keep_in_step(HOUSEHOLD_OWNER, [owner_seed(settings)], now_us=clock.now_us())
        for name, chat in (("Maria Rossi", "2002"), ("Bob", "2001")):
            new = new_contact(name=name, telegram_chat_id=chat)
            await store.people.create(HOUSEHOLD_OWNER, new, source="api", now_us=clock.now_us())
        server = GuardedServer("assistants", ToolPolicy({}, tokens))
        add_tools(server, ACTS, built.at_home)
        times = rounds(store.database, clock, MOMENTS, built.steps.take, store.intents.shown_on)
        yield Assistants(server, tokens, times, post)


async def test_every_tool_says_what_it_answers_and_whether_it_acts(assistants: Assistants) -> None:
    tools = {tool.name: tool for tool in await assistants.server.list_tools()}

    assert set(tools) == TOOLS
    for tool in tools.values():
        assert tool.description and tool.output_schema and tool.annotations
        assert tool.output_schema["properties"]
    reading = {name for name, tool in tools.items() if tool.annotations and tool.annotations.read_only_hint}
    assert reading == {"resolve_contact", "list_inbox", "get_intent_status"}


async def test_a_certain_name_is_sent_and_followed(assistants: Assistants) -> None:
    sent = await assistants.call(CHATGPT, "send_message", message="The train is late", recipient_name="bob")
    await assistants.times.look()

    status = await assistants.call(CHATGPT, "get_intent_status", intent_id=sent["delivery"]["intent_id"])
    inbox = await assistants.call(CHATGPT, "list_inbox")

    assert (sent["ok"], sent["decision_mode"], sent["delivery"]["status"]) == (True, "sent", "accepted")
    assert (status["status"], status["lifecycle_status"]) == ("running", "DELIVERED")
    assert assistants.post.said == [("2001", "The train is late")]
    assert [(one["direction"], one["message"]) for one in inbox["threads"]] == [("sent", "The train is late")]


async def test_a_likely_name_is_only_sent_after_the_person_chose(assistants: Assistants) -> None:
    asked = {"message": "Hi", "recipient_name": "Marta Rossi"}
    blind = await assistants.call(CHATGPT, "send_message", **asked, confirm_send=True)
    found = await assistants.call(CHATGPT, "resolve_contact", name="Marta Rossi")
    token = found["resolution"]["candidates"][0]["resolution_token"]

    confirmed = await assistants.call(CHATGPT, "confirm_recipient", name="Marta Rossi", resolution_token=token)
    sent = await assistants.call(CHATGPT, "send_message", **asked)

    assert (blind["decision_mode"], blind["delivery"]) == ("needs_confirmation", None)
    assert (confirmed["match_type"], sent["decision_mode"]) == ("memory", "sent")


async def test_what_was_asked_of_a_person_is_answered(assistants: Assistants) -> None:
    sent = await assistants.call(CHATGPT, "send_message", message="Tea?", recipient_address="agent://user/ann")
    thread_id = sent["delivery"]["intent_id"]

    inbox = await assistants.call(ANN, "list_inbox", status="pending")
    answered = await assistants.call(ANN, "reply", thread_id=thread_id, message="Please")
    status = await assistants.call(CHATGPT, "get_intent_status", intent_id=thread_id)

    assert [one["thread_id"] for one in inbox["threads"]] == [thread_id]
    assert (answered["status"], status["result"]["answer"]) == ("done", "Please")


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("get_intent_status", {"intent_id": "nonsense"}, "intent_not_found"),
        ("reply", {"thread_id": "01890a5d-ac96-774b-bcce-b302099a8057", "message": "x"}, "intent_not_found"),
        ("send_message", {"message": "x"}, "recipient_required"),
        ("send_message", {"message": "x", "recipient_address": "nowhere"}, "invalid_agent_address"),
        ("resolve_contact", {"name": "Bob", "on_behalf_of": "agent://household/eve"}, "policy_denied"),
        ("confirm_recipient", {"name": "Bob", "resolution_token": "made-up-token"}, "resolution_expired"),
    ],
)
async def test_a_refusal_is_an_answer(assistants: Assistants, tool: str, arguments: dict[str, Any], code: str) -> None:
    answer = await assistants.call(CHATGPT, tool, **arguments)

    assert (answer["ok"], answer["error"]["code"]) == (False, code)


async def test_a_butler_is_no_assistant(assistants: Assistants) -> None:
    with pytest.raises(MCPError):
        await assistants.call(Principal(Role.BUTLER, "health"), "list_inbox")


async def test_text_that_no_store_can_keep_is_refused_by_every_tool(assistants: Assistants) -> None:
    text = "a\0b"
    asked = await assistants.call(ANN, "send_message", message="Tea?", recipient_address=HOUSEHOLD_OWNER)
    thread = asked["delivery"]["intent_id"]
    calls: list[tuple[Principal, str, dict[str, Any]]] = [
        (CHATGPT, "resolve_contact", {"name": text}),
        (CHATGPT, "confirm_recipient", {"name": text, "resolution_token": "12345678"}),
        (CHATGPT, "confirm_recipient", {"name": "Bob", "resolution_token": f"1234567{text}"}),
        (CHATGPT, "send_message", {"message": text, "recipient_name": "Bob"}),
        (CHATGPT, "send_message", {"message": "Hi", "recipient_name": text}),
        (OPERATOR, "reply", {"thread_id": thread, "message": text}),
    ]

    answers = [await assistants.call(who, tool, **arguments) for who, tool, arguments in calls]

    assert [(one["ok"], one["error"]["code"]) for one in answers] == [(False, "schema_invalid")] * len(calls)
    assert text not in str(answers)


async def test_a_refused_agent_is_told_by_the_name_the_tool_has_for_it(assistants: Assistants) -> None:
    answer = await assistants.call(CHATGPT, "list_inbox", on_behalf_of="agent://household/eve")

    assert [field["field"] for field in answer["error"]["fields"]] == ["on_behalf_of"]


async def test_a_cursor_that_is_none_is_told_as_such(assistants: Assistants) -> None:
    answer = await assistants.call(CHATGPT, "list_inbox", cursor="page-2")

    assert (answer["error"]["code"], [one["field"] for one in answer["error"]["fields"]]) == (
        "schema_invalid",
        ["cursor"],
    )


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"deadline_at": "soon"}, "deadline_at"),
        ({"recipient_address": "bob"}, "recipient_address"),
        ({"macro_id": "macro.unheard.of"}, "macro_id"),
        ({"more_context": "\x00"}, "more_context"),
    ],
    ids=lambda one: next(iter(one)) if isinstance(one, dict) else one,
)
async def test_a_wrong_argument_is_called_what_the_tool_calls_it(
    assistants: Assistants, wrong: dict[str, Any], field: str
) -> None:
    asked = {"message": "Hi", "recipient_address": "agent://household/owner"} | wrong

    answer = await assistants.call(CHATGPT, "send_message", **asked)

    assert [one["field"] for one in answer["error"]["fields"]] == [field]
    assert answer["error"]["message"].startswith(f"{field}: ")
