"""The AXME SDK from PyPI, unchanged, against a household."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from tests.agents.test_examples import interpreter
from tests.telephone import CHATGPT, Telephone, settings_for, telephone

from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.principal import Principal, Role

pytestmark = pytest.mark.asyncio(loop_scope="module")
ANN = Principal(Role.USER, "ann")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def line(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Telephone]:
    settings = settings_for(tmp_path_factory.mktemp("home"))
    TokenFile(settings.tokens_file).create(ANN)
    async with telephone(settings) as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def said(line: Telephone) -> dict[str, Any]:
    """What the program of the SDK's user was answered."""
    process = await asyncio.create_subprocess_exec(
        interpreter("axme"),
        str(Path(__file__).with_name("axme_program.py")),
        line.url("api"),
        str(line.tokens.token_of(CHATGPT)),
        str(line.tokens.token_of(ANN)),
        env={"PATH": os.environ["PATH"]},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, errors = await asyncio.wait_for(process.communicate(), 90)
    assert process.returncode == 0, errors.decode()
    found: dict[str, Any] = json.loads(output)
    return found


@pytest.mark.requirement("drivers:axme")
async def test_an_intent_is_sent_once_under_its_key_and_heard_in_order(said: dict[str, Any]) -> None:
    assert said["health"]["status"] == "ok"
    assert (said["again"], said["other"], said["stranger"]) == (True, 409, 401)
    assert said["heard"] is True


@pytest.mark.requirement("drivers:axme", "drivers:stream-since-seq")
async def test_listening_goes_on_after_the_last_seq(said: dict[str, Any]) -> None:
    assert all(isinstance(one, int) for one in said["seqs"])
    assert said["seqs"] == sorted(set(said["seqs"]))
    assert said["since"] is True
    assert (said["filtered"], said["no_status"]) == (True, 422)


@pytest.mark.requirement("drivers:axme", "drivers:protocol-words")
async def test_status_says_the_words_of_the_protocol(said: dict[str, Any]) -> None:
    created = said["created"]
    assert (created["status"], created["lifecycle_status"], created["legacy_status"]) == (
        "SUBMITTED",
        "SUBMITTED",
        "accepted",
    )
    assert said["got"] == "DELIVERED"
    assert said["observed"][-1] == said["waited"] == "COMPLETED"


@pytest.mark.requirement("drivers:axme", "drivers:completion-delivery")
async def test_who_resolves_learns_how_the_end_reaches_the_sender(said: dict[str, Any]) -> None:
    resolved = said["resolved"]
    assert (resolved["intent"]["status"], resolved["event"]["event_type"]) == ("COMPLETED", "intent.completed")
    assert resolved["completion_delivery"] == {
        "delivered": False,
        "reason": "reply_to_not_set",
        "reply_to": None,
        "thread_id": resolved["intent"]["intent_id"],
    }
    assert said["resolved_again"] is True


@pytest.mark.requirement("drivers:axme", "drivers:reply-after-the-end")
async def test_threads_are_read_answered_and_followed_also_after_their_end(said: dict[str, Any]) -> None:
    assert said["resolved"]["intent"]["intent_id"] in said["inbox"]
    assert said["replied"]["intent"]["status"] == "COMPLETED"
    messages = [one["message"] for one in said["thread"]["messages"]]
    assert messages == ["Yes", "Thank you", "Any time"]
    assert said["thread"]["lifecycle_status"] == said["thanked"]["intent"]["status"] == "COMPLETED"
    assert said["changes"] == [2, True]
    assert said["next"] is True
