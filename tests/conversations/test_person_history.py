"""Everything said with a person in one order, from sources that are read to different depths."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from postroom.conversations.model import HistoryEntry, HistoryPart, SentToPerson, merged


def entry(number: int) -> HistoryEntry:
    sent = SentToPerson(
        id=f"{number:04}",
        channel="c",
        address="a",
        status="delivered",
        origin_butler="b",
        subject=None,
        text="",
        created_us=number,
    )
    return HistoryEntry(id=sent.id, what=sent)


def part(numbers: list[int], before: str | None, limit: int) -> HistoryPart:
    """As a store reads a source: one page, and how far down it is complete."""
    below = sorted((one for one in numbers if before is None or f"{one:04}" < before), reverse=True)
    more = len(below) > limit
    return HistoryPart(entries=[entry(one) for one in below[:limit]], floor=f"{below[limit - 1]:04}" if more else None)


@given(
    sources=st.lists(st.lists(st.integers(0, 60), unique=True), min_size=1, max_size=4),
    limit=st.integers(1, 7),
)
def test_page_after_page_everything_comes_once_and_in_order(sources: list[list[int]], limit: int) -> None:
    apart = [[one * 4 + place for one in numbers] for place, numbers in enumerate(sources)]
    seen: list[str] = []
    before: str | None = None
    for _ in range(300):
        page, before = merged([part(numbers, before, limit) for numbers in apart], limit)
        assert len(page) <= limit
        seen += [one.id for one in page]
        if before is None:
            break

    assert seen == sorted((f"{one:04}" for numbers in apart for one in numbers), reverse=True)


def test_below_the_highest_floor_nothing_is_shown_yet() -> None:
    deep = HistoryPart(entries=[entry(9), entry(2)], floor=None)
    shallow = HistoryPart(entries=[], floor="0005")  # read so far, and found nothing that fits

    page, before = merged([deep, shallow], 10)

    assert ([one.id for one in page], before) == (["0009"], "0005")
