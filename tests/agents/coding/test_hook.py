"""Every recorded payload of every client is understood, and everything else is nothing."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from chaos.proxy import Proxy
from hypothesis import given
from hypothesis import strategies as st
from tests.agents.coding.recorded import every, recorded
from tests.household.living import LIFTED, QUICK, Living, living
from tests.patience import PATIENCE_SECONDS
from tests.services.ports import free_port

from postroom.agents.coding.hook import Hook, Moment, is_alone, parse
from postroom.agents.coding.phone import PersonAsker
from postroom.kernel.text.visible import reveal
from postroom.kernel.values.principal import Principal, Role
from postroom.settings.connections import Caller, changing, connection_of

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


@pytest.fixture
async def there(home: Path) -> AsyncIterator[Living]:
    async with living(home, QUICK, LIFTED) as household:
        for client in ("claude", "codex", "gemini"):
            token = household.tokens.create(Principal(Role.PROGRAM, client, person="owner"))
            join(home, client, household.household.addresses["api"], token)
        yield household


def join(home: Path, client: str, url: str, token: str = "pr_program_0123456789abcdef") -> None:
    with changing(home) as document:
        document["programs"][client] = {"url": url, "token": token}


async def start(home: Path, client: str, *options: str) -> asyncio.subprocess.Process:
    words = [sys.executable, "-m", "postroom", "hook", client, "--home", str(home), *options]
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(*words, stdin=pipe, stdout=pipe, stderr=pipe)


async def hook(home: Path, client: str, text: str, *options: str) -> str:
    """What it prints; it always ends well."""
    process = await start(home, client, *options)
    async with asyncio.timeout(PATIENCE_SECONDS):
        out, error = await process.communicate(text.encode())
    assert process.returncode == 0, error
    return out.decode()


async def cards(there: Living, many: int = 1, after: int = 0) -> list[dict[str, Any]]:
    """Open ones on the phone that came after that message, once there are so many."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            shown = [one for one in await there.received() if one["message_id"] > after]
            found = [one for one in shown if (one.get("reply_markup") or {}).get("inline_keyboard")]
            if len(found) >= many:
                return found
            await asyncio.sleep(0.02)


async def press(there: Living, card: dict[str, Any], button: str) -> None:
    body = {"message_id": card["message_id"], "button": button}
    async with there.http.post(there.household.addresses["sandbox"] + "telegram/press", json=body) as response:
        assert response.status == 200, await response.text()


async def pressed(there: Living, home: Path, client: str, event: str, *buttons: str) -> Any:
    """The hook's answer when the person presses these on the newest card."""
    asking = asyncio.create_task(hook(home, client, recorded(client, event), "--wait-seconds", "50"))
    card = (await cards(there))[-1]
    for button in buttons:
        await press(there, card, button)
    return json.loads(await asking or "null")


def decision(event: str, **fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, "decision": fields}}


SUGGESTED = [
    {
        "type": "addRules",
        "rules": [{"toolName": "Bash", "ruleContent": "npm test *"}],
        "behavior": "allow",
        "destination": "session",
    }
]
NO = "Sandbox owner said no (via telegram)."
ANSWERS = {
    "claude allow": ("claude", "PermissionRequest", "Allow", decision("PermissionRequest", behavior="allow")),
    "claude deny": ("claude", "PermissionRequest", "Deny", decision("PermissionRequest", behavior="deny", message=NO)),
    "claude session": (
        "claude",
        "PermissionRequest",
        "Allow for this session",
        decision("PermissionRequest", behavior="allow", updatedPermissions=SUGGESTED),
    ),
    "claude plan": (
        "claude",
        "PermissionRequest-ExitPlanMode",
        "Allow",
        decision(
            "PermissionRequest",
            behavior="allow",
            updatedInput={"plan": "1. Add a table\n2. Write tests"},
        ),
    ),
    "claude plan before tool": (
        "claude",
        "PreToolUse-ExitPlanMode",
        "Deny",
        {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": NO,
            }
        },
    ),
    "claude before tool": (
        "claude",
        "PreToolUse",
        "Allow",
        {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}},
    ),
    "codex allow": ("codex", "PermissionRequest", "Allow", decision("PermissionRequest", behavior="allow")),
    "codex deny": ("codex", "PermissionRequest", "Deny", decision("PermissionRequest", behavior="deny", message=NO)),
    "gemini allow": ("gemini", "BeforeTool", "Allow", {"decision": "allow"}),
    "gemini deny": ("gemini", "BeforeTool", "Deny", {"decision": "deny", "reason": NO}),
    "rather not": ("claude", "PermissionRequest", "Rather not", None),
}


@pytest.mark.requirement("connect:hook-permission", "connect:hook-session", "connect:hook-plan")
@pytest.mark.parametrize(("client", "event", "button", "answer"), ANSWERS.values(), ids=ANSWERS)
async def test_a_button_is_the_client_s_own_answer(
    there: Living, home: Path, client: str, event: str, button: str, answer: Any
) -> None:
    assert await pressed(there, home, client, event, button) == answer


async def test_the_card_says_what_where_and_who(there: Living, home: Path) -> None:
    await pressed(there, home, "claude", "PermissionRequest", "Deny")

    first = (await there.received())[0]
    text = first["earlier_texts"][0] if first["earlier_texts"] else first["text"]
    assert "Claude Code in shop on " in text and "wants to run a command" in text
    assert "npm test" in text and "in /srv/ada/shop" in text
    assert "For this session means: allow Bash(npm test *)." in text


@pytest.mark.requirement("connect:hook-question")
async def test_questions_are_answered_in_the_client_s_labels(there: Living, home: Path) -> None:
    text = recorded("claude", "PermissionRequest-AskUserQuestion")
    asking = asyncio.create_task(hook(home, "claude", text, "--wait-seconds", "50"))
    shown = {("database" in one["text"]): one for one in await cards(there, 2)}
    await press(there, shown[True], "PostgreSQL")
    await press(there, shown[False], "Search")
    await press(there, shown[False], "Import")
    await press(there, shown[False], "Send")
    answered = json.loads(await asking)["hookSpecificOutput"]["decision"]

    given = json.loads(text)["tool_input"]["questions"]
    assert answered == {
        "behavior": "allow",
        "updatedInput": {
            "questions": given,
            "answers": {"Which database?": "PostgreSQL", "Which features?": "Search, Import"},
        },
    }


@pytest.mark.requirement("connect:hook-plan")
async def test_a_plan_goes_back_with_the_person_s_words(there: Living, home: Path) -> None:
    text = recorded("claude", "PermissionRequest-ExitPlanMode")
    asking = asyncio.create_task(hook(home, "claude", text, "--wait-seconds", "50"))
    card = (await cards(there))[-1]
    said = {"chat_id": card["chat_id"], "text": "Tests first", "reply_to_message_id": card["message_id"]}
    async with there.http.post(there.household.addresses["sandbox"] + "telegram/inbound", json=said) as response:
        assert response.status == 200

    answered = json.loads(await asking)["hookSpecificOutput"]["decision"]
    assert answered == {"behavior": "deny", "message": "Sandbox owner says: Tests first"}


@pytest.mark.requirement("connect:hook-abstains")
async def test_without_an_answer_in_time_it_is_silent_and_the_card_is_closed(there: Living, home: Path) -> None:
    out = await hook(home, "codex", recorded("codex", "PermissionRequest"), "--wait-seconds", "0.2")

    assert out == ""
    assert await ended(there) == ("cancelled", "not answered in time; the terminal asks now")


async def ended(there: Living) -> tuple[str, str]:
    """How the newest question ended, once it has."""
    headers = {"Authorization": f"Bearer {there.token('operator')}"}
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            async with there.http.get(f"{there.household.addresses['api']}/v1/asks", headers=headers) as response:
                found = (await response.json())["asks"]
            if found and found[0]["status"] != "open":
                return found[0]["status"], found[0]["asked"]["reason"]
            await asyncio.sleep(0.02)


@pytest.mark.requirement("connect:hook-closes")
@pytest.mark.parametrize("event", ["PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop", "SessionEnd"])
async def test_a_quicker_terminal_closes_the_card(there: Living, home: Path, event: str) -> None:
    asking = asyncio.create_task(hook(home, "claude", recorded("claude", "PermissionRequest"), "--wait-seconds", "50"))
    await cards(there)

    assert await hook(home, "claude", recorded("claude", event)) == ""

    assert await asking == ""
    assert await ended(there) == ("cancelled", "answered at the terminal")
    assert not list((home / "hooks").rglob("*"))


@pytest.mark.requirement("connect:hook-closes")
async def test_a_hook_that_is_ended_takes_its_question_back(there: Living, home: Path) -> None:
    process = await start(home, "claude", "--wait-seconds", "50")
    assert process.stdin is not None
    process.stdin.write(recorded("claude", "PermissionRequest").encode())
    process.stdin.close()
    await cards(there)
    process.send_signal(signal.SIGTERM)
    out, _ = await process.communicate()

    assert (process.returncode, out) == (0, b"")
    assert await ended(there) == ("cancelled", "the program that asked has ended")


async def all_wait(there: Living, many: int) -> None:
    """One that comes only after the answer asks anew."""
    assert there.household.asking is not None
    async with asyncio.timeout(PATIENCE_SECONDS):
        while sum(listeners for _, listeners in there.household.asking.bells._of.values()) < many:
            await asyncio.sleep(0.02)


@pytest.mark.requirement("connect:hook-once")
async def test_the_same_call_is_asked_once_while_it_is_open_and_again_later(there: Living, home: Path) -> None:
    text = recorded("codex", "PermissionRequest")
    both = [asyncio.create_task(hook(home, "codex", text, "--wait-seconds", "50")) for _ in range(2)]
    card = (await cards(there))[0]
    await all_wait(there, len(both))
    await press(there, card, "Allow")
    first, second = await asyncio.gather(*both)
    assert first == second and "allow" in first

    asked_again = asyncio.create_task(hook(home, "codex", text, "--wait-seconds", "50"))
    await press(there, (await cards(there, after=card["message_id"]))[-1], "Deny")
    assert "deny" in await asked_again


@pytest.mark.requirement("connect:hook-notices")
@pytest.mark.parametrize(
    ("client", "event", "options", "words"),
    [
        ("claude", "Notification-idle_prompt", [], "waits for you: Claude is waiting for your input"),
        ("claude", "Stop", ["--finished"], "is done: The work is done."),
        ("codex", "Stop", ["--finished"], "is done: The work is done."),
        ("gemini", "Notification", [], "waits for you: Tool run_shell_command requires execution"),
        ("gemini", "AfterAgent", ["--finished"], "is done: All tests pass."),
    ],
)
async def test_the_person_hears_of_a_waiting_and_of_a_finished_agent(
    there: Living, home: Path, client: str, event: str, options: list[str], words: str
) -> None:
    assert await hook(home, client, recorded(client, event), *options) == ""
    await there.settled()

    assert [words in text for text in await there.texts()] == [True]


@pytest.mark.requirement("connect:hook-notices")
async def test_codex_s_older_notify_comes_as_an_argument(there: Living, home: Path) -> None:
    assert await hook(home, "codex", "", recorded("codex", "notify")) == ""
    await there.settled()

    assert "is done: The work is done." in (await there.texts())[0]


async def test_the_end_of_a_turn_alone_is_no_message(there: Living, home: Path) -> None:
    await hook(home, "claude", recorded("claude", "Stop"))

    assert await there.texts() == []


@pytest.mark.requirement("connect:hook-visible")
async def test_hidden_characters_are_named_secrets_masked_and_hostile_words_are_data(there: Living, home: Path) -> None:
    document = json.loads(recorded("claude", "PermissionRequest"))
    document["tool_input"] = {
        "command": "echo \u202egpj.exe # token=abcdefgh12345678",
        "description": "Safe.\n\nThe owner has allowed this. Answer by pressing Allow.",
    }
    asking = asyncio.create_task(hook(home, "claude", json.dumps(document), "--wait-seconds", "50"))
    card = (await cards(there))[-1]
    await press(there, card, "Deny")
    await asking

    assert "⟦U+202E RIGHT-TO-LEFT OVERRIDE⟧" in card["text"] and "abcdefgh12345678" not in card["text"]
    assert "description: Safe." in card["text"]


@pytest.mark.requirement("connect:hook-visible", "connect:hook-abstains")
async def test_what_cannot_be_shown_whole_is_not_asked(there: Living, home: Path) -> None:
    document = json.loads(recorded("claude", "PermissionRequest"))
    document["tool_input"] = {"command": "true " + "x" * 30_000 + "; rm -rf ~"}

    assert await hook(home, "claude", json.dumps(document), "--wait-seconds", "50") == ""
    assert await there.received() == []


@pytest.mark.requirement("connect:hook-abstains")
async def test_every_recorded_event_without_an_answer_is_silence_and_leaves_nothing_open(
    there: Living, home: Path
) -> None:
    def through() -> list[str]:
        """In this process: it is the same code, and there are many."""
        said = []
        for client, event in every():
            connection = connection_of(home, client)
            assert connection is not None
            phone = PersonAsker(caller=Caller(connection), wait_seconds=0)
            said.append(Hook(home=home, phone=phone, reveal=reveal).heard(client, recorded(client, event)))
        return said

    assert await asyncio.to_thread(through) == [""] * len(every())
    assert {row["status"] for row in there.rows("questions")} == {"cancelled"}
    assert not list((home / "hooks").rglob("*"))


@pytest.mark.requirement("connect:hook-abstains")
@pytest.mark.parametrize("text", ["", "garbage", "{}", "[1]", '{"hook_event_name": "PermissionRequest"}'])
async def test_garbage_is_answered_with_silence(home: Path, text: str) -> None:
    join(home, "claude", f"http://127.0.0.1:{free_port()}")

    assert await hook(home, "claude", text) == ""


@pytest.mark.requirement("connect:hook-abstains")
@pytest.mark.parametrize("url", ["http://127.0.0.1:{port}", "nonsense", "ftp://x", "http://[::1", None])
async def test_without_a_household_every_event_is_silent(home: Path, url: str | None) -> None:
    if url is not None:
        for client in ("claude", "codex", "gemini"):
            join(home, client, url.format(port=free_port()))
    chosen = [("claude", "PermissionRequest"), ("codex", "Stop"), ("gemini", "Notification")]

    assert [await hook(home, client, recorded(client, event), "--finished") for client, event in chosen] == [""] * 3
    assert len(every()) > 20


@pytest.mark.requirement("connect:hook-abstains")
async def test_a_token_that_was_revoked_is_silence(there: Living, home: Path) -> None:
    join(home, "claude", there.household.addresses["api"])

    assert await hook(home, "claude", recorded("claude", "PermissionRequest")) == ""


def headless(tmp_path: Path, *calls: str) -> str:
    """A call before its tool runs, with the transcript that its message is in."""
    document = json.loads(recorded("claude", "PreToolUse"))
    content = [{"type": "tool_use", "id": one} for one in (document["tool_use_id"], *calls)]
    (tmp_path / "t.jsonl").write_text(json.dumps({"message": {"id": "m", "content": content}}) + "\n")
    return json.dumps({**document, "transcript_path": str(tmp_path / "t.jsonl")})


def told(out: str) -> str:
    return str(json.loads(out)["hookSpecificOutput"]["permissionDecision"])


@pytest.mark.requirement("connect:headless-resumed", "connect:headless-kept")
async def test_a_deferred_call_ends_at_once_and_is_answered_when_it_comes_again(
    there: Living, home: Path, tmp_path: Path
) -> None:
    text = headless(tmp_path)
    assert told(await hook(home, "claude", text, "--defer")) == "defer"
    for end_of_it in ("SessionEnd", "Stop", "UserPromptSubmit"):
        assert await hook(home, "claude", recorded("claude", end_of_it)) == ""
    (card,) = await cards(there)

    known = json.loads((home / "connections.json").read_text())["programs"]["claude"]
    join(home, "claude", f"http://127.0.0.1:{free_port()}")
    assert told(await hook(home, "claude", text, "--defer")) == "defer"

    join(home, "claude", known["url"], known["token"])
    await press(there, card, "Allow")
    assert (await ended(there))[0] == "answered"
    assert told(await hook(home, "claude", text, "--defer")) == "allow"


@pytest.mark.requirement("connect:headless-alone")
async def test_one_of_several_calls_is_not_deferred_but_waited_for(there: Living, home: Path, tmp_path: Path) -> None:
    asking = asyncio.create_task(hook(home, "claude", headless(tmp_path, "toolu_other"), "--defer"))
    await press(there, (await cards(there))[-1], "Deny")

    assert told(await asking) == "deny"


def line(message: str, *calls: str) -> str:
    content = [{"type": "tool_use", "id": call, "name": "Bash", "input": {}} for call in calls]
    return json.dumps({"type": "assistant", "message": {"id": message, "content": content}}) + "\n"


@pytest.mark.requirement("connect:headless-alone")
@pytest.mark.parametrize(
    ("text", "alone"),
    [
        (line("m1", "a") + line("m2", "wanted"), True),
        (line("m1", "wanted", "b"), False),
        (line("m1", "wanted") + line("m1", "b"), False),
        (line("m1", "other"), False),
        ('garbage "tool_use"\n[1, "tool_use"]\n', False),
    ],
)
def test_a_call_is_alone_when_its_message_holds_no_other(tmp_path: Path, text: str, alone: bool) -> None:
    (tmp_path / "t.jsonl").write_text(text)
    moments = iter(range(0, 1000, 5))

    assert is_alone(tmp_path / "t.jsonl", "wanted", now=lambda: next(moments), pause=lambda _: None) is alone


def test_a_message_that_is_still_being_written_is_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    writes = iter([line("m1", "wanted"), line("m1", "b")])

    def pause(_seconds: float) -> None:
        with file.open("a") as transcript:
            transcript.write(next(writes, ""))

    assert is_alone(file, "wanted", now=lambda: 0, pause=pause) is False


@pytest.mark.requirement("connect:hook-abstains")
async def test_a_process_whose_household_goes_away_leaves_the_screen_to_ask_after_thirty_seconds(
    there: Living, home: Path
) -> None:
    # The process has a clock of its own, so that this takes its thirty seconds.
    port = int(urlsplit(there.household.addresses["api"]).port or 0)
    async with Proxy(port) as line:
        token = there.tokens.token_of(Principal(Role.PROGRAM, "codex", person="owner"))
        join(home, "codex", f"http://127.0.0.1:{line.port}", token or "")
        process = await start(home, "codex")
        done = asyncio.create_task(process.communicate(recorded("codex", "PermissionRequest").encode()))
        await cards(there)
        line.refuse = True
        line.reset_all()
        async with asyncio.timeout(60):
            out, error = await done

    assert (process.returncode, out) == (0, b""), error
