from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from postroom.work.calendar.event import read_event

UTC = ZoneInfo("UTC")
TIMES = {"start": {"dateTime": "2026-05-04T10:00:00Z"}, "end": {"dateTime": "2026-05-04T11:00:00Z"}}
texts = st.text("Europ/20-T:é\x00", max_size=12)
names = st.sampled_from(["date", "dateTime", "timeZone", "self", "responseStatus"])
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner) | st.dictionaries(names, inner),
)


def test_an_event_without_words_is_still_an_event() -> None:
    event = read_event({"id": "x", **TIMES}, UTC)

    assert event is not None
    assert event.shown() == {
        "event_id": "x",
        "title": "",
        "start": "2026-05-04T10:00:00+00:00",
        "end": "2026-05-04T11:00:00+00:00",
        "all_day": False,
        "timezone": "UTC",
        "busy": True,
        "etag": "",
    }


@pytest.mark.parametrize("document", [None, [], "x", {}, {"id": 5, **TIMES}, {"id": "x", "status": "cancelled"}])
def test_anything_else_is_none(document: object) -> None:
    assert read_event(document, UTC) is None


@example({"attendees": 5})
@example({"start": {"dateTime": "2026-01-01T00:00", "timeZone": "Europe"}, "end": {}})
@given(st.dictionaries(st.sampled_from(["id", "start", "end", "summary", "attendees", "status"]), json_values))
def test_nothing_google_could_send_breaks_the_reading(document: dict[str, Any]) -> None:
    read_event(document, UTC)
    read_event({**document, "id": "x", **TIMES}, UTC)


def test_long_words_are_cut_and_never_part_of_a_representation() -> None:
    event = read_event({"id": "x", "summary": "s" * 5_000, "description": "canary", **TIMES}, UTC)

    assert event is not None
    assert len(event.title) == 2_000
    assert "canary" not in repr(event)
