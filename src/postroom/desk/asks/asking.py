"""Which questions are open for the person at this desk, kept up to date from the household's API."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import aiohttp

from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Signal
from postroom.kernel.values.errors import SettingsError
from postroom.kernel.values.ids import seconds
from postroom.message.delivery import Format
from postroom.questions.model import Option, QuestionKind, Wording
from postroom.settings import Secret, Settings

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


# A question as the API tells of it.


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """`revision` counts its wordings: what is answered is the one that was on the screen."""

    id: str
    revision: int
    asker: str
    wording: Wording


def read_ask(document: Mapping[str, Any]) -> Ask | None:
    """None for what this desk cannot show; the question stays open elsewhere."""
    try:
        asked = document["asked"]
        return Ask(
            id=str(document["ask_id"]),
            revision=int(asked["revision"]),
            asker=str(asked["asked_by"]),
            wording=_wording(asked),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _wording(asked: Mapping[str, Any]) -> Wording:
    form = asked.get("form")
    return Wording(
        kind=QuestionKind(asked["kind"]),
        question=str(asked["question"]),
        context=asked.get("context"),
        options=tuple(_option(one) for one in asked.get("options") or ()),
        multiple=asked.get("multiple") is True,
        form=dict(form) if form else None,
        allow_text=asked.get("allow_text") is not False,
        secret=asked.get("secret") is True,
        format=Format(asked.get("format") or Format.PLAIN),
    )


def _option(one: Mapping[str, Any]) -> Option:
    return Option(value=str(one["value"]), label=str(one["label"]), description=one.get("description"))


# The API as the desk calls it: what is open, that something changed, and an answer.

_PAGE: Final = 200
_CALL: Final = aiohttp.ClientTimeout(total=30)
_STREAM: Final = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=45)  # it sends a sign of life every 15 s


class Away(Exception):
    """The household does not answer, or cannot at the moment."""


class NotServed(Exception):
    """The household answers, and not to this desk."""


class Taken(Enum):
    ACCEPTED = auto()
    TOO_LATE = auto()
    """It has ended before."""
    REFUSED = auto()
    """This person may not, or not here."""
    NOT_AN_ANSWER = auto()
    """The same person may answer better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerVerdict:
    taken: Taken
    reason: str = ""


class AskingHousehold:
    def __init__(self, at: HouseholdAddress, http: aiohttp.ClientSession) -> None:
        self._url = at.url
        self._http = http
        self._headers = {"Authorization": f"Bearer {at.token.reveal()}"}

    async def open_asks(self) -> list[Ask]:
        """The oldest first. Raises Away and NotServed."""
        status, body = await self._call("GET", f"/v1/asks?status=open&mine=true&limit={_PAGE}")
        if status != 200:
            raise _refusal(status, body)
        found = [read_ask(one) for one in body.get("asks") or () if isinstance(one, dict)]
        return [ask for ask in reversed(found) if ask is not None]

    async def answer(self, ask: Ask, given: dict[str, Any], key: str) -> AnswerVerdict:
        """Under the same key it counts once, however often it is sent. Raises Away and NotServed."""
        path = f"/v1/asks/{quote(ask.id, safe='')}/answer?channel=desk&revision={ask.revision}"
        status, body = await self._call("POST", path, given, {"Idempotency-Key": key})
        match status:
            case 200:
                return AnswerVerdict(taken=Taken.ACCEPTED)
            case 404 | 409:
                return AnswerVerdict(taken=Taken.TOO_LATE, reason=_reason(body))
            case 403:
                return AnswerVerdict(taken=Taken.REFUSED, reason=_reason(body))
            case 400 | 413 | 422:
                return AnswerVerdict(taken=Taken.NOT_AN_ANSWER, reason=_reason(body))
            case _:
                raise _refusal(status, body)

    @asynccontextmanager
    async def news(self) -> AsyncIterator[AsyncIterator[None]]:
        """Something for each event, until the household ends the stream. Raises Away and NotServed."""
        try:
            async with self._http.get(
                self._url + "/v1/asks/stream", headers=self._headers, timeout=_STREAM, allow_redirects=False
            ) as response:
                if response.status != 200:
                    raise _refusal(response.status, {})
                yield _events(response)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Away from error

    async def _call(
        self, method: str, path: str, body: dict[str, Any] | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """A redirection is not followed: it would take the token along."""
        try:
            async with self._http.request(
                method,
                self._url + path,
                json=body,
                headers={**self._headers, **(headers or {})},
                timeout=_CALL,
                allow_redirects=False,
            ) as response:
                return response.status, await _document(response)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Away from error


async def _document(response: aiohttp.ClientResponse) -> dict[str, Any]:
    try:
        document = await response.json(content_type=None)
    except ValueError:
        document = None
    return document if isinstance(document, dict) else {}


async def _events(response: aiohttp.ClientResponse) -> AsyncIterator[None]:
    """What an event says is not read: one more look at what is open costs little and is always right."""
    async for piece in response.content.iter_any():
        if b"event:" in piece or b"data:" in piece:
            yield


def _refusal(status: int, body: dict[str, Any]) -> Exception:
    if status >= 500 or status in (408, 429):
        return Away(f"the household answered {status}")
    return NotServed(f"the household answered {status}: {_reason(body) or 'without a reason'}")


def _reason(body: dict[str, Any]) -> str:
    """In words for the person; of a wrong field without its name in the API."""
    error = body.get("error")
    if not isinstance(error, dict):
        return str(error or "")
    fields = error.get("fields") or ()
    return "; ".join(str(one["error"]) for one in fields) if fields else str(error.get("message") or "")


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
        except Away:
            self._failures += 1
            self._complain("the household does not answer; its questions are shown here when it does")
            return pause_seconds(self._failures)
        except NotServed as refusal:
            self._put([])
            self._complain(f"the household's questions cannot be shown here: {refusal}")
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
