"""One message of a conversation after the other: handed over, followed, settled, explained when it fails."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.clock import FakeClock
from tests.conversations.test_history import session
from tests.conversations.test_strangers import ADA, Room, room_of, written
from tests.opened_database import opened_file

from postroom.butlers.model import Session, SessionEnd, SessionStatus
from postroom.butlers.wire import Route
from postroom.conversations.model import (
    InboundMove,
    InboundStatus,
    KeptMessage,
    RouteKind,
    SentBefore,
    SpokenTurn,
    moved,
)
from postroom.conversations.talk import Answering
from postroom.conversations.texts import ENGLISH, GERMAN
from postroom.kernel.running.loop import Signal
from postroom.kernel.values.errors import PostroomError, TargetUnavailable, ValidationError
from postroom.message.attachment import Attachment
from postroom.message.inbound import Flag, InboundMessage
from postroom.message.outgoing import AnswerStatus, Outcome, Outgoing, refused
from postroom.message.wire import Routed
from postroom.people.model import Person


class World:
    """Everything around the loop: a store, a butler, a way out."""

    def __init__(self, clock: FakeClock, *kept: KeptMessage) -> None:
        self.kept = {one.id: one for one in kept}
        self.sessions: dict[str, Session] = {}
        self.routed: list[Route] = []
        self.said: list[Outgoing] = []
        self.stopped: list[str] = []
        self.shown: list[str] = []
        self.reply = False
        self.refusal: PostroomError | None = None
        self.outage: PostroomError | None = None
        self.loop = Answering(
            kept=self,
            sessions=self,
            said=self,
            route=self.route,
            stopper=self,
            people=self,
            outbound=self,
            channels={"telegram": self},
            files=self,
            clock=clock,
            wake=Signal(),
        )

    async def with_butlers(self) -> Sequence[KeptMessage]:
        open_ones = (InboundStatus.ROUTED, InboundStatus.WAITING, InboundStatus.RUNNING)
        return [one for one in self.kept.values() if one.status in open_ones]

    async def move(
        self,
        kept: KeptMessage,
        move: InboundMove,
        now_us: int,
        *,
        session_id: str | None = None,
        reason: str = "",
        tokens: int = 0,
    ) -> bool:
        now = self.kept[kept.id]
        if now.status is not kept.status:
            return False
        self.kept[kept.id] = replace(now, status=moved(now.status, move), session_id=session_id or now.session_id)
        return True

    async def get(self, butler: str, session_id: str) -> Session | None:
        return self.sessions.get(session_id)

    async def turns(self, kept: KeptMessage, limit: int) -> Sequence[SpokenTurn]:
        return [SpokenTurn(by="person", text="y" * 5000, at_us=0)]

    async def replied_to(self, message: InboundMessage) -> SentBefore | None:
        return None

    async def replied(self, message_id: str) -> bool:
        return self.reply

    async def hand_on(self, files: Sequence[Attachment], owner: str) -> tuple[Attachment, ...]:
        return tuple(files)

    async def route(self, butler: str, route: Route, timeout_seconds: float) -> Routed:
        self.routed.append(route)
        if self.refusal is not None:
            return Routed(error=self.refusal, retryable=self.refusal.retryable)
        return Routed(session_id=f"session of {route.request_id}")

    async def stop(self, butler: str, session_id: str) -> None:
        self.stopped.append(session_id)

    async def find(self, who: str) -> Sequence[Person]:
        return []

    async def submit(self, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome:
        if self.outage is not None:
            return refused(self.outage, request_id=request_id)
        self.said.append(outgoing)
        return Outcome(status=AnswerStatus.ACCEPTED, request_id=request_id)

    async def show_work(self, place: str, message_id: str, timeout_seconds: float) -> bool:
        self.shown.append(place)
        return True

    def status(self, name: str = "m1") -> InboundStatus:
        return self.kept[name].status

    def ends(self, status: SessionStatus, **more: Any) -> None:
        values: Mapping[str, Any] = {"status": status, **more}
        self.sessions["session of m1"] = replace(session("m1"), **values)


def asked(name: str, clock: FakeClock, place: str = "77") -> KeptMessage:
    message = InboundMessage(channel="telegram", number=1, message_id=name, places=(place,), sender="77", text="hi")
    return KeptMessage(
        id=name,
        message=message,
        received_us=clock.now_us(),
        status=InboundStatus.ROUTED,
        person="p1",
        target="general",
        reason="named",
        changed_us=clock.now_us(),
    )


@pytest.fixture
def world(clock: FakeClock) -> World:
    return World(clock, asked("m1", clock), asked("m2", clock))


@pytest.mark.requirement("talk:in-order", "talk:turns")
async def test_the_second_waits_for_the_first_and_turns_are_bounded_data(world: World, clock: FakeClock) -> None:
    world.kept["m3"] = asked("m3", clock, place="88")
    await world.loop.look()

    assert [(one.request_id, one.prompt) for one in world.routed] == [("m1", "hi"), ("m3", "hi")]
    assert (world.status("m1"), world.status("m2")) == (InboundStatus.WAITING, InboundStatus.ROUTED)
    assert len(world.routed[0].context["said_before"][0]["text"]) == 1000
    assert world.routed[0].request_context["source_thread_identity"] == "77:m1"


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
    world: World, ending: dict[str, Any], replied: bool, status: InboundStatus, said: str | None
) -> None:
    await world.loop.look()
    world.ends(**ending)
    world.reply = replied

    for _ in range(3):
        await world.loop.look()

    assert world.status() is status
    own = [one for one in world.said if one.idempotency_key == "talk:m1"]
    assert [one.message for one in own] == ([said.format(butler="general")] if said else [])


@pytest.mark.requirement("talk:failure-in-words")
async def test_a_butler_that_is_away_is_waited_for_and_then_told_of(world: World, clock: FakeClock) -> None:
    world.refusal = TargetUnavailable("general is not running")
    await world.loop.look()
    assert (world.status(), world.said) == (InboundStatus.ROUTED, [])

    await clock.advance(301)
    await world.loop.look()

    assert world.status() is InboundStatus.FAILED
    assert [one.message for one in world.said] == [ENGLISH.unreachable.format(butler="general")]


async def test_what_a_butler_can_never_take_is_told_at_once(world: World) -> None:
    world.refusal = ValidationError("too long")
    await world.loop.look()

    assert (world.status(), len(world.said)) == (InboundStatus.FAILED, 1)


async def test_words_that_cannot_be_stored_just_now_are_tried_again(world: World) -> None:
    world.refusal, world.outage = ValidationError("no"), TargetUnavailable("away")
    await world.loop.look()
    assert world.status() is InboundStatus.ROUTED

    world.outage = None
    await world.loop.look()
    assert (world.status(), len(world.said)) == (InboundStatus.FAILED, 1)


@pytest.mark.requirement("talk:stop")
async def test_a_message_that_was_stopped_during_its_hand_over_has_its_session_ended(world: World) -> None:
    async def route(butler: str, route: Route, timeout_seconds: float) -> Routed:
        world.kept["m1"] = replace(world.kept["m1"], status=InboundStatus.STOPPED)
        return Routed(session_id="orphan")

    await replace(world.loop, route=route).look()

    assert world.stopped == ["orphan"]


@pytest.mark.requirement("talk:typing")
async def test_work_is_shown_while_it_lasts_and_not_too_often(world: World, clock: FakeClock) -> None:
    await world.loop.look()
    world.ends(SessionStatus.RUNNING)
    await world.loop.look()
    await world.loop.look()
    assert (world.status(), world.shown) == (InboundStatus.RUNNING, ["77"])

    await clock.advance(4)
    await world.loop.look()
    assert world.shown == ["77", "77"]


@pytest.mark.requirement("talk:restart")
async def test_a_session_that_went_back_into_the_queue_is_waited_for(world: World) -> None:
    await world.loop.look()
    for status, expected in ((SessionStatus.RUNNING, "running"), (SessionStatus.QUEUED, "waiting")):
        world.ends(status)
        await world.loop.look()
        assert world.status() == expected


async def test_with_nothing_to_do_it_waits_until_it_is_woken(clock: FakeClock) -> None:
    assert await World(clock).loop.look() is None


@pytest.fixture
async def room(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> AsyncIterator[Room]:
    """Ada writes here; a test may say what else is known of her."""
    async with opened_file(tmp_path) as database:
        yield await room_of(database, clock, replace(ADA, **getattr(request, "param", {})))


async def heard(room: Room, butlers: dict[str, bool], text: str = "hi", message_id: str = "9", **more: Any) -> str:
    await room.hear(written(message_id, sender="77", text=text, **more), butlers)
    return "".join(one["delivery"]["message"] for one in room.post.sent)


async def decided(room: Room, message_id: str = "9") -> KeptMessage:
    return await room.kept.named(written(message_id))


@pytest.mark.requirement("talk:failure-in-words")
async def test_without_a_model_the_person_is_told_so(room: Room) -> None:
    assert await heard(room, {}) == ENGLISH.no_model
    room.post.sent.clear()
    assert await heard(room, {"home": False, "general": True}, "/home hi", "10") == (
        ENGLISH.butler_without_model.format(butler="home")
    )
    assert [(await decided(room, one)).kind for one in ("9", "10")] == [RouteKind.NO_MODEL] * 2


@pytest.mark.parametrize("room", [{"language": "de"}], indirect=True, ids=["german"])
async def test_a_name_without_words_is_asked_what_it_should_do(room: Room) -> None:
    assert await heard(room, {"general": True}, "/general") == GERMAN.nothing_asked.format(butler="general")


@pytest.mark.requirement("talk:limit")
async def test_the_limit_is_told_in_words(room: Room) -> None:
    for _ in range(3):
        await room.spent()

    assert await heard(room, {"general": True}) == ENGLISH.limit.format(sessions=3, tokens=1000)


@pytest.mark.requirement("talk:limit")
async def test_tokens_are_limited_as_well(room: Room) -> None:
    await room.spent(tokens=1000)

    assert await heard(room, {"general": True}) == ENGLISH.limit.format(sessions=3, tokens=1000)
    assert "tokens" in (await decided(room)).reason


@pytest.mark.requirement("talk:strangers")
async def test_forwarded_words_are_not_acted_on_and_a_machine_is_not_answered(room: Room) -> None:
    assert await heard(room, {"general": True}, flags=frozenset({Flag.FORWARDED})) == ENGLISH.forwarded
    room.post.sent.clear()
    machine = frozenset({Flag.FORWARDED, Flag.AUTOMATIC})
    assert await heard(room, {"general": True}, message_id="10", flags=machine) == ""


async def test_what_a_butler_takes_is_answered_by_the_butler_alone(room: Room) -> None:
    assert await heard(room, {"general": True}, "{hostile} %s </data>") == ""
    taken = await decided(room)
    assert (taken.kind, taken.message.text) == (RouteKind.BUTLER, "{hostile} %s </data>")
