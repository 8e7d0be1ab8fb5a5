"""One sentence says what a picture shows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from postroom.domain.span_figures import Counted, CountedDeliveries, CountedNotices, CountedQuestions, FigureSpan, Took
from postroom.domain.time import parse_text
from postroom.work.figures.report import SpanReport, added_deliveries, added_notices, added_questions
from postroom.work.figures.sentences import (
    notices_sentence,
    questions_sentence,
    speed_sentence,
    success_sentence,
    took_words,
    volume_sentence,
    whole_sentence,
)
from postroom.work.figures.stretches import edges

EDGES = edges(parse_text("2026-11-05T12:00:00Z"), FigureSpan.WEEK, "Europe/Vienna")


def rows(**states: int) -> list[Counted]:
    return [Counted(place=4, channel="email", agent="health", state=state, many=many) for state, many in states.items()]


def times(place: int, *seconds: float) -> list[Took]:
    return [Took(place=place, channel="email", agent="health", milliseconds=one * 1000) for one in seconds]


def report(
    sent: dict[str, int] | None = None,
    notices: dict[str, int] | None = None,
    questions: dict[str, int] | None = None,
    took: list[Took] | None = None,
) -> SpanReport:
    counted, took = rows(**(sent or {})), took or []
    found = CountedDeliveries(outcomes=counted, by_agent=counted, arrivals=took, is_whole=True)
    asked = CountedQuestions(endings=rows(**(questions or {})), answers=took, is_whole=True)
    return SpanReport(
        span=FigureSpan.WEEK,
        zone="Europe/Vienna",
        since_us=EDGES[0],
        until_us=EDGES[-1],
        channel=None,
        agent=None,
        person=None,
        deliveries=added_deliveries(found, EDGES),
        notices=added_notices(CountedNotices(states=rows(**(notices or {})), is_whole=True), EDGES),
        questions=added_questions(asked, EDGES),
    )


def test_volume_is_said_with_what_was_slow() -> None:
    one = report({"delivered": 312, "failed": 2}, took=[*times(0, *[1.0] * 20), *times(4, 20, 21, 22)])

    assert one.deliveries is not None
    assert volume_sentence(one, one.deliveries) == "312 delivered, 2 failed; e-mail was slow on Tuesday."


def test_what_is_rare_is_named_only_when_it_is_there() -> None:
    one = report({"delivered": 1, "dead_lettered": 1, "pending": 2, "in_progress": 1, "withdrawn": 4})

    assert one.deliveries is not None
    said = volume_sentence(one, one.deliveries)
    assert said == "1 delivered, 0 failed, 1 given up as dead letter, 3 on their way and 4 taken back."


def test_success_and_speed_are_said_with_the_worst_of_them() -> None:
    one = report({"delivered": 999, "failed": 1}, took=times(4, 0.2, 0.4))

    assert one.deliveries is not None
    assert success_sentence(one, one.deliveries) == (
        "99.9 % of what ended was delivered; the least, 99.9 %, on Tuesday."
    )
    assert speed_sentence(one, one.deliveries) == "Half arrived within 200 ms, 95 of 100 within 400 ms."


def test_notices_and_questions_are_said() -> None:
    one = report(
        notices={"sent": 5, "released": 1, "held": 2, "digested": 3, "muted": 1},
        questions={"answered": 3, "expired": 1, "open": 2},
        took=times(4, 30, 120, 600),
    )

    assert notices_sentence(one, one.notices) == "Of 12 notices 6 sent, 2 held, 3 in a digest and 1 not sent."
    assert questions_sentence(one, one.questions) == (
        "6 asked: 3 answered, 1 expired and 2 still open; half of the answers came within 2 minutes."
    )


def test_nothing_is_said_to_be_nothing() -> None:
    one = report()

    assert one.is_empty and one.deliveries is not None
    assert volume_sentence(one, one.deliveries) == "Nothing was sent in the last 7 days."
    assert success_sentence(one, one.deliveries) == "Nothing has ended yet, so there is no rate."
    assert speed_sentence(one, one.deliveries) == "Nothing has arrived yet, so there is no time to show."
    assert notices_sentence(one, one.notices) == "No notice was held or weighed in the last 7 days."
    assert questions_sentence(one, one.questions) == "Nothing was asked in the last 7 days."


def test_that_not_all_was_looked_at_is_said() -> None:
    one = report({"delivered": 1})
    assert one.deliveries is not None

    assert whole_sentence(one, one.deliveries, 50_000) == ""
    assert "newest 50,000" in whole_sentence(one, replace(one.deliveries, is_whole=False), 50_000)


@pytest.mark.parametrize(("took", "said"), [(None, "not known"), (12, "12 ms"), (1234, "1.2 s"), (61_000, "1 minute")])
def test_how_long_it_took_is_said_as_people_do(took: float | None, said: str) -> None:
    assert took_words(took) == said
