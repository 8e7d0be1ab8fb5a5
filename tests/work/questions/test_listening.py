"""How far what people sent has been read, and gaps in listening."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.clock import FakeClock

from postroom.domain.time import seconds
from postroom.work.questions.listening import GAP_SECONDS, Listening


@dataclass
class Marks:
    kept: dict[str, int] = field(default_factory=dict)

    async def offset(self, source: str) -> int | None:
        return self.kept.get(source)

    async def save_offset(self, source: str, position: int) -> None:
        self.kept[source] = position


@dataclass
class Agenda:
    due_us: int | None = None

    async def next_due(self, after_us: int) -> int | None:
        return self.due_us if self.due_us is not None and self.due_us > after_us else None


@dataclass
class Ear:
    marks: Marks = field(default_factory=Marks)
    agenda: Agenda = field(default_factory=Agenda)
    clock: FakeClock = field(default_factory=FakeClock)
    gaps: list[tuple[str, int, int]] = field(default_factory=list)
    told: list[int] = field(default_factory=list)

    def started(self) -> Listening:
        async def repair(channel: str, since_us: int, until_us: int) -> None:
            self.gaps.append((channel, since_us, until_us))

        listening = Listening(self.marks, self.agenda, self.clock, lambda: self.told.append(1))
        listening.after_a_gap(repair)
        listening.expect("telegram")
        return listening


async def test_nothing_is_known_before_the_first_look_and_nothing_is_owed_where_none_listens() -> None:
    ear = Ear()
    assert Listening(ear.marks, ear.agenda, ear.clock, lambda: None).caught_up() is None
    listening = ear.started()
    assert listening.caught_up() == 0
    await listening.looked("telegram", ear.clock.now_us(), everything=False)
    assert listening.caught_up() == 0
    await listening.looked("telegram", ear.clock.now_us(), everything=True)
    assert listening.caught_up() == ear.clock.now_us()
    assert ear.told == [1]


async def test_a_look_does_not_last_beyond_the_next_deadline() -> None:
    ear = Ear()
    listening, now = ear.started(), ear.clock.now_us()
    assert await listening.patience("telegram", 25) == 0
    await listening.looked("telegram", now, everything=True)
    assert await listening.patience("telegram", 25) == 25
    ear.agenda.due_us = now + seconds(3.2)
    assert await listening.patience("telegram", 25) == 4
    ear.clock.jump(4)
    assert await listening.patience("telegram", 25) == 0
    await listening.looked("telegram", ear.clock.now_us(), everything=True)
    assert await listening.patience("telegram", 25) == 25


async def test_a_gap_is_repaired_once_also_over_a_restart() -> None:
    ear = Ear()
    listening, first = ear.started(), ear.clock.now_us()
    await listening.looked("telegram", first, everything=True)
    ear.clock.jump(GAP_SECONDS)
    await listening.looked("telegram", ear.clock.now_us(), everything=True)
    assert ear.gaps == []
    before = ear.clock.now_us()
    ear.clock.jump(GAP_SECONDS + 1)
    for listening in (ear.started(), ear.started()):
        await listening.looked("telegram", ear.clock.now_us(), everything=True)
    assert ear.gaps == [("telegram", before, before + seconds(GAP_SECONDS + 1))]
