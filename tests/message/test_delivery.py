"""The table of moves."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from postroom.kernel.values.errors import RETRYABLE, ErrorClass, PostroomError
from postroom.message.delivery import IN_FLIGHT, TERMINAL, TRANSITIONS, DeliveryEvent, Status, after


def test_the_end_states_are_those_nothing_leads_out_of() -> None:
    assert {Status.DELIVERED, Status.FAILED, Status.DEAD_LETTERED} == TERMINAL
    assert not TERMINAL & IN_FLIGHT


def test_every_state_can_be_reached_and_every_event_is_used() -> None:
    assert set(TRANSITIONS.values()) | {Status.AWAITING_APPROVAL} == set(Status)
    assert {event for _, event in TRANSITIONS} == set(DeliveryEvent)


@pytest.mark.parametrize(("status", "event"), list(itertools.product(Status, DeliveryEvent)), ids=str)
def test_a_move_that_is_not_in_the_table_cannot_be_made(status: Status, event: DeliveryEvent) -> None:
    if (status, event) in TRANSITIONS:
        assert after(status, event) in Status
    else:
        with pytest.raises(KeyError):
            after(status, event)


def test_every_error_of_ours_says_whether_trying_again_can_help() -> None:
    assert {str(one) for one in RETRYABLE} == {"overload_rejected", "target_unavailable", "timeout"}
    kinds = list(PostroomError.__subclasses__())
    kinds += [inner for kind in kinds for inner in kind.__subclasses__()]
    assert {kind.error_class for kind in kinds} == set(ErrorClass)


PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "reliability.md"


def test_the_drawing_shows_every_move_and_no_other() -> None:
    drawn = re.findall(r"^    (\w+) --> (\w+): (\w+)$", PAGE.read_text(), re.MULTILINE)

    assert sorted(drawn) == sorted(
        (str(before), str(after), str(event)) for (before, event), after in TRANSITIONS.items()
    )


def test_every_state_is_explained() -> None:
    explained = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE)

    assert explained == [str(status) for status in Status]
