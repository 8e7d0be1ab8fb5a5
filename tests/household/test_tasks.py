"""A task, and the form of a call, over the death of the process that gave them away."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import httpx2
import pytest

from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from tests.household.processes import command, environment
from tests.doors.asks.wire import KNOWS_TASKS, SHOWS_FORMS, post

HEALTH = Principal(Role.BUTLER, "health")
SHIP = {"name": "ask", "arguments": {"question": "Ship it?", "options": ["yes", "no"]}}
SIGN = {"name": "ask", "arguments": {"question": "Sign it?", "options": ["yes", "no"]}}


@pytest.mark.requirement("ask:tasks", "ask:client-forms")
async def test_a_new_process_answers_for_the_tasks_and_forms_of_one_that_was_killed(tmp_path: Path) -> None:
    variables = environment(tmp_path / "home")

    async def called(part: str, who: Principal, method: str, params: dict[str, Any], able: Any = KNOWS_TASKS) -> Any:
        token = TokenFile(tmp_path / "home" / "tokens.json").token_of(who) or ""
        return (await post(_url(variables, part), token, method, params, able))["result"]

    with command(variables, "up") as process:
        task = await called("health", HEALTH, "tools/call", SHIP)
        form = await called("api", OPERATOR, "tools/call", SIGN, SHOWS_FORMS)
        os.killpg(process.pid, signal.SIGKILL)
    with command(variables, "up"):
        working = await called("health", HEALTH, "tasks/get", {"taskId": task["taskId"]})
        said = {"answer": {"action": "accept", "content": {"answer": "no"}}}
        second = {**SIGN, "requestState": form["requestState"], "inputResponses": said}
        signed = await called("api", OPERATOR, "tools/call", second, SHOWS_FORMS)
        await _answered(tmp_path / "home", _url(variables, "api"), task["taskId"])
        done = await called("health", HEALTH, "tasks/get", {"taskId": task["taskId"]})

    assert (working["status"], working["createdAt"]) == ("working", task["createdAt"])
    assert signed["structuredContent"]["answer"]["value"] == "no"
    assert (done["status"], done["result"]["structuredContent"]["answer"]["value"]) == ("completed", "yes")


async def _answered(home: Path, url: str, ask_id: str) -> None:
    token = TokenFile(home / "tokens.json").token_of(OPERATOR)
    async with httpx2.AsyncClient(timeout=30, headers={"Authorization": f"Bearer {token}"}) as http:
        answer = await http.post(f"{url}/v1/asks/{ask_id}/answer", json={"value": "yes"})
        assert answer.status_code == 200, answer.text


def _url(variables: dict[str, str], part: str) -> str:
    return f"http://127.0.0.1:{variables[f'POSTROOM_PORTS__{part.upper()}']}"
