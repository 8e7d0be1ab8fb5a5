"""The ports of a household: scripts, peers, and the doors between parts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from postroom.household import peers
from postroom.household.peers import Peers, WayTo
from postroom.household.ports import visitors
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.guard.tools import GuardedServer, ToolPolicy, any_butler
from postroom.kernel.running.clock import Overdue, SystemClock
from postroom.kernel.values.errors import (
    DeliveryTimeout,
    InternalError,
    StoreUnavailable,
    TargetUnavailable,
    ValidationError,
)
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.message.outgoing import AnswerStatus, Outcome, Outgoing
from postroom.settings.roster import Endpoints
from tests.household.calling import get, post
from tests.household.living import QUICK, living, settings_for
from tests.patience import PATIENCE_SECONDS

# `POST /v1/notify` and the plain doors beside it, on a living household.
ON = {"approvals": {"enabled": True, "ask_owner": False}}
BOB = {"contacts": [{"name": "Bob", "telegram_chat_id": "2001"}, {"name": "Eve", "email": "eve@example.org"}]}
HEALTH, CI = Principal(Role.BUTLER, "health"), Principal(Role.PROGRAM, "ci", person="owner")


async def test_one_post_delivers_as_the_tokens_butler_and_answers_as_the_tool_does(home: Path) -> None:
    async with living(home, QUICK) as household:
        tool = await household.notify()
        status, answer, _ = await post(household, "/v1/notify", {"message": "From a script"})
        texts, rows = await household.texts(), household.rows("delivery_requests")
        [hop] = (await household.traced(answer["request_context"]["request_id"]))["hops"]

    assert (status, answer["status"]) == (200, "ok")
    assert answer.keys() == tool.keys() and answer["delivery"].keys() == tool["delivery"].keys()
    assert texts == ["Hello", "From a script"]
    assert [row["origin_butler"] for row in rows] == ["health", "health"]
    assert (hop["source_butler"], hop["part"], hop["status"]) == ("health", "switchboard", "ok")


@pytest.mark.requirement("house:notify-over-http")
async def test_a_key_in_the_header_sends_once_and_another_message_under_it_is_a_conflict(home: Path) -> None:
    async with living(home, QUICK) as household:
        key = {"Idempotency-Key": "backup-1"}
        first = await post(household, "/v1/notify", {"message": "Done"}, **key)
        again = await post(household, "/v1/notify", {"message": "Done"}, **key)
        body = await post(household, "/v1/notify", {"message": "Done", "idempotency_key": "backup-1"})
        both = await post(household, "/v1/notify", {"message": "Done", "idempotency_key": "backup-1"}, **key)
        other = await post(household, "/v1/notify", {"message": "Broken"}, **key)
        torn = await post(household, "/v1/notify", {"message": "Done", "idempotency_key": "b"}, **key)
        texts = await household.texts()

    ids = {one[1]["delivery"]["delivery_id"] for one in (first, again, body, both)}
    assert [one[0] for one in (first, again, body, both)] == [200] * 4 and len(ids) == 1
    assert (other[0], other[1]["error_class"]) == (409, "validation_error")
    assert torn[0] == 400 and "Idempotency-Key" in torn[1]["error"]
    assert texts == ["Done"]


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        pytest.param(b"{", "not JSON", id="no JSON"),
        pytest.param(b"[1]", "must be an object", id="no object"),
        pytest.param(b"{}", "Missing required 'message' parameter", id="no message"),
        pytest.param(b'{"message": "x", "chanel": "email"}', "did you mean 'channel'?", id="unknown field"),
        pytest.param(b'{"message": "x", "origin_butler": "general"}', "unknown field", id="a claimed origin"),
        pytest.param(b'{"message": "x", "channel": "pigeon"}', "Unsupported channel 'pigeon'", id="channel"),
        pytest.param(b'{"message": "x", "wait_seconds": -1}', "wait_seconds", id="wait"),
        pytest.param(b'{"message": "x", "to": 7}', "recipient", id="to"),
        pytest.param(b'{"message": "x", "to": "Stranger"}', "known contact", id="nobody"),
    ],
)
async def test_a_wrong_request_is_400_in_the_tools_own_words(home: Path, raw: bytes, words: str) -> None:
    async with living(home, QUICK) as household:
        status, answer, _ = await post(household, "/v1/notify", None, raw=raw)
        received = await household.texts()

    told = answer["error"] if isinstance(answer["error"], str) else answer["error"]["message"]
    assert (status, answer["status"], answer["error_class"]) == (400, "error", "validation_error")
    assert words in told
    assert received == []


async def test_no_token_is_401_and_a_token_that_sends_nothing_is_403(home: Path) -> None:
    async with living(home, QUICK) as household:
        ada = household.tokens.create(Principal(Role.USER, "ada"))
        stranger = await post(household, "/v1/notify", {"message": "x"}, token="nonsense")
        person = await post(household, "/v1/notify", {"message": "x"}, token=ada)

    assert stranger[0] == 401
    assert (person[0], person[1]["status"]) == (403, "error")


async def test_too_much_is_429_with_the_time_to_wait_and_a_channel_that_fails_is_503(home: Path) -> None:
    async with living(home, QUICK, {"limits": {"global_per_minute": 1}}) as household:
        await post(household, "/v1/notify", {"message": "One"})
        status, answer, headers = await post(household, "/v1/notify", {"message": "Two"})
    async with living(home, QUICK, {"retry": {"max_attempts": 1}}) as household:
        await household.fault(channel="telegram", times=1, status=503)
        away = await post(household, "/v1/notify", {"message": "Three"})

    assert (status, answer["error_class"]) == (429, "overload_rejected")
    assert int(headers["Retry-After"]) >= answer["error"]["retry_after_seconds"]
    assert (away[0], away[1]["error_class"]) == (503, "target_unavailable")


async def test_strangers_wait_for_a_person_as_they_do_for_a_butler(home: Path) -> None:
    async with living(home, QUICK, ON) as household:
        status, answer, _ = await post(household, "/v1/notify", {"message": "Hello", "to": "4242"})
        received = await household.texts()

    assert (status, answer["status"]) == (202, "pending_approval")
    assert answer["action_id"] == answer["delivery"]["delivery_id"] and received == []


async def test_without_a_channel_the_first_that_reaches_the_recipient_is_taken(home: Path) -> None:
    async with living(home, QUICK, BOB) as household:
        asked = [{}, {"to": "owner"}, {"to": "Bob"}, {"to": "Eve"}, {"to": "zoe@example.org"}]
        answers = [(await post(household, "/v1/notify", {"message": "Hi", **one}))[1] for one in asked]
        chats = [one["chat_id"] for one in await household.received()]

    assert [one["delivery"]["channel"] for one in answers] == ["telegram", "telegram", "telegram", "email", "email"]
    assert chats == ["1000", "1000", "2001"]


async def test_a_program_sends_in_its_own_name_and_asks_after_its_own_messages_alone(home: Path) -> None:
    async with living(home, QUICK) as household:
        theirs = (await household.notify())["delivery"]["delivery_id"]
        _, sent = await household.api("POST", "/v1/notify", {"message": "The build is green"}, who=CI)
        own = sent["delivery"]["delivery_id"]
        traced = (await household.api("GET", f"/v1/deliveries/{own}/trace", who=CI))[1]["trace"]
        paths = (f"deliveries/{own}/why", f"deliveries/{theirs}/why", f"deliveries/{theirs}/trace", "approvals")
        statuses = [(await household.api("GET", f"/v1/{path}", who=CI))[0] for path in paths]
        texts = await household.texts()

    assert sent["status"] == "ok" and texts == ["Hello", "The build is green"]
    assert [one["origin_butler"] for one in traced["deliveries"]] == ["program:ci"]
    assert [one["source_butler"] for one in traced["hops"]] == ["program:ci"]
    assert statuses == [200, 404, 404, 403]


async def test_a_sender_reads_its_own_deliveries_and_the_operator_everybodys(home: Path) -> None:
    async with living(home, QUICK) as household:
        own = (await household.notify())["delivery"]["delivery_id"]
        ada = household.tokens.create(Principal(Role.USER, "ada"))
        health, general, operator = (household.token(who) for who in ("health", "general", "operator"))
        why = await get(household, f"/v1/deliveries/{own}/why", token=health)
        begun = await get(household, f"/v1/deliveries/{own[:8]}/why", token=operator)
        trace = await get(household, f"/v1/deliveries/{own}/trace", token=operator)
        theirs = await get(household, f"/v1/deliveries/{own}/why", token=general)
        nothing = await get(household, f"/v1/deliveries/{own}/why", token=ada)

    assert why[0] == begun[0] == trace[0] == 200
    assert why[1]["reasons"][0]["id"] == own and why[1]["reasons"][0]["why"].startswith("It was delivered")
    assert trace[1]["trace"]["deliveries"][0]["id"] == own
    assert (theirs[0], nothing[0]) == (404, 403)
    assert own not in str(theirs[1]).replace(f"'{own}'", "").replace(f'"{own}"', "")


async def test_a_person_who_may_decide_lists_shows_approves_and_rejects_over_http(home: Path) -> None:
    async with living(home, QUICK, ON) as household:
        first = (await household.notify(recipient="4242"))["action_id"]
        second = (await household.notify(recipient="4242", message="Again"))["action_id"]
        operator = household.token("operator")
        listed = await get(household, "/v1/approvals", token=operator)
        shown = await get(household, f"/v1/approvals/{first}", token=operator)
        seen = {"content_hash": shown[1]["action"]["content_hash"]}
        butler = await post(household, f"/v1/approvals/{first}/approve", seen)
        approved = await post(household, f"/v1/approvals/{first}/approve", seen, token=operator)
        twice = await post(household, f"/v1/approvals/{first}/approve", seen, token=operator)
        rejected = await post(household, f"/v1/approvals/{second}/reject", {"reason": "no"}, token=operator)
        unknown = await get(household, "/v1/approvals/nothing", token=operator)
        await household.settled()
        texts = await household.texts()

    assert {one["action_id"] for one in listed[1]["actions"]} == {first, second}
    assert (butler[0], approved[0], twice[0], rejected[0], unknown[0]) == (403, 200, 409, 200, 404)
    assert texts == ["Hello"]


async def test_while_approvals_are_off_their_routes_say_so(home: Path) -> None:
    async with living(home, QUICK) as household:
        status, answer = await get(household, "/v1/approvals", token=household.token("operator"))

    assert status == 404 and "approvals are off" in answer["error"]["message"]


# A part of the same process is asked under the same token and rule as over a wire, without one.
ADA = Principal(Role.PERSON, "ada")
MESSAGE = Outgoing(origin_butler="health", channel="telegram", message="Hello")
TAKEN = Outcome(status=AnswerStatus.OK, request_id="r")


@dataclass
class Inside:
    """A switchboard in this process, and the others' ways to it."""

    peers: Peers
    tokens: TokenFile
    seen: list[Principal]

    def way(self, caller: Principal = HEALTH) -> WayTo:
        return self.peers.to("switchboard", caller)


async def fine() -> Outcome:
    return TAKEN


async def silent() -> Outcome:
    await asyncio.Event().wait()
    return TAKEN


async def away() -> Outcome:
    raise StoreUnavailable("away")


async def broken() -> Outcome:
    raise RuntimeError("Hello")


@asynccontextmanager
async def inside(home: Path, work: Callable[[], Awaitable[Outcome]] = fine) -> AsyncIterator[Inside]:
    settings = settings_for(home)
    tokens, seen = TokenFile(settings.tokens_file), list[Principal]()
    tokens.ensure([OPERATOR, HEALTH])
    tokens.create(ADA)
    rules = dict.fromkeys(("deliver", "echo", "fail", "hang"), any_butler)
    server = GuardedServer("switchboard", ToolPolicy(rules, tokens))

    async def echo(word: str) -> dict[str, Any]:
        return {"word": word}

    async def fail() -> dict[str, Any]:
        raise RuntimeError("secret words")

    async def hang() -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    for tool in (echo, fail, hang):
        server.add_tool(tool)

    async def takes(caller: Principal, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome:
        seen.append(caller)
        return await work()

    async with AsyncExitStack() as stack:
        peers = Peers(tokens, Endpoints(settings, ()), SystemClock(), stack)
        peers.overdue = Overdue(look_every_seconds=0.01)
        peers.add("switchboard", server, takes)
        peers.open()
        yield Inside(peers, tokens, seen)


async def test_the_part_learns_who_is_calling_from_the_token(home: Path) -> None:
    async with inside(home) as here:
        outcome = await here.way().submit(MESSAGE, request_id="r", wait_seconds=0)

    assert (outcome, here.seen) == (TAKEN, [HEALTH])


@pytest.mark.requirement("house:inside-as-over-a-wire")
@pytest.mark.parametrize("caller", [ADA, Principal(Role.BUTLER, "without a token")], ids=str)
async def test_without_the_right_the_part_is_not_asked(home: Path, caller: Principal) -> None:
    async with inside(home) as here:
        outcome = await here.way(caller).submit(MESSAGE, request_id="r", wait_seconds=0)

    assert here.seen == []
    assert outcome.error is not None
    assert (outcome.error.error_class, outcome.retryable) == ("validation_error", False)


@pytest.mark.parametrize(
    ("work", "error_class", "retryable"),
    [
        pytest.param(silent, "timeout", True, id="silent"),
        pytest.param(away, "target_unavailable", True, id="away"),
        pytest.param(broken, "internal_error", False, id="broken"),
    ],
)
async def test_what_goes_wrong_is_an_outcome_that_repeats_no_words_of_the_message(
    home: Path,
    work: Callable[[], Awaitable[Outcome]],
    error_class: str,
    retryable: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(peers._MARGIN_SECONDS, "switchboard", 0.02)
    async with inside(home, work) as here, asyncio.timeout(PATIENCE_SECONDS):
        outcome = await here.way().submit(MESSAGE, request_id="r", wait_seconds=0)

    assert outcome.error is not None
    assert (outcome.error.error_class, outcome.retryable) == (error_class, retryable)
    assert "Hello" not in outcome.error.message


async def test_a_tool_answers_with_its_structured_content(home: Path) -> None:
    async with inside(home) as here:
        way = here.way(OPERATOR)
        answers = await asyncio.gather(*(way.call("echo", {"word": str(n)}, 5) for n in range(50)))

    assert answers == [{"word": str(n)} for n in range(50)]


async def test_every_failure_has_its_own_name(home: Path) -> None:
    async with inside(home) as here:
        way = here.way(OPERATOR)
        with pytest.raises(InternalError) as caught:
            await way.call("fail", {}, 5)
        assert "secret" not in caught.value.message
        with pytest.raises(InternalError):
            await way.call("echo", {"word": 5, "wrong": 1}, 5)
        with pytest.raises(ValidationError, match="may not call unknown"):
            await way.call("unknown", {}, 5)
        with pytest.raises(DeliveryTimeout):
            await way.call("hang", {}, 0.05)
        with pytest.raises(TargetUnavailable, match="messenger is not running"):
            await here.peers.to("messenger").call("echo", {}, 5)
        assert await way.call("echo", {"word": "still there"}, 5) == {"word": "still there"}
    with pytest.raises(TargetUnavailable, match="switchboard is not running"):
        await way.call("echo", {"word": "x"}, 5)
    gone = await way.submit(MESSAGE, request_id="r", wait_seconds=0)
    assert gone.error is not None and gone.error.message == "the switchboard cannot be reached; nothing was sent"


async def test_inside_the_process_a_token_is_needed_too(home: Path) -> None:
    async with inside(home) as here:
        with pytest.raises(ValidationError, match="nobody may not call echo"):
            await here.way(Principal(Role.BUTLER, "without a token")).call("echo", {"word": "x"}, 5)


async def test_a_call_may_be_made_in_the_name_of_somebody_whom_a_door_let_in(home: Path) -> None:
    async with inside(home) as here:
        with pytest.raises(ValidationError, match="person:ada may not call echo"):
            await here.way(OPERATOR).call_as(ADA, "echo", {"word": "mine"}, 5)
        assert await here.way().call_as(OPERATOR, "echo", {"word": "theirs"}, 5) == {"word": "theirs"}


@pytest.mark.parametrize(
    ("part", "welcome"),
    [
        ("health", {"operator", "butler:health", "butler:switchboard"}),
        ("general", {"operator", "butler:switchboard"}),
        ("switchboard", {"operator", "butler:health", "butler:messenger", "butler:switchboard"}),
        ("messenger", {"operator", "butler:messenger", "butler:switchboard", "user:ann", "person:ann"}),
    ],
)
def test_every_port_has_its_own_visitors(part: str, welcome: set[str]) -> None:
    everybody = [
        OPERATOR,
        HEALTH,
        Principal(Role.BUTLER, "messenger"),
        Principal(Role.BUTLER, "switchboard"),
        Principal(Role.USER, "ann"),
        Principal(Role.USER, "health"),
        Principal(Role.PERSON, "ann"),
        Principal(Role.PROGRAM, "health", person="ann"),
        Principal(Role.CONNECTOR, "chatgpt"),
    ]
    if part == "messenger":
        welcome = welcome | {"user:health"}

    assert {str(one) for one in everybody if visitors(part)(one)} == welcome
