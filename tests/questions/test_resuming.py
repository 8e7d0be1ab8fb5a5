"""A butler is woken once for each question it wanted to go on from."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.work.questions.asking_office import ANNA, HEALTH, MINT, Office, opened_office

from postroom.intents.store import StoredIntents
from postroom.kernel.values.errors import OverloadRejected
from postroom.kernel.values.ids import seconds
from postroom.kernel.values.principal import Principal
from postroom.questions.rules.reading import Given
from postroom.questions.telling import Follower, Resuming


@dataclass
class Sessions:
    """As a butler's: the same key again starts nothing."""

    started: dict[str, tuple[str, str, Any]] = field(default_factory=dict)
    busy: int = 0

    async def submit(
        self, prompt: str, *, trigger: str, caller: Principal, material: object = None, key: str | None = None
    ) -> object:
        if self.busy:
            self.busy -= 1
            raise OverloadRejected("busy", limit_type="session_queue", retry_after_seconds=7)
        return self.started.setdefault(key or "", (prompt, trigger, material))


@pytest.fixture
async def office(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Office]:
    async with opened_office("sqlite", tmp_path, request) as one:
        yield one


def resuming(office: Office, sessions: Sessions, butler: str = "health") -> Follower:
    marks, one = (
        StoredIntents(office.database, MINT.mint),
        Resuming(butler=butler, feed=office.store, sessions=sessions),
    )
    return Follower(name=f"resume:{butler}", feed=office.store, marks=marks, take=one.take, clock=office.clock)


async def answered(office: Office, **arguments: Any) -> str:
    ask_id = (await office.ask(to="anna", **arguments)).question.id
    await office.asking.answer(ANNA, ask_id, Given(value="yes"), channel="console", event_id=ask_id)
    return ask_id


@pytest.mark.requirement("ask:resumed-once")
async def test_the_answer_begins_a_session_once_with_the_answer_as_data(office: Office) -> None:
    sessions = Sessions()
    ask_id = await answered(office, resume={"prompt": "Go on.", "material": {"pr": 7}}, state=[1])
    await answered(office, question="Without?")
    for _ in range(2):
        await resuming(office, sessions).look()
    assert list(sessions.started) == [f"answer:{ask_id}"]
    prompt, trigger, material = sessions.started[f"answer:{ask_id}"]
    assert (prompt, trigger) == ("Go on.", "answer")
    assert material["answer"]["value"] == "yes" and material["answered_by"] == "Anna"
    assert (material["material"], material["state"]) == ({"pr": 7}, [1])


async def test_other_butlers_are_not_woken_and_every_end_counts(office: Office) -> None:
    mine, other = Sessions(), Sessions()
    ask_id = (await office.ask(to="anna", resume={"prompt": "Go on."})).question.id
    await resuming(office, mine).look()
    assert mine.started == {}
    await office.asking.cancel(HEALTH, ask_id, None)
    await resuming(office, mine).look()
    await resuming(office, other, "general").look()
    assert (list(mine.started), other.started) == ([f"answer:{ask_id}"], {})


async def test_a_full_queue_is_waited_for_and_loses_nothing(office: Office) -> None:
    sessions = Sessions(busy=1)
    await answered(office, resume={"prompt": "Go on."})
    one = resuming(office, sessions)
    assert await one.look() == office.clock.now_us() + seconds(7)
    await one.look()
    assert len(sessions.started) == 1


async def test_a_secret_is_not_in_what_a_session_reads(office: Office) -> None:
    sessions = Sessions()
    view = await office.ask(to="anna", kind="text", options=None, secret=True, resume={"prompt": "Go on."})
    await office.asking.answer(ANNA, view.question.id, Given(text="hunter2"), channel="desk", event_id="1")
    await resuming(office, sessions).look()
    assert "hunter2" not in str(sessions.started)
    assert len(sessions.started) == 1
