"""The numbers and the words of the model: states and moves, and several notices as one message."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.attention.sample import at, notice

from postroom.attention.model import CELLS, NOTICE_MOVES, OPEN, SETTLED, TERMINAL, NoticeMove, NoticeState
from postroom.attention.rules.digest import (
    MOST_CHARACTERS,
    Digest,
    Member,
    frozen,
    line_of,
    render,
    room_of,
    shared_out,
)
from postroom.message.attachment import Attachment
from postroom.message.delivery import Format, Intent
from postroom.message.markup import Markup
from postroom.message.outgoing import Outgoing
from postroom.message.wishes import Urgency

# -- The table of a notice's moves is sound, and the drawing in the documentation is that table --


PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "attention.md"


@pytest.mark.requirement("attention:states")
def test_every_state_is_reached_and_every_move_is_used() -> None:
    assert set(NOTICE_MOVES.values()) | {NoticeState.ACCEPTED} == set(NoticeState)
    assert {move for _, move in NOTICE_MOVES} == set(NoticeMove)


@pytest.mark.requirement("attention:states")
def test_a_state_is_open_or_settled_and_what_is_terminal_is_settled() -> None:
    assert set(NoticeState) == OPEN | SETTLED
    assert SETTLED - {NoticeState.SENT, NoticeState.DIGESTED} == TERMINAL


@pytest.mark.requirement("attention:states")
def test_every_state_is_in_one_cell() -> None:
    assert sorted(state for states in CELLS.values() for state in states) == sorted(NoticeState)


@pytest.mark.requirement("attention:states")
def test_the_drawing_shows_every_move_and_no_other() -> None:
    drawn = re.findall(r"^    (\w+) --> (\w+): (\w+)$", PAGE.read_text(), re.MULTILINE)

    assert sorted(drawn) == sorted(
        (str(before), str(after), str(move)) for (before, move), after in NOTICE_MOVES.items()
    )


@pytest.mark.requirement("attention:states")
def test_every_state_is_explained() -> None:
    assert re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE) == [str(state) for state in NoticeState]


# -- A digest is frozen, sorted, and shows everything that it counts --


PLAN = Attachment(upload_id="u", sha256="0" * 64, name="plan.pdf", media_type="application/pdf", size=1)


def member(name: str, urgency: str = "normal", *, moment: int = 0, round: int = 0, **fields: Any) -> Member:
    made = notice(name, at("09:00") + moment, **fields)
    return Member(notice=made, urgency=Urgency(urgency), round=round)


def made(members: list[Member], *, channel: str = "telegram", late: int = 0) -> Digest:
    return frozen(members, person="ada", channel=channel, at_us=at("10:00") + late, due_us=at("10:00"))


def many(count: int, **fields: Any) -> list[Member]:
    return [member(f"n{n:02}", moment=n, **fields) for n in range(count)]


def said(message: str, **fields: Any) -> Outgoing:
    return Outgoing(origin_butler="cook", channel="telegram", message=message, **fields)


@pytest.mark.requirement("attention:digest")
def test_the_highest_urgency_comes_first_and_then_the_oldest() -> None:
    given = [("a", "passive"), ("b", "time_sensitive"), ("c", "normal"), ("d", "time_sensitive")]

    assert made([member(name, urgency) for name, urgency in given]).members == ("b", "d", "c", "a")


@pytest.mark.requirement("attention:digest-shares")
def test_of_one_urgency_the_agents_take_turns() -> None:
    alarm = member("alarm", moment=60, agent="oven")

    assert made([*many(11), alarm]).members[:3] == ("n00", "alarm", "n01")


@pytest.mark.requirement("attention:digest-shares")
def test_no_agent_takes_the_first_lines_from_others_by_being_urgent() -> None:
    loud = [member(f"loud{n:02}", "time_sensitive", moment=n) for n in range(30)]
    calm = [member(f"calm{n}", agent="oven", moment=60 + n) for n in range(3)]

    first = made([*loud, *calm]).members[:10]
    assert first == (*(f"loud{n:02}" for n in range(7)), "calm0", "calm1", "calm2")


@pytest.mark.requirement("attention:digest")
def test_it_shows_all_that_it_counts() -> None:
    lines = render(made(many(13)), [said(f"line\n{n}") for n in range(13)]).splitlines()

    assert (lines[0], lines[1], lines[-1], len(lines)) == ("13 notices", "• cook: line 0", "• cook: line 12", 14)


@pytest.mark.requirement("attention:digest")
def test_one_that_would_be_too_long_is_several_and_each_member_is_in_one() -> None:
    digests = shared_out([*many(30, room=MOST_CHARACTERS // 10), member("photo", room=None), member("more")])

    assert [len(one) for one in digests] == [10, 10, 10, 1, 1]
    assert digests[-1][0].notice.id == "photo"
    assert len({one.notice.id for digest in digests for one in digest}) == 32


@pytest.mark.requirement("attention:digest")
def test_a_line_has_the_subject_and_the_whole_text_in_words() -> None:
    assert line_of(said("It *failed*", subject="Backup", format=Format.MARKDOWN)) == "• cook: Backup: It failed"
    assert line_of(said("x" * 3000)) == "• cook: " + "x" * 3000


def test_a_text_of_many_lines_cannot_pass_for_the_line_of_another() -> None:
    assert line_of(said("Hi\n• oven: on fire")) == "• cook: Hi • oven: on fire"
    long = line_of(said("x" * 300 + "\n• oven: on fire"))
    assert long.splitlines()[1] == "  | • oven: on fire"


@pytest.mark.requirement("attention:digest")
@pytest.mark.parametrize(
    "asked",
    [
        said("A plan", attachments=(PLAN,)),
        said("Read", markup=Markup(force_reply=True)),
        said("Yes, at eight", intent=Intent.REPLY),
        said("x" * 4001),
    ],
    ids=["files", "buttons", "a reply", "a long text"],
)
def test_what_no_line_can_stand_for_takes_none(asked: Outgoing) -> None:
    assert room_of(asked) is None
    assert room_of(said("x" * 4000)) == 4009


@pytest.mark.requirement("attention:digest")
def test_its_id_is_that_of_its_members_and_its_way() -> None:
    two = many(2)
    ids = {made(two).id, made(many(3)).id, made(two, channel="email").id, made([two[0], member("n01", round=1)]).id}

    assert len(ids) == 4
    assert made(two).id == made(two, late=5).id
