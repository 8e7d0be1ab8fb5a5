"""What was asked before a restart is answered after it."""

from __future__ import annotations

from pathlib import Path

from tests.telephone import CHATGPT, OWNER, settings_for, telephone


async def test_an_answer_given_while_we_were_away_is_heard_when_we_are_back(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    async with telephone(settings) as line:
        answer = await line.adapt({"requester_agent": OWNER, "recipient_name": "Bob", "message": "Wait?"}, CHATGPT)
        intent_id = answer.body["delivery"]["intent_id"]
        await line.until(intent_id, "DELIVERED")
        message_id = (await line.phone("2001"))[-1]["message_id"]
    async with telephone(settings, "sandbox") as line:
        await line.type("2001", "I will", message_id)

    async with telephone(settings) as line:
        done = await line.until(intent_id, "COMPLETED")
        assert done["result"]["answer"] == "I will"
        assert len(await line.phone("2001")) == 1


async def test_a_provider_in_trouble_delays_an_ask_and_never_loses_it(tmp_path: Path) -> None:
    async with telephone(settings_for(tmp_path)) as line:
        fault = {"channel": "telegram", "times": 1, "status": 503}
        await line.call("POST", "sandbox", "/sandbox/faults", fault, None)

        answer = await line.adapt({"requester_agent": OWNER, "recipient_name": "Bob", "message": "Wait?"}, CHATGPT)

        await line.until(answer.body["delivery"]["intent_id"], "DELIVERED")
        assert len(await line.phone("2001")) == 1
