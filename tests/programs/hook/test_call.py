"""Every recorded payload of every client is understood, and everything else is nothing."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.programs.hook.recorded import every, recorded

from postroom.programs.hook.call import Moment, parse

MOMENTS = {
    "PermissionRequest": Moment.PERMISSION,
    "PreToolUse": Moment.BEFORE_TOOL,
    "BeforeTool": Moment.BEFORE_TOOL,
    "Notification": Moment.NOTICE,
    "UserPromptSubmit": Moment.PROMPT,
    "BeforeAgent": Moment.PROMPT,
    "Stop": Moment.TURN_OVER,
    "AfterAgent": Moment.TURN_OVER,
    "notify": Moment.TURN_OVER,
    "SessionEnd": Moment.SESSION_OVER,
}


# Nothing of these is for the person: the hook says nothing.
NOT_OURS = {
    *("Elicitation", "ElicitationResult", "PostCompact", "PostToolBatch", "PreCompact", "PreCompress", "SessionStart"),
    *("StopFailure", "SubagentStart", "SubagentStop", "BeforeModel", "AfterModel", "BeforeToolSelection"),
}


@pytest.mark.parametrize(("client", "event"), every())
def test_every_recorded_payload_is_understood(client: str, event: str) -> None:
    call = parse(client, recorded(client, event))

    if event in NOT_OURS:
        assert call is None
        return
    assert call is not None and call.cwd == "/srv/ada/shop" and call.session
    assert call.moment is MOMENTS.get(event.partition("-")[0], Moment.AFTER_TOOL)


def test_before_and_after_a_tool_is_the_same_request() -> None:
    for client, before, after in (
        ("claude", "PermissionRequest", "PostToolUse"),
        ("claude", "PermissionRequest", "PostToolUseFailure"),
        ("codex", "PermissionRequest", "PostToolUse"),
        ("gemini", "BeforeTool", "AfterTool"),
    ):
        one, other = parse(client, recorded(client, before)), parse(client, recorded(client, after))
        assert one is not None and other is not None and one.request_digest == other.request_digest


def test_answers_that_the_client_adds_do_not_make_it_another_request() -> None:
    text = recorded("claude", "PermissionRequest-AskUserQuestion")
    document = json.loads(text)
    document["tool_input"]["answers"] = {"Which database?": "SQLite"}
    document["hook_event_name"] = "PostToolUse"
    one, other = parse("claude", text), parse("claude", json.dumps(document))

    assert one is not None and other is not None and one.request_digest == other.request_digest


@pytest.mark.requirement("connect:hook-abstains")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "[]",
        "null",
        "{}",
        '{"hook_event_name": "Stop"}',
        '{"hook_event_name": [], "session_id": "s"}',
        "[" * 9999,
    ],
)
def test_garbage_is_nothing(text: str) -> None:
    assert parse("claude", text) is None


@pytest.mark.parametrize(
    ("kinds", "goes_on"), [([], False), (["shell"], False), (["monitor", "subagent"], True), (["workflow"], True)]
)
def test_a_turn_that_is_over_while_helpers_work_is_not_the_last(kinds: list[str], goes_on: bool) -> None:
    document = json.loads(recorded("claude", "Stop")) | {"background_tasks": [{"type": kind} for kind in kinds]}
    call = parse("claude", json.dumps(document))

    assert call is not None and (call.background, call.will_go_on) == (tuple(kinds), goes_on)


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_no_value_in_any_field_breaks_it(value: object) -> None:
    for client, event in every():
        document = json.loads(recorded(client, event))
        for name in document:
            parse(client, json.dumps({**document, name: value}))
