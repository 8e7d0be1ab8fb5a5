from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.desk.caller import Caller, text_of
from tests.desk.conftest import ARTEFACTS
from tests.desk.screen import Screen

from postroom.desk import history
from postroom.desk.model import PopupOutcome, Sheet, SheetField, WindowEvent
from postroom.desk.window.window import CLOSE, HANG_UP, HINT, Area, Sitting, centred, due_at, monitor_for, notice

SECONDS = st.floats(0, 1000)


@given(SECONDS, SECONDS, st.none() | SECONDS, st.floats(0, 10))
def test_it_never_gives_up_early_nor_while_someone_types(
    opened: float, timeout: float, active: float | None, grace: float
) -> None:
    due = due_at(opened=opened, timeout=timeout, active=active, grace=grace)
    assert due is not None
    assert due >= opened + timeout
    assert active is None or due >= active + grace
    assert due == opened + timeout or (active is not None and due == active + grace)


def test_without_a_timeout_it_waits_for_ever() -> None:
    assert due_at(opened=0, timeout=None, active=5, grace=10) is None
    assert notice(opened=0, timeout=None, due=None, now=1e9) == ""


@pytest.mark.parametrize(
    ("now", "expected"),
    [(0, "Closes in 1:30"), (30.5, "Closes in 1:00"), (31, "Closes in 59 s"), (89.9, "Closes in 1 s")],
)
def test_the_time_left_is_shown(now: float, expected: str) -> None:
    assert notice(opened=0, timeout=90, due=90, now=now) == expected


def test_overtime_is_shown_as_waiting() -> None:
    assert notice(opened=0, timeout=90, due=99, now=91) == "Waiting while you type"


@pytest.fixture(scope="module")
def two_monitors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Screen]:
    screen = Screen(tmp_path_factory.mktemp("monitors"), "1800x800")
    screen.split_in_two(800, 1000, 800)
    yield screen
    screen.stop()


@pytest.mark.requirement("popup:monitor")
@pytest.mark.requirement("popup:centred")
def test_the_popup_appears_in_the_middle_of_the_monitor_with_the_pointer(two_monitors: Screen, tmp_path: Path) -> None:
    desk = Caller(two_monitors.environ, tmp_path)
    for pointer, middle in ((100, 400), (1700, 1300)):
        two_monitors.point(pointer, 100)
        call = desk.call("Here?")
        place = two_monitors.place(two_monitors.window("VoiceMode"))
        two_monitors.picture(ARTEFACTS / f"monitors-{middle}.png")
        two_monitors.key("Escape")
        text_of(call)
        assert abs(place["x"] + place["width"] / 2 - middle) <= 5
        assert abs(place["y"] + place["height"] / 2 - 400) <= 30
        two_monitors.gone("VoiceMode")
    desk.stop()


PRIMARY = Area(x=800, y=0, width=1000, height=800)
OTHER = Area(x=0, y=0, width=800, height=800)


@pytest.mark.parametrize(
    ("pointer", "expected"),
    [((10, 10), OTHER), ((799, 799), OTHER), ((800, 0), PRIMARY), ((5000, 5000), PRIMARY)],
)
@pytest.mark.requirement("popup:monitor")
def test_the_monitor_is_the_pointers_or_the_primary_one(pointer: tuple[int, int], expected: Area) -> None:
    assert monitor_for([PRIMARY, OTHER], pointer) == expected


@given(st.integers(-3000, 3000), st.integers(400, 4000), st.integers(1, 5000), st.integers(1, 5000))
@pytest.mark.requirement("popup:centred")
def test_a_window_is_in_the_middle_of_its_monitor_and_fits(x: int, size: int, width: int, height: int) -> None:
    monitor = Area(x=x, y=x, width=size, height=size)
    place = centred(monitor, width, height)
    assert place.width <= width
    assert monitor.holds(place.x, place.y)
    assert monitor.holds(place.x + place.width - 1, place.y + place.height - 1)
    assert abs((place.x - monitor.x) - (monitor.x + size - place.x - place.width)) <= 1


class Room:
    """A sitting with a clock the test turns and a server that keeps what it hears."""

    def __init__(self, folder: Path, **sheet: Any) -> None:
        self.now = 100.0
        self.heard: list[WindowEvent] = []
        self.commands: SimpleQueue[str] = SimpleQueue()
        self.draft = folder / "drafts" / "2.json"
        self.turn = folder / "turn"
        history.take_turn(self.turn, "me")
        self.sitting = Sitting(
            Sheet(
                **{"message": "Hi", "title": "T", "grace_seconds": 10.0}
                | sheet
                | {"draft_file": str(self.draft), "turn_file": str(self.turn), "turn_token": "me"}
            ),
            emit=self.heard.append,
            commands=self.commands,
            clock=lambda: self.now,
        )
        self.sitting.shown()

    def events(self, kind: str) -> list[WindowEvent]:
        return [event for event in self.heard if event.sign == kind]


def test_what_is_heard_of_the_keys_after_the_end_is_no_draft(tmp_path: Path) -> None:
    room = Room(tmp_path)
    room.sitting.submit("sent")
    room.sitting.typed("sent")
    assert history.waiting(room.draft.parent) == []


@pytest.mark.requirement("popup:timeout")
def test_it_gives_up_at_the_timeout(tmp_path: Path) -> None:
    room = Room(tmp_path, timeout_seconds=30)
    room.now += 29.9
    assert room.sitting.pulse() is None
    room.now += 0.1
    assert room.sitting.pulse() is PopupOutcome.TIMEOUT


def test_typing_holds_the_timeout_off_until_ten_seconds_after_the_last_key(tmp_path: Path) -> None:
    room = Room(tmp_path, timeout_seconds=30)
    room.now += 29
    room.sitting.typed("one")
    room.now += 9.9
    assert room.sitting.pulse() is None
    assert room.sitting.notice() == ("Waiting while you type", False)
    room.sitting.typed("one more")
    room.now += 9.9
    assert room.sitting.pulse() is None
    room.now += 0.1
    assert room.sitting.pulse() is PopupOutcome.TIMEOUT
    assert history.waiting(room.draft.parent)[0].text == "one more"


def test_early_typing_does_not_make_it_wait_longer(tmp_path: Path) -> None:
    room = Room(tmp_path, timeout_seconds=30)
    room.sitting.typed("early")
    room.now += 30
    assert room.sitting.pulse() is PopupOutcome.TIMEOUT


def test_every_change_is_on_disk_at_once(tmp_path: Path) -> None:
    room = Room(tmp_path)
    for text in ("a", "ab", "ab "):
        room.sitting.typed(text)
        assert history.waiting(room.draft.parent)[0].text == text


def test_a_secret_is_never_on_disk(tmp_path: Path) -> None:
    room = Room(tmp_path, secret=True)
    room.sitting.typed("hunter2")
    assert not room.draft.parent.exists()


def test_a_reply_that_is_too_long_stays_in_the_window(tmp_path: Path) -> None:
    room = Room(tmp_path, reply_limit=10)
    room.sitting.typed("x" * 11)
    assert room.sitting.notice() == ("11 of 10 characters: too long to submit", True)
    assert not room.sitting.submit("x" * 11)
    assert not room.events("ended")
    assert room.sitting.submit("x" * 10)


def test_it_ends_once(tmp_path: Path) -> None:
    room = Room(tmp_path)
    room.sitting.submit("yes")
    room.sitting.end(PopupOutcome.DISMISSED)
    [ended] = room.events("ended")
    assert (ended.ending.outcome, ended.ending.text) == ("submitted", "yes")


@pytest.mark.parametrize(
    ("waits", "command", "ends"),
    [(True, CLOSE, True), (True, HANG_UP, True), (False, CLOSE, True), (False, HANG_UP, False)],
    ids=["question closed", "question orphaned", "message closed", "message outlives the server"],
)
def test_the_servers_word_and_the_servers_end(tmp_path: Path, waits: bool, command: str, ends: bool) -> None:
    room = Room(tmp_path, wait_for_response=waits)
    room.commands.put(command)
    assert (room.sitting.pulse() is PopupOutcome.REPLACED) is ends


@pytest.mark.requirement("popup:one-at-a-time")
def test_it_leaves_when_another_popup_takes_the_turn(tmp_path: Path) -> None:
    room = Room(tmp_path)
    assert room.sitting.pulse() is None
    history.take_turn(room.turn, "someone else")
    room.now += 0.3
    assert room.sitting.pulse() is PopupOutcome.REPLACED


def test_it_gives_a_sign_of_life_every_second(tmp_path: Path) -> None:
    room = Room(tmp_path)
    for _ in range(100):
        room.sitting.pulse()
        room.now += 0.05
    assert len(room.events("tick")) == 5


def test_older_drafts_are_offered_one_after_the_other(tmp_path: Path) -> None:
    for name in ("1", "0"):
        history.save(tmp_path / "drafts" / f"{name}.json", f"draft {name} " + "long " * 20)
    sitting = Room(tmp_path).sitting
    assert sitting.offer_label() == "Unsent: “draft 1 long long long long long long l…” (+1)"
    sitting.take_offer()
    assert sitting.offer_label().startswith("Unsent: “draft 0 ")
    sitting.take_offer()
    assert sitting.offer() is None
    assert sitting.offer_label() == ""
    assert not history.waiting(tmp_path / "drafts")


@pytest.mark.parametrize("sheet", [{"secret": True}, {"wait_for_response": False}])
def test_drafts_are_offered_only_where_they_can_be_used(tmp_path: Path, sheet: dict[str, Any]) -> None:
    history.save(tmp_path / "drafts" / "1.json", "draft")
    assert Room(tmp_path, **sheet).sitting.offer() is None


def test_the_foot_of_the_window_tells_the_keys_or_the_length(tmp_path: Path) -> None:
    room = Room(tmp_path)
    assert room.sitting.notice() == (HINT, False)
    room.sitting.typed("x" * 9_500)
    assert room.sitting.notice() == ("9,500 of 10,000 characters", False)


@pytest.mark.parametrize(
    ("sheet", "text", "chosen", "fields", "line"),
    [
        ({}, " ", [], {}, "Write something first"),
        ({"options": ("a",), "has_reply": False}, "", [], {}, "Choose something first"),
        ({"options": ("a",)}, "or so", ["a"], {}, "Either choose or write: empty the text to choose"),
        ({"fields": (SheetField(name="n", label="Name", required=True),)}, "", [], {}, "Still missing: Name"),
        ({"fields": (SheetField(name="n", label="Name"),)}, "", [], {}, "Fill in the form first"),
    ],
)
def test_a_question_of_the_household_takes_only_what_answers_it(
    tmp_path: Path, sheet: dict[str, Any], text: str, chosen: list[str], fields: dict[str, list[str]], line: str
) -> None:
    room = Room(tmp_path, needs_answer=True, **sheet)
    assert not room.sitting.submit(text, chosen, fields)
    assert room.sitting.notice() == (line, True)
    assert not room.events("ended")
    room.sitting.typed("x")
    assert room.sitting.notice()[0] != line


def test_keys_meant_for_another_window_answer_nothing(tmp_path: Path) -> None:
    room = Room(tmp_path, needs_answer=True, settle_seconds=1.0)
    room.now += 0.9
    assert not room.sitting.submit("ls") and not room.sitting.decline()
    assert room.sitting.notice() == ("This has only just appeared: please press again", True)
    room.now += 0.1
    assert room.sitting.decline()
    assert room.events("ended")[0].ending.outcome == "declined"


def test_a_form_is_handed_over_however_it_ends(tmp_path: Path) -> None:
    room = Room(tmp_path, needs_answer=True, fields=(SheetField(name="n", label="Name"),))
    room.sitting.end(PopupOutcome.REPLACED, fields={"n": ["Willow"]})
    assert room.events("ended")[0].ending.fields == {"n": ("Willow",)}


def test_the_screen_is_free_after_the_end_and_not_before(tmp_path: Path) -> None:
    room = Room(tmp_path)
    room.sitting.pulse()
    assert not history.screen_is_free(room.turn)
    room.sitting.end(PopupOutcome.CANCELLED)
    assert history.screen_is_free(room.turn)
