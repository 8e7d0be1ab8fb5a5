"""What an open page is told, and what its silence costs."""

from __future__ import annotations

from postroom.console.live import Ear
from postroom.kernel.serving.streams import End, StreamEvent
from postroom.overview.today import told


class Session:
    def __init__(self, is_open: bool = True) -> None:
        self.is_open = is_open
        self.looks = 0

    async def __call__(self) -> bool:
        self.looks += 1
        return self.is_open


def heard(*topics: str) -> Ear:
    ear = Ear("ann")
    for topic in topics:
        ear.hear(topic)
    return ear


async def test_its_session_is_looked_at_once_for_all_it_is_told_and_not_while_nothing_happens() -> None:
    session = Session()

    assert [one async for one in told(session, heard())] == [] and session.looks == 0
    words = [one async for one in told(session, heard("questions", "deliveries"))]

    assert [one.name for one in words if isinstance(one, StreamEvent)] == ["deliveries", "questions"]
    assert session.looks == 1


async def test_where_the_session_was_ended_the_stream_ends_before_the_first_word() -> None:
    first = await anext(told(Session(is_open=False), heard("deliveries")))

    assert isinstance(first, End)
