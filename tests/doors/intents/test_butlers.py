"""What is asked of a butler goes through the switchboard to its model, and the model's answer comes back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.butlers.runtimes.installed import install
from tests.telephone import CHATGPT, OWNER, settings_for, telephone

from postroom.household.wiring.store import shipped
from postroom.kernel.values.principal import OPERATOR
from postroom.settings.roster import RuntimeKind


@pytest.mark.parametrize(
    ("said", "heard"),
    [("At noon", "At noon"), ("At \x00 \ud800", "At \ufffd \ufffd")],
    ids=["plain", "in characters that no store can hold"],
)
async def test_a_butlers_model_answers_an_assistant(tmp_path: Path, said: str, heard: str) -> None:
    settings = settings_for(tmp_path / "home")
    path = install(tmp_path / "bin", ["codex"])
    roster = [
        one.model_copy(update={"runtime": RuntimeKind(type="codex")}) if one.name == "health" else one
        for one in shipped(settings)
    ]
    question = json.dumps({"steps": [], "say": said})
    async with telephone(settings, roster=roster, environment={"PATH": path}) as line:
        body = {"requester_agent": OWNER, "target_agent": "agent://butler/health", "message": question}
        sent = await line.adapt(body, CHATGPT)

        done = await line.until(sent.body["delivery"]["intent_id"], "COMPLETED", "FAILED")

    assert (done["lifecycle_status"], done["result"]) == (
        "COMPLETED",
        {
            "answer": heard,
            "status": "answered",
            "responded_by": "agent://butler/health",
            "responded_at": done["result"]["responded_at"],
        },
    )


async def test_a_butler_whose_model_cannot_start_fails_the_ask_with_a_reason(tmp_path: Path) -> None:
    async with telephone(settings_for(tmp_path), environment={"PATH": ""}) as line:
        body = {"requester_agent": OWNER, "target_agent": "agent://butler/health", "message": "Are you there?"}
        sent = await line.adapt(body, CHATGPT)

        failed = await line.until(sent.body["delivery"]["intent_id"], "FAILED")

    assert (failed["status"], failed["result"]["error"]["code"]) == ("FAILED", "delivery_failed")


async def test_a_butler_without_a_model_is_asked_again_later(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    roster = [one.model_copy(update={"runtime": RuntimeKind(type="none")}) for one in shipped(settings)]
    async with telephone(settings, roster=roster) as line:
        body = {"requester_agent": OWNER, "target_agent": "agent://butler/health", "message": "Are you there?"}
        sent = await line.adapt(body, CHATGPT)

        waiting = await line.until(sent.body["delivery"]["intent_id"], "WAITING")

        assert waiting["waiting_reason"] == "WAITING_FOR_TOOL"
        stopped = await line.post(f"/v1/intents/{waiting['intent_id']}/resolve", {"status": "CANCELED"}, OPERATOR)
        assert stopped.body["intent"]["lifecycle_status"] == "CANCELED"
