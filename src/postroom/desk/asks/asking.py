"""Which questions are open for the person at this desk, kept up to date from the household's API."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from postroom.kernel.acts.reading import made
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Signal
from postroom.kernel.values.errors import PostroomError, SettingsError
from postroom.kernel.values.ids import seconds
from postroom.message.delivery import Format
from postroom.questions.acts import AnswerAsk, ListAsks
from postroom.questions.model import Option, QuestionKind, QuestionStatus, Said, Wording
from postroom.questions.shapes import AskBody
from postroom.settings import Secret, Settings
from postroom.settings.reach import HouseholdClient

# Whose questions these are: a household, and the token of one person there.

_PERSONS: Final = ("pr_person_", "pr_user_")  # how a person's token begins; no other one answers


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseholdAddress:
    """`token` is a person's own: whose questions are shown, and in whose name they are answered."""

    url: str
    token: Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What the command line says."""

    url: str | None = None
    token: str | None = None


def whose_questions(
    settings: Settings, named: Named, owners_token: Callable[[Settings], str | None]
) -> HouseholdAddress | None:
    """None when the desk works alone. What is named on the command line must be whole; the rest may be missing."""
    if named.url is None and named.token is None:
        return _known(settings, owners_token) if settings.desk.questions else None
    url, token = named.url or settings.api_url, named.token or settings.token.reveal()
    if not token:
        raise SettingsError("--household needs the token of a person there: --token, or POSTROOM_TOKEN.")
    if not url.startswith(("http://", "https://")):
        raise SettingsError("--household must begin with http:// or https://.")
    return HouseholdAddress(url=url.rstrip("/"), token=Secret(token))


def _known(settings: Settings, owners_token: Callable[[Settings], str | None]) -> HouseholdAddress | None:
    """The household that commands speak to, otherwise the one on this machine if its owner has a token."""
    if settings.url and settings.token.reveal().startswith(_PERSONS):
        return HouseholdAddress(url=settings.api_url, token=settings.token)
    token = None if settings.url else owners_token(settings)
    return HouseholdAddress(url=settings.api_url, token=Secret(token)) if token else None


# A question as the household tells of it.


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """`revision` counts its wordings: what is answered is the one that was on the screen."""

    id: str
    revision: int
    asker: str
    wording: Wording


def ask_of(body: AskBody) -> Ask | None:
    """None without its words."""
    if (asked := body.asked) is None:
        return None
    wording = Wording(
        kind=QuestionKind(asked.kind),
        question=asked.question,
        context=asked.context,
        options=tuple(Option(value=one.value, label=one.label, description=one.description) for one in asked.options),
        multiple=asked.multiple,
        form=asked.form,
        allow_text=asked.allow_text,
        secret=asked.secret,
        format=Format(asked.format),
    )
    return Ask(id=body.ask_id, revision=asked.revision, asker=asked.asked_by, wording=wording)


# The household as the desk calls it: what is open, that something changed, and an answer.

_PAGE: Final = 200


def is_away(error: PostroomError) -> bool:
    """It does not answer, or cannot at the moment; everything else is its answer to this desk."""
    return error.code.status in (408, 429) or error.code.status >= 500


class AskingHousehold:
    """Raises what the household says no with, and NoAnswer."""

    def __init__(self, at: HouseholdAddress) -> None:
        self._client = HouseholdClient(at.url)
        self._token = at.token.reveal()

    async def close(self) -> None:
        await self._client.close()

    async def open_asks(self) -> list[Ask]:
        """The oldest first."""
        page = await self._client.ask(ListAsks(status=QuestionStatus.OPEN, mine=True, limit=_PAGE), self._token)
        return [ask for body in reversed(page.asks) if (ask := ask_of(body)) is not None]

    async def answer(self, ask: Ask, said: Said, key: str) -> None:
        """Under the same key it counts once, however often it is sent."""
        one = made(
            AnswerAsk,
            ask_id=ask.id,
            value=said.value,
            text=said.text,
            selected=said.selected,
            fields=said.fields,
            declined=said.declined or None,
            channel="desk",
            revision=ask.revision,
        )
        await self._client.ask(one, self._token, key)

    @asynccontextmanager
    async def news(self) -> AsyncIterator[AsyncIterator[None]]:
        """Something for each event, until the household ends the stream."""
        async with self._client.following("/v1/asks/stream", self._token) as pieces:
            yield _events(pieces)


async def _events(pieces: AsyncIterator[bytes]) -> AsyncIterator[None]:
    """What an event says is not read: one more look at what is open costs little and is always right."""
    async for piece in pieces:
        if b"event:" in piece or b"data:" in piece:
            yield


# Which questions are open, and which of them this desk shows next.


class Board:
    """A question that was put aside stays so until its wording changes."""

    def __init__(self) -> None:
        self.changed = Signal()
        self._open: dict[str, Ask] = {}
        self._aside: dict[str, int] = {}

    def put(self, asks: Iterable[Ask]) -> set[str]:
        """All that are open now, the oldest first; answers with those that no longer are."""
        before, self._open = set(self._open), {ask.id: ask for ask in asks}
        self._aside = {id: revision for id, revision in self._aside.items() if id in self._open}
        self.changed.ring()
        return before - set(self._open)

    def next(self) -> Ask | None:
        return next((ask for ask in self._open.values() if self._aside.get(ask.id) != ask.revision), None)

    def holds(self, ask: Ask) -> bool:
        """Still open, in these words."""
        held = self._open.get(ask.id)
        return held is not None and held.revision == ask.revision

    def put_aside(self, ask: Ask) -> None:
        self._aside[ask.id] = ask.revision


# One of several desks that run for the same person on one machine, so that a question is on the screen once.


class OnlyOne:
    """Held until the process ends; a process that dies lets go of it."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._descriptor: int | None = None

    def take(self) -> bool:
        """True also where no file can be written: then there is no telling of others."""
        if self._descriptor is not None:
            return True
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            return True
        try:
            _lock(descriptor)
        except OSError:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = None


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


# Looks at what is open, and again with every event.

logger = logging.getLogger(__name__)

_AGAIN_SECONDS: Final = 1.0  # the household ends a stream now and then
_LONGEST_SECONDS: Final = 30.0
_NOT_SERVED_SECONDS: Final = 60.0
_OTHER_DESK_SECONDS: Final = 5.0


def pause_seconds(failures: int) -> float:
    """Doubling, so that a household that is away for long is not asked all the time."""
    longest: float = min(2.0 ** min(failures - 1, 10), _LONGEST_SECONDS)
    return longest


class AskListener:
    """`forget` hears of every question that is no longer open."""

    def __init__(
        self, household: AskingHousehold, board: Board, clock: Clock, only_one: OnlyOne, forget: Callable[[str], None]
    ) -> None:
        self._household = household
        self._board = board
        self._clock = clock
        self._only_one = only_one
        self._forget = forget
        self._failures = 0
        self._complaint = ""

    async def look(self) -> int:
        """Listens until the stream ends; when to do so again. What was on the board stays while nothing is known."""
        return self._clock.now_us() + seconds(await self._listen())

    async def _listen(self) -> float:
        if not self._only_one.take():
            return _OTHER_DESK_SECONDS
        try:
            await self._follow()
        except PostroomError as error:
            if is_away(error):
                self._failures += 1
                self._complain("the household does not answer; its questions are shown here when it does")
                return pause_seconds(self._failures)
            self._put([])
            self._complain(f"the household's questions cannot be shown here: {error.message}")
            return _NOT_SERVED_SECONDS
        return _AGAIN_SECONDS

    async def _follow(self) -> None:
        async with self._household.news() as news:
            await self._look()
            self._failures, self._complaint = 0, ""
            async for _ in news:
                await self._look()

    async def _look(self) -> None:
        self._put(await self._household.open_asks())

    def _put(self, asks: list[Ask]) -> None:
        for gone in self._board.put(asks):
            self._forget(gone)

    def _complain(self, complaint: str) -> None:
        """Once, not at every try."""
        if complaint != self._complaint:
            logger.warning("%s", complaint)
        self._complaint = complaint
