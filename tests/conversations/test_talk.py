"""One message of a conversation after the other: handed over, followed, settled, explained when it fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.clock import FakeClock
from tests.conversations.room import PLACE, Room, sent, session, written

from postroom.butlers.model import Session, SessionEnd, SessionStatus
from postroom.butlers.wire import Route
from postroom.conversations.history import StoredTalk
from postroom.conversations.model import InboundMove, InboundStatus, KeptMessage, RoutedMessage, RouteKind
from postroom.conversations.talk import Answering
from postroom.conversations.texts import ENGLISH
from postroom.kernel.running.loop import Signal
from postroom.kernel.values.errors import PostroomError, TargetUnavailable, ValidationError
from postroom.message.attachment import Attachment
from postroom.message.wire import Routed

GENERAL = RoutedMessage(kind=RouteKind.BUTLER, target="general", reason="named", words="hi")


class Handing:
    """What Ada wrote, kept as always, on its way to a butler whose sessions are as a test says."""

    def __init__(self, room: Room) -> None:
        self.room = room
        self.sessions: dict[str, Session] = {}
        self.routed: list[Route] = []
        self.stopped: list[str] = []
        self.shown: list[str] = []
        self.refusal: PostroomError | None = None
        self.loop = Answering(
            kept=room.kept,
            sessions=self,
            said=StoredTalk(room.database),
            route=self.route,
            stopper=self,
            people=room.people,
            outbound=room.post,
            channels={"pager": self},
            files=self,
            clock=room.clock,
            wake=Signal(),
        )

    async def get(self, butler: str, session_id: str) -> Session | None:
        return self.sessions.get(session_id)

    async def hand_on(self, files: Sequence[Attachment], owner: str) -> tuple[Attachment, ...]:
        return tuple(files)

    async def route(self, butler: str, route: Route, timeout_seconds: float) -> Routed:
        self.routed.append(route)
        if self.refusal is not None:
            return Routed(error=self.refusal, retryable=self.refusal.retryable)
        return Routed(session_id=f"session of {route.request_id}")

    async def stop(self, butler: str, session_id: str) -> None:
        self.stopped.append(session_id)

    async def show_work(self, place: str, message_id: str, timeout_seconds: float) -> bool:
        self.shown.append(place)
        return True

    async def asks(self, words: str = "hi", message_id: str = "1", place: str = PLACE) -> KeptMessage:
        message, now_us = written(message_id, places=(place,), sender=PLACE, text=words), self.room.clock.now_us()
        ada = await self.room.people.at("pager", PLACE)
        await self.room.kept.keep(message, now_us)
        assert ada is not None
        assert await self.room.kept.decide(message, replace(GENERAL, words=words), ada.id, now_us)
        return await self.room.kept.named(message)

    async def status(self, message_id: str = "1") -> InboundStatus:
        return (await self.room.kept.named(written(message_id))).status

    def ends(self, kept: KeptMessage, status: SessionStatus, **more: Any) -> None:
        self.sessions[f"session of {kept.id}"] = replace(session(kept.id), status=status, **more)

    def said(self) -> list[str]:
        return [one.message for one in self.room.post.sent]


@pytest.fixture
def handing(room: Room) -> Handing:
    return Handing(room)


@pytest.mark.requirement("talk:in-order", "talk:turns")
async def test_the_second_waits_for_the_first_and_turns_are_bounded(handing: Handing, clock: FakeClock) -> None:
    kept = [await handing.asks("y" * 5000), await handing.asks("two", "2"), await handing.asks("else", "3", "88")]
    await handing.loop.look()
    assert {one.request_id for one in handing.routed} == {kept[0].id, kept[2].id}
    assert await handing.status("2") is InboundStatus.ROUTED

    handing.ends(kept[0], SessionStatus.DONE)
    await clock.advance(1)
    for _ in range(2):
        await handing.loop.look()
    [second] = [one for one in handing.routed if one.request_id == kept[1].id]
    assert [len(one["text"]) for one in second.context["said_before"]] == [1000]


@pytest.mark.requirement("talk:last-words", "talk:failure-in-words")
@pytest.mark.parametrize(
    ("ending", "replied", "status", "said"),
    [
        ({"status": SessionStatus.DONE, "transcript": {"text": "Noon."}}, False, InboundStatus.ANSWERED, "Noon."),
        ({"status": SessionStatus.DONE, "transcript": {}}, False, InboundStatus.ANSWERED, ENGLISH.silent),
        ({"status": SessionStatus.DONE, "transcript": {"text": "Done."}}, True, InboundStatus.ANSWERED, None),
        ({"status": SessionStatus.FAILED, "error_message": "x"}, False, InboundStatus.FAILED, ENGLISH.failed),
        ({"status": SessionStatus.LOST}, False, InboundStatus.FAILED, ENGLISH.failed),
        ({"status": SessionStatus.LOST}, True, InboundStatus.FAILED, ENGLISH.unfinished),
        ({"status": SessionStatus.TIMED_OUT}, True, InboundStatus.FAILED, ENGLISH.unfinished),
        ({"status": SessionStatus.TIMED_OUT}, False, InboundStatus.FAILED, ENGLISH.timed_out),
        (
            {"status": SessionStatus.FAILED, "error_message": "no {key}", "end_code": SessionEnd.NO_MODEL},
            False, InboundStatus.FAILED, ENGLISH.no_model_works.format(butler="{butler}", reason="no {{key}}"),
        ),
        ({"status": SessionStatus.FAILED, "end_code": SessionEnd.STOPPED}, False, InboundStatus.STOPPED, None),
    ],
    ids=[
        *("last words", "silent", "replied", "failed", "lost"),
        *("lost after the reply", "late after the reply", "timed out", "no model", "stopped"),
    ],
)  # fmt: skip
async def test_each_ending_is_told_once(
    handing: Handing, ending: dict[str, Any], replied: bool, status: InboundStatus, said: str | None
) -> None:
    kept = await handing.asks()
    await handing.loop.look()
    handing.ends(kept, **ending)
    if replied:
        await sent(handing.room.database, channel="pager", request_id=kept.id)

    for _ in range(3):
        await handing.loop.look()

    assert await handing.status() is status
    assert handing.said() == ([said.format(butler="general")] if said else [])


@pytest.mark.requirement("talk:failure-in-words")
async def test_a_butler_that_is_away_is_waited_for_and_then_told_of(handing: Handing, clock: FakeClock) -> None:
    await handing.asks()
    handing.refusal = TargetUnavailable("general is not running")
    await handing.loop.look()
    assert (await handing.status(), handing.said()) == (InboundStatus.ROUTED, [])

    await clock.advance(301)
    await handing.loop.look()

    assert await handing.status() is InboundStatus.FAILED
    assert handing.said() == [ENGLISH.unreachable.format(butler="general")]


async def test_what_a_butler_can_never_take_is_told_as_soon_as_that_can_be_stored(handing: Handing) -> None:
    await handing.asks()
    handing.refusal, handing.room.post.outage = ValidationError("too long"), TargetUnavailable("away")
    await handing.loop.look()
    assert await handing.status() is InboundStatus.ROUTED

    handing.room.post.outage = None
    await handing.loop.look()
    assert (await handing.status(), len(handing.said())) == (InboundStatus.FAILED, 1)


@pytest.mark.requirement("talk:stop")
async def test_a_message_that_was_stopped_during_its_hand_over_has_its_session_ended(handing: Handing) -> None:
    kept = await handing.asks()

    async def route(butler: str, route: Route, timeout_seconds: float) -> Routed:
        await handing.room.kept.move(kept, InboundMove.STOP, handing.room.clock.now_us())
        return Routed(session_id="orphan")

    await replace(handing.loop, route=route).look()

    assert handing.stopped == ["orphan"]


@pytest.mark.requirement("talk:typing")
async def test_work_is_shown_while_it_lasts_and_not_too_often(handing: Handing, clock: FakeClock) -> None:
    kept = await handing.asks()
    await handing.loop.look()
    handing.ends(kept, SessionStatus.RUNNING)
    await handing.loop.look()
    await handing.loop.look()
    assert (await handing.status(), handing.shown) == (InboundStatus.RUNNING, [PLACE])

    await clock.advance(4)
    await handing.loop.look()
    assert handing.shown == [PLACE, PLACE]


@pytest.mark.requirement("talk:restart")
async def test_a_session_that_went_back_into_the_queue_is_waited_for(handing: Handing) -> None:
    kept = await handing.asks()
    await handing.loop.look()
    for status, expected in ((SessionStatus.RUNNING, "running"), (SessionStatus.QUEUED, "waiting")):
        handing.ends(kept, status)
        await handing.loop.look()
        assert await handing.status() == expected


async def test_with_nothing_to_do_it_waits_until_it_is_woken(handing: Handing) -> None:
    assert await handing.loop.look() is None
