"""One open question after the other on the screen, and what the person did with it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, assert_never

from postroom.domain.clock import Clock
from postroom.domain.time import seconds
from postroom.programs.desk.asks.asked import Ask
from postroom.programs.desk.asks.board import Board
from postroom.programs.desk.asks.card import Before, message_sheet, question_sheet
from postroom.programs.desk.asks.form import in_labels
from postroom.programs.desk.asks.given import given
from postroom.programs.desk.asks.household import AnswerVerdict, AskingHousehold, Away, NotServed, Taken
from postroom.programs.desk.asks.listening import pause_seconds
from postroom.programs.desk.desk import Desk
from postroom.programs.desk.outcome import FAILURES, PopupEnding, PopupOutcome

logger = logging.getLogger(__name__)

_BUSY_SECONDS: Final = 1.0
_NO_WINDOW_SECONDS: Final = 60.0
_KEPT_WORDS: Final = "The household does not answer at the moment. Your answer is sent as soon as it does."


@dataclass(slots=True, kw_only=True)
class Shower:
    desk: Desk
    household: AskingHousehold
    board: Board
    clock: Clock
    mint: Callable[[int], str]
    settle_seconds: float
    before: dict[str, Before] = field(default_factory=dict)

    async def look(self) -> int | None:
        """Until one question has been dealt with; when to look again, None for when the board changes."""
        ask = self.board.next()
        if ask is None:
            return None
        ending = await self._shown(ask) if self.desk.is_free() else PopupEnding(outcome=PopupOutcome.REPLACED)
        wait_seconds = 0.0 if ending is None else await self._after(ask, ending)
        return self.clock.now_us() + seconds(wait_seconds)

    def forget(self, ask_id: str) -> None:
        self.before.pop(ask_id, None)

    async def _shown(self, ask: Ask) -> PopupEnding | None:
        """None when it ended elsewhere, or changed, while it was on the screen."""
        before = self.before.get(ask.id, Before())
        sheet = partial(question_sheet, ask, before, settle_seconds=self.settle_seconds)
        showing = asyncio.create_task(self.desk.show(sheet))
        try:
            while not showing.done():
                news = self.board.changed.news()
                if not self.board.holds(ask):
                    return None
                changed = asyncio.create_task(news.wait())
                await asyncio.wait({showing, changed}, return_when=asyncio.FIRST_COMPLETED)
                changed.cancel()
            return showing.result()
        finally:
            await _close(showing)

    async def _after(self, ask: Ask, ending: PopupEnding) -> float:
        """How long to leave the screen alone."""
        if ending.outcome in FAILURES:
            logger.warning("a question of the household cannot be shown here: %s", ending.outcome.value)
            return _NO_WINDOW_SECONDS
        answer = given(ask.wording, ending)
        if answer is not None:
            await self._judged(ask, ending, await self._sent(ask, answer))
            return 0.0
        self._keep(ask, ending)
        if ending.outcome is PopupOutcome.REPLACED:
            return _BUSY_SECONDS
        self.board.put_aside(ask)
        return 0.0

    async def _sent(self, ask: Ask, answer: dict[str, Any]) -> AnswerVerdict:
        """As often as it takes, under one key: what a person answered is not lost with a connection."""
        key, failures = self.mint(self.clock.now_us()), 0
        while True:
            try:
                return await self.household.answer(ask, answer, key)
            except NotServed as refusal:
                return AnswerVerdict(taken=Taken.REFUSED, reason=str(refusal))
            except Away:
                failures += 1
            if failures == 1:
                await self._tell(_KEPT_WORDS)
            await self.clock.wait(asyncio.Event(), self.clock.now_us() + seconds(pause_seconds(failures)))

    async def _judged(self, ask: Ask, ending: PopupEnding, verdict: AnswerVerdict) -> None:
        match verdict.taken:
            case Taken.ACCEPTED:
                self.board.put_aside(ask)
            case Taken.TOO_LATE:
                self.board.put_aside(ask)
                await self._tell(f"Your answer came too late: {verdict.reason}.")
            case Taken.REFUSED:
                self.board.put_aside(ask)
                await self._tell(f"This cannot be answered here: {verdict.reason}.")
            case Taken.NOT_AN_ANSWER:
                form = ask.wording.form
                self._keep(ask, ending, in_labels(form, verdict.reason) if form else verdict.reason)
            case _ as never:
                assert_never(never)

    def _keep(self, ask: Ask, ending: PopupEnding, problem: str = "") -> None:
        """For the next popup of the same question; a secret is kept nowhere, and other words have their draft."""
        if ask.wording.secret:
            self.before[ask.id] = Before(problem=problem)
        elif problem or ending.fields:
            filled = ending.fields if ask.wording.form else None
            self.before[ask.id] = Before(problem=problem, text=ending.text, filled=filled)

    async def _tell(self, words: str) -> None:
        await self.desk.show(partial(message_sheet, words))


async def _close(showing: asyncio.Task[PopupEnding]) -> None:
    showing.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await showing
