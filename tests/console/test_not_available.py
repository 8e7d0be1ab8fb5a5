"""A source that does not answer is said to be not available; nothing is ever made up for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from postroom.approvals.approvals import Approvals
from postroom.approvals.page import ApprovalPages, RulePages, approvals_section
from postroom.approvals.rules import ApprovalPolicy
from postroom.approvals.store.approvals import StoredApprovals
from postroom.console.visit import Visit
from postroom.delivery.reading.counts import Counted, DeadLetterCounts, Depth, Figures, Spread, Tally
from postroom.delivery.rules.breaker import Circuit, CircuitState
from postroom.delivery.workers import LivingWorker
from postroom.kernel.guard.tools import anyone
from postroom.kernel.running.process import Seal
from postroom.kernel.values.errors import StoreUnavailable, TargetUnavailable
from postroom.kernel.values.principal import Principal
from postroom.message.delivery import ClosedAddress
from postroom.message.inbound import InboundTrouble
from postroom.overview.counts import DayCounts, WaitingNow
from postroom.overview.health import health_section
from postroom.overview.today import Day, TodayPage, today_section
from postroom.questions.model import SubjectKind
from postroom.questions.page import QuestionCard
from postroom.questions.store.questions import StoredQuestions
from postroom.testing.case import HeldFiles
from tests.clock import FakeClock
from tests.console.visiting import opened

SOURCES = ("tallies", "trouble", "circuits", "depth", "latest", "waits", "questions", "series")


class Household:
    """Well and idle, except for what is away."""

    channels = ("telegram",)

    def __init__(self, *away: str) -> None:
        self._away = away

    def _answers(self, name: str) -> None:
        if name in self._away:
            raise StoreUnavailable("away")

    async def tallies(self, since_us: int) -> Sequence[Tally]:
        self._answers("tallies")
        return [Tally(channel="telegram", figures=Figures(), last_delivered_at_us=None)]

    async def trouble(self) -> DeadLetterCounts:
        self._answers("trouble")
        return DeadLetterCounts(given_up=0, held=0)

    async def circuits(self, now_us: int) -> Mapping[str, Circuit]:
        self._answers("circuits")
        return {"telegram": Circuit(state=CircuitState.OPEN)} if "messenger" in self._away else {}

    async def depth(self) -> Depth:
        self._answers("depth")
        return Depth(counts={}, oldest_created_at_us=None)

    async def latest(self, limit: int) -> Sequence[Mapping[str, Any]]:
        self._answers("latest")
        return []

    async def waits(self, who: Principal, now_us: int) -> WaitingNow:
        self._answers("waits")
        return WaitingNow(questions=0, approvals=0, unread=0, held=0)

    async def waiting(self, who: Principal, *, besides: SubjectKind | None = None) -> int:
        self._answers("questions")
        return 0

    async def cards(self, visit: Visit, *, besides: SubjectKind | None = None) -> Sequence[QuestionCard]:
        self._answers("questions")
        return []

    async def hearing(self) -> Sequence[InboundTrouble]:
        return []

    async def arrivals(self, since_us: int, until_us: int) -> Mapping[str, Spread]:
        self._answers("series")
        return {}

    async def decided(self, since_us: int) -> Spread | None:
        self._answers("series")
        return None

    async def workers(self, now_us: int) -> Sequence[LivingWorker]:
        self._answers("series")
        return [LivingWorker(name="barn (12)", alone=True, since_us=now_us, seen_us=now_us)]

    async def closed(self, most: int) -> Sequence[ClosedAddress]:
        return []

    async def days(self, edges_us: Sequence[int]) -> Sequence[DayCounts]:
        self._answers("series")
        return []

    async def series(self, edges_us: Sequence[int], most: int) -> Sequence[Counted]:
        self._answers("series")
        return []

    async def call(
        self, caller: Principal, tool: str, arguments: Mapping[str, Any], timeout_seconds: float = 30.0
    ) -> dict[str, Any]:
        raise TargetUnavailable("messenger cannot be reached")


async def today(*away: str) -> str:
    house = Household(*away)
    return await opened(today_section(TodayPage(overview=house, record=house, questions=house)))


async def test_a_household_that_is_well_says_so() -> None:
    shown = await today()

    assert "All well" in shown and "not available" not in shown


async def test_today_says_what_needs_a_look() -> None:
    lost, paused = DeadLetterCounts(given_up=2, held=1), {"email": Circuit(state=CircuitState.OPEN)}
    day = Day(tallies=[], trouble=lost, circuits=paused, depth=None, latest=[])

    assert [words for words, _ in day.troubles] == ["2 dead letters", "1 held, perhaps arrived", "E-mail is paused"]
    assert "Needs a look" in (shown := await today("messenger")) and "Telegram is paused" in shown


@pytest.mark.parametrize("away", [one for one in SOURCES if one != "series"])
async def test_today_never_counts_what_it_cannot_see(away: str) -> None:
    shown = await today(away)

    assert "not available" in shown
    assert ("All well" in shown) == (away not in ("trouble", "circuits"))


async def test_today_with_nothing_to_read_shows_no_figure_at_all() -> None:
    shown = await today(*SOURCES)

    assert 'tile-value">0' not in shown and "All well" not in shown


async def test_health_without_the_messenger_tells_what_the_ledger_last_heard() -> None:
    shown = await opened(health_section(Household("messenger"), Household()))

    assert "The messenger did not answer" in shown and "Paused after failures" in shown
    assert "what is left of the limits is not available" in shown


async def test_health_with_nothing_to_read_says_so_for_each_part() -> None:
    shown = await opened(health_section(Household(*SOURCES), Household()))

    assert shown.count("not available") >= 4 and 'tile-value">0' not in shown


async def test_health_names_the_processes_that_send_where_it_knows() -> None:
    known, away = Household(), Household("series")

    assert "postroom worker on barn (12)" in await opened(health_section(known, known))
    assert "Who sends" not in await opened(health_section(away, away))


# -- A source that does not answer is said to be away, and never taken for nothing --


class AwayRecord(StoredApprovals):
    async def overdue(self, now_us: int) -> Sequence[str]:
        raise TargetUnavailable("the store cannot be reached")


def away(is_on: bool = True) -> Approvals:
    return Approvals(
        record=AwayRecord(None, str),  # type: ignore[arg-type]  # it is away
        questions=StoredQuestions(None, Seal(bytes(32))),  # type: ignore[arg-type]
        policy=ApprovalPolicy(),
        channels={},
        known_channels={},
        clock=FakeClock(),
        mint=str,
        released=lambda: None,
        may_decide=anyone,
        is_on=is_on,
    )


async def test_approvals_that_are_away_are_not_nothing() -> None:
    pages = ApprovalPages(approvals=away(), letters=(), files=HeldFiles())
    rules = RulePages(approvals=away(), channels=["email"])
    shown = await opened(approvals_section(pages, rules, anyone))

    assert "This source is not available just now." in shown
    assert "Nothing waits for you" not in shown


async def test_approvals_that_are_off_say_so() -> None:
    pages = ApprovalPages(approvals=away(is_on=False), letters=(), files=HeldFiles())
    rules = RulePages(approvals=away(is_on=False), channels=["email"])
    shown = await opened(approvals_section(pages, rules, anyone))

    assert "Approvals are off" in shown
