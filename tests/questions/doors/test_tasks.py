"""A question as a task: over the wire, as the extension says it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.questions.askers import CHATGPT, GENERAL, HEALTH, SHIP, Askers
from tests.questions.wire import KNOWS_TASKS, SHOWS_FORMS, call

from postroom.kernel.values.principal import OPERATOR, Principal

pytestmark = pytest.mark.asyncio(loop_scope="module")
BOTH = {**KNOWS_TASKS, **SHOWS_FORMS}
PLACES = [(HEALTH, "health"), (CHATGPT, "api")]


async def _task(house: Askers, who: Principal = HEALTH, part: str = "health", **more: Any) -> dict[str, Any]:
    asked = {"name": "ask", "arguments": {**SHIP, "wait_seconds": 60, **more}}
    result: dict[str, Any] = (await call(house, who, part, "tools/call", asked))["result"]
    return result


async def _get(
    house: Askers, task_id: str, who: Principal = HEALTH, part: str = "health", able: Any = KNOWS_TASKS
) -> dict[str, Any]:
    result: dict[str, Any] = (await call(house, who, part, "tasks/get", {"taskId": task_id}, able))["result"]
    return result


@pytest.mark.requirement("ask:tasks")
@pytest.mark.parametrize(("who", "part"), PLACES)
async def test_ask_hands_out_a_task_at_once_and_its_end_is_the_ordinary_result(
    house: Askers, who: Principal, part: str
) -> None:
    task = await _task(house, who, part, question=f"As a task at {part}?")
    working = await _get(house, task["taskId"], who, part)
    await house.answer(task["taskId"], {"value": "yes"})
    done = await _get(house, task["taskId"], who, part)

    assert (task["resultType"], task["status"], "result" in task) == ("task", "working", False)
    assert isinstance(task["ttlMs"], int) and isinstance(task["pollIntervalMs"], int)
    assert (working["resultType"], working["status"], working["createdAt"]) == (
        "complete",
        "working",
        task["createdAt"],
    )
    assert (done["status"], done["result"]["structuredContent"]["answer"]["value"]) == ("completed", "yes")
    assert done["result"]["content"] and not done["result"].get("isError") and done["lastUpdatedAt"] > task["createdAt"]


@pytest.mark.requirement("ask:tasks")
async def test_a_request_that_does_not_say_it_knows_tasks_gets_none_and_sees_none(house: Askers) -> None:
    asked = {"name": "ask", "arguments": {**SHIP, "question": "Without tasks?"}}
    plain = (await call(house, HEALTH, "health", "tools/call", asked, {}))["result"]
    refused = [
        (await call(house, HEALTH, "health", method, {"taskId": "x", "inputResponses": {}}, {}))["error"]
        for method in ("tasks/get", "tasks/update", "tasks/cancel")
    ]

    assert (plain["resultType"], plain["structuredContent"]["status"]) == ("complete", "open")
    assert [one["code"] for one in refused] == [-32021] * 3
    assert refused[0]["data"]["requiredCapabilities"]["extensions"] == KNOWS_TASKS["extensions"]


async def test_the_server_says_that_it_knows_tasks(house: Askers) -> None:
    said = (await call(house, HEALTH, "health", "server/discover", {}))["result"]["capabilities"]

    assert said["extensions"] == KNOWS_TASKS["extensions"] and "tasks" not in said


@pytest.mark.requirement("ask:tasks-own")
async def test_the_tasks_of_others_are_as_unknown_as_those_that_never_were(house: Askers) -> None:
    task = await _task(house, question="Whose task?")
    strangers = [(GENERAL, "general"), (CHATGPT, "api"), (OPERATOR, "health"), (OPERATOR, "api")]
    for who, part in strangers:
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            params = {"taskId": task["taskId"], "inputResponses": {}}
            assert (await call(house, who, part, method, params))["error"]["code"] == -32602, (who, method)
    unknown = (await call(house, HEALTH, "health", "tasks/get", {"taskId": "no-such"}))["error"]

    assert unknown["code"] == -32602
    assert (await _get(house, task["taskId"]))["status"] == "working"


@pytest.mark.requirement("ask:tasks")
async def test_cancelling_a_task_takes_the_question_back_and_twice_is_once(house: Askers) -> None:
    task = await _task(house, question="Cancel the task?")
    acks = [await call(house, HEALTH, "health", "tasks/cancel", {"taskId": task["taskId"]}) for _ in range(2)]
    shown = await _get(house, task["taskId"])

    assert [one["result"]["resultType"] for one in acks] == ["complete"] * 2
    assert (shown["status"], "result" in shown) == ("cancelled", False)
    assert (await house.tool("wait", {"ask_id": task["taskId"], "wait_seconds": 0}))["status"] == "cancelled"


async def test_one_that_would_rather_not_answer_completes_the_task(house: Askers) -> None:
    task = await _task(house, question="Rather not?")
    await house.answer(task["taskId"], {"declined": True})
    done = await _get(house, task["taskId"])

    assert (done["status"], done["result"]["structuredContent"]["status"]) == ("completed", "declined")


async def test_wrong_arguments_and_what_has_ended_are_answered_at_once(house: Askers) -> None:
    wrong = await _task(house, question="")
    first = await _task(house, question="Ended?", idempotency_key="k-task")
    await house.answer(first["taskId"], {"value": "no"})
    again = await _task(house, question="Ended?", idempotency_key="k-task")

    assert (wrong["resultType"], wrong["structuredContent"]["error_class"]) == ("complete", "validation_error")
    assert (again["resultType"], again["structuredContent"]["answer"]["value"]) == ("complete", "no")


async def test_wait_hands_out_the_same_task_unless_it_only_looks(house: Askers) -> None:
    asked = await house.ask(question="Waited for as a task?")
    waits = {"name": "wait", "arguments": {"ask_id": asked["ask_id"]}}
    looks = {"name": "wait", "arguments": {"ask_id": asked["ask_id"], "wait_seconds": 0}}

    task = (await call(house, HEALTH, "health", "tools/call", waits))["result"]
    seen = (await call(house, HEALTH, "health", "tools/call", looks))["result"]
    assert (task["taskId"], seen["resultType"]) == (asked["ask_id"], "complete")


@pytest.mark.requirement("ask:client-forms")
async def test_an_agents_task_never_asks_its_own_client(house: Askers) -> None:
    task = await _task(house, question="For people only?")
    shown = await _get(house, task["taskId"], able=BOTH)
    said = {"answer": {"action": "accept", "content": {"answer": "yes"}}}
    await call(house, HEALTH, "health", "tasks/update", {"taskId": task["taskId"], "inputResponses": said}, BOTH)

    assert (shown["status"], "inputRequests" in shown) == ("working", False)
    assert (await _get(house, task["taskId"]))["status"] == "working"


@pytest.mark.requirement("ask:client-forms")
async def test_a_persons_client_answers_the_form_of_a_task(house: Askers) -> None:
    task = await _task(house, OPERATOR, "api", question="On the form?", allow_text=False)
    shown = await _get(house, task["taskId"], OPERATOR, "api", BOTH)
    without = await _get(house, task["taskId"], OPERATOR, "api")
    for content in ({"answer": "perhaps"}, {"answer": "no"}):
        key = next(iter((await _get(house, task["taskId"], OPERATOR, "api", BOTH))["inputRequests"]))
        said = {key: {"action": "accept", "content": content}, "other": {"action": "accept"}}
        await call(house, OPERATOR, "api", "tasks/update", {"taskId": task["taskId"], "inputResponses": said}, BOTH)
    done = await _get(house, task["taskId"], OPERATOR, "api", BOTH)

    assert (shown["status"], list(shown["inputRequests"]), without["status"]) == (
        "input_required",
        ["answer"],
        "working",
    )
    form = shown["inputRequests"]["answer"]
    assert form["method"] == "elicitation/create" and "On the form?" in form["params"]["message"]
    assert key == "answer-2"
    answered = done["result"]["structuredContent"]
    assert (done["status"], answered["answer"]["value"]) == ("completed", "no")
    assert (answered["answered_by"]["channel"], answered["answered_by"]["assurance"]) == ("client", "low")


@pytest.mark.requirement("ask:client-forms")
@pytest.mark.parametrize("said", [{"action": "decline"}, {"action": "cancel"}, {"action": "accept", "content": {}}])
async def test_a_form_that_is_closed_leaves_the_task_open(house: Askers, said: dict[str, Any]) -> None:
    task = await _task(house, OPERATOR, "api", question=f"Closed by {said}?")
    await call(
        house, OPERATOR, "api", "tasks/update", {"taskId": task["taskId"], "inputResponses": {"answer": said}}, BOTH
    )
    shown = await _get(house, task["taskId"], OPERATOR, "api", BOTH)

    assert (shown["status"], "inputRequests" in shown) == ("working", False)


async def test_a_header_that_names_another_task_is_refused(house: Askers) -> None:
    task = await _task(house, question="Which header?")
    found = await call(house, HEALTH, "health", "tasks/get", {"taskId": task["taskId"]}, Mcp_Name="other")
    wrong = {"taskId": task["taskId"], "inputResponses": {"answer": "yes"}}
    ill = await call(house, OPERATOR, "api", "tasks/update", {**wrong, "taskId": await _operators(house)}, BOTH)

    assert (found["error"]["code"], ill["error"]["code"]) == (-32020, -32602)


async def _operators(house: Askers) -> str:
    return str((await _task(house, OPERATOR, "api", question="The operator's?"))["taskId"])
