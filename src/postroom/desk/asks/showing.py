"""Open questions on the screen, one after the other, and what the person did with each."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from dataclasses import field as dataclasses_field
from functools import partial
from pathlib import Path
from typing import Final

from postroom.desk import history
from postroom.desk.asks.asking import (
    Ask,
    AskingHousehold,
    AskListener,
    Board,
    HouseholdAddress,
    OnlyOne,
    is_away,
    pause_seconds,
)
from postroom.desk.desk import Desk, Look
from postroom.desk.model import FAILURES, PopupEnding, PopupOutcome, PopupSettings, Sheet, SheetField
from postroom.kernel.running.clock import Clock, SystemClock
from postroom.kernel.running.loop import Loops
from postroom.kernel.values.errors import PostroomError
from postroom.kernel.values.ids import IdMint, seconds
from postroom.message.outgoing import known_as
from postroom.message.wire import plain_words
from postroom.questions.model import RATHER_NOT, QuestionKind, Said, Wording
from postroom.questions.rules.form import FormField, form_fields
from postroom.questions.rules.reading import filled_in

# A flat JSON Schema as lines to fill in.

Filled = Mapping[str, Sequence[str]]
_FORMATS: Final = {
    "email": "An e-mail address",
    "uri": "A web address",
    "date": "As 2026-01-31",
    "date-time": "As 2026-01-31T14:30:00Z",
}


def sheet_fields(wording: Wording, filled: Filled | None = None) -> tuple[SheetField, ...]:
    """With what was filled in before, otherwise with the form's own defaults."""
    return tuple(
        SheetField(
            name=field.name,
            label=field.title,
            hint=_hint(field),
            required=field.is_required,
            choices=field.offered,
            several=field.kind == "array",
            value=field.at_first if filled is None else tuple(filled.get(field.name, ())),
        )
        for field in form_fields(wording.form)
    )


def in_labels(wording: Wording, words: str) -> str:
    """What the household says about a field, with the name that the person reads."""
    for field in form_fields(wording.form):
        found = re.search(rf"(?<!\w){re.escape(field.name)}: ", words)
        if found:
            words = f"{words[: found.start()]}{field.title}: {words[found.end() :]}"
    return words


def _hint(field: FormField) -> str:
    """The asker's words, then what the field takes, where that is not plain to see."""
    low, high = field.minimum, field.maximum
    takes = {"integer": "A whole number", "number": "A number"}.get(field.kind, "")
    if takes and low is not None and high is not None:
        takes += f" from {low} to {high}"
    elif takes and (low is not None or high is not None):
        takes += f" of at least {low}" if low is not None else f" of at most {high}"
    takes = takes or _FORMATS.get(field.format, "")
    return ". ".join(filter(None, [field.description.rstrip(". "), takes]))


# What the popup of a question looks like.

LATER: Final = "Later"
SEND: Final = "Send"
TITLE: Final = "Postroom"
_ANSWER_LIMIT: Final = 32_000  # what the household takes


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """What stood in an earlier popup of the same question, and why that was no answer."""

    problem: str = ""
    text: str = dataclasses_field(default="", repr=False)
    filled: Filled | None = dataclasses_field(default=None, repr=False)


def question_sheet(ask: Ask, before: Before, look: Look, *, settle_seconds: float) -> Sheet:
    wording = ask.wording
    return Sheet(
        message=_message(wording),
        title=f"Question from {known_as(ask.asker)}",
        project=f"{known_as(ask.asker)} asks",
        palette=look.palette,
        options=tuple(labels(wording)),
        allow_multiple=wording.multiple,
        secret=wording.secret,
        fields=sheet_fields(wording, before.filled),
        has_reply=_takes_words(wording),
        text=before.text,
        problem=before.problem,
        needs_answer=True,
        settle_seconds=settle_seconds,
        submit_label=SEND,
        cancel_label=LATER,
        decline_label=RATHER_NOT,
        reply_limit=_ANSWER_LIMIT,
        draft_file=str(_draft_folder(look.drafts, ask.id) / f"{look.token}.json"),
        turn_file=look.turn_file,
        turn_token=look.token,
    )


def message_sheet(message: str, look: Look) -> Sheet:
    """One that asks nothing and leaves by itself."""
    return Sheet(
        message=message,
        title=TITLE,
        wait_for_response=False,
        timeout_seconds=look.message_seconds,
        palette=look.palette,
        draft_file=str(look.drafts / f"{look.token}.json"),
        turn_file=look.turn_file,
        turn_token=look.token,
    )


def _draft_folder(folder: Path, ask_id: str) -> Path:
    """Each question has drafts of its own, and loses them when it ends."""
    return history.folder_for(folder, "household", ask_id)


def labels(wording: Wording) -> dict[str, str]:
    """Each option's value by what its button says; buttons that would say the same say their value, too."""
    said = [option.label for option in wording.options]
    return {
        option.label if said.count(option.label) == 1 else f"{option.label} ({option.value})": option.value
        for option in wording.options
    }


def _takes_words(wording: Wording) -> bool:
    """To approve takes a button, and a form has lines of its own."""
    return wording.kind is QuestionKind.TEXT or (wording.kind is QuestionKind.CHOICE and wording.allow_text)


def _message(wording: Wording) -> str:
    described = [f"{one.label}: {one.description}" for one in wording.options if one.description]
    asked = [plain_words(text, wording.format) for text in (wording.question, wording.context) if text]
    return "\n\n".join(filter(None, [*asked, "\n".join(described)]))


# What the person did in it.


def given(wording: Wording, ending: PopupEnding) -> Said | None:
    """None when they gave no answer: to close a window is none."""
    if ending.outcome is PopupOutcome.DECLINED:
        return Said(declined=True)
    if ending.outcome is not PopupOutcome.SUBMITTED:
        return None
    if wording.form:
        return Said(fields=filled_in(wording.form, lambda name: ending.fields.get(name, ())))
    values = tuple(labels(wording)[label] for label in ending.chosen)
    if values:
        return Said(selected=values) if wording.multiple else Said(value=values[0])
    return Said(text=ending.text)


# One after the other.

logger = logging.getLogger(__name__)

_BUSY_SECONDS: Final = 1.0
_NO_WINDOW_SECONDS: Final = 60.0
_KEPT_WORDS: Final = "The household does not answer at the moment. Your answer is sent as soon as it does."
_OVER: Final = (404, 409)  # it has ended, or its words are others now
_NOT_AN_ANSWER: Final = (400, 413, 422)


def reason_of(refusal: PostroomError) -> str:
    """In words for the person; of a wrong field without its name in the API."""
    return "; ".join(one.error for one in refusal.fields) or refusal.message


@dataclass(slots=True, kw_only=True)
class Shower:
    desk: Desk
    household: AskingHousehold
    board: Board
    clock: Clock
    mint: Callable[[int], str]
    settle_seconds: float
    before: dict[str, Before] = dataclasses_field(default_factory=dict)

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
        said = given(ask.wording, ending)
        if said is not None:
            await self._judged(ask, ending, await self._sent(ask, said))
            return 0.0
        self._keep(ask, ending)
        if ending.outcome is PopupOutcome.REPLACED:
            return _BUSY_SECONDS
        self.board.put_aside(ask)
        return 0.0

    async def _sent(self, ask: Ask, said: Said) -> PostroomError | None:
        """
        Why it was not taken. As often as it takes, under one key: what a person answered is not lost with a
        connection.
        """
        key, failures = self.mint(self.clock.now_us()), 0
        while True:
            try:
                await self.household.answer(ask, said, key)
            except PostroomError as error:
                if not is_away(error):
                    return error
            else:
                return None
            failures += 1
            if failures == 1:
                await self._tell(_KEPT_WORDS)
            await self.clock.wait(asyncio.Event(), self.clock.now_us() + seconds(pause_seconds(failures)))

    async def _judged(self, ask: Ask, ending: PopupEnding, refusal: PostroomError | None) -> None:
        """One whose answer was none may answer better; for all others the question is over at this desk."""
        if refusal is not None and refusal.code.status in _NOT_AN_ANSWER:
            self._keep(ask, ending, in_labels(ask.wording, reason_of(refusal)))
            return
        self.board.put_aside(ask)
        if refusal is None:
            return
        is_over = refusal.code.status in _OVER
        said = "Your answer came too late" if is_over else "This cannot be answered here"
        await self._tell(f"{said}: {reason_of(refusal)}.")

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


# A desk that shows the questions of one person of a household while it runs.


@asynccontextmanager
async def watching(desk: Desk, settings: PopupSettings, at: HouseholdAddress | None) -> AsyncIterator[None]:
    """Without a household the desk works alone."""
    if at is None:
        yield
        return
    board, clock, only_one = Board(), SystemClock(), OnlyOne(_lock_file(settings, at))
    loops = Loops(clock, lambda _loop, _kind: None)
    household = AskingHousehold(at)
    shower = Shower(
        desk=desk,
        household=household,
        board=board,
        clock=clock,
        mint=IdMint().mint,
        settle_seconds=settings.settle_seconds,
    )

    def forget(ask_id: str) -> None:
        shower.forget(ask_id)
        _discard(_draft_folder(settings.drafts, ask_id))

    listener = AskListener(household, board, clock, only_one, forget)
    try:
        async with (
            loops.running("desk.listening", listener.look, cut_off=True),
            loops.running("desk.showing", shower.look, wake=board.changed, cut_off=True),
        ):
            yield
    finally:
        only_one.release()
        await household.close()


def _lock_file(settings: PopupSettings, at: HouseholdAddress) -> Path:
    whose = hashlib.sha256(f"{at.url}\0{at.token.reveal()}".encode()).hexdigest()[:16]
    return settings.home / "desk" / f"watching-{whose}"


def _discard(folder: Path) -> None:
    for draft in history.waiting(folder):
        history.discard(draft.file)
