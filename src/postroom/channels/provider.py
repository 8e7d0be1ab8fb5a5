"""What channels over HTTP have in common: a provider's API, its refusals, presses, people's files, what was heard."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, TypeVar
from urllib.parse import SplitResult, urlencode, urlsplit

import structlog

from postroom.channels.shared import MultipartForm
from postroom.kernel.http.answers import JsonObject, provider_words
from postroom.kernel.http.call import HttpAnswer, HttpCall
from postroom.kernel.values.errors import OutcomeUncertain, PostroomError, TargetUnavailable, ValidationError
from postroom.message.inbound import InboundEvent, InboundFile, Listened

_Answer = TypeVar("_Answer")
_JSON: Final = {"Content-Type": "application/json"}
_log = structlog.get_logger("postroom.channels")

Meaning = Callable[[HttpAnswer, str, datetime], PostroomError]
"""Of a refusal, given the provider's own words as far as they may be shown."""


def base_url(url: str, problem: str) -> str:
    """Without a slash at its end; raises ValueError with `problem`, for a URL may hold a secret."""
    base = web_address_in(url)
    if base is None or base.username or base.query or base.fragment:
        raise ValueError(problem)
    return url.rstrip("/")


def web_address_in(url: str, schemes: Collection[str] = ("http", "https")) -> SplitResult | None:
    """None for what no request could go to."""
    try:
        parts = urlsplit(url)
        is_one = parts.scheme in schemes and parts.hostname and parts.port != 0
    except ValueError:
        return None
    return parts if is_one and url.isprintable() and " " not in url else None


class ProviderApi:
    """
    Makes each request once.

    `words` finds in an answer what the provider says of its refusal. `says_ok`: a good status is not enough, the answer
    itself has to say `"ok": true`. `setting` is what people call the URL.
    """

    def __init__(
        self,
        service: str,
        url: str,
        meaning: Meaning,
        now: Callable[[], datetime],
        *,
        setting: str = "",
        says_ok: bool = False,
        words: Callable[[JsonObject], object] = lambda told: told.get("error") or told.get("description"),
        secrets: Iterable[str] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.service = service
        self.base_url = base_url(url, f"{setting or f'the {service} API base URL'} must be a plain http(s) URL")
        self.http = HttpCall(service)
        self._meaning = meaning
        self._words = words
        self.now = now
        self._says_ok = says_ok
        self._secrets = tuple(secrets)
        self._headers = headers or {}

    @property
    def is_encrypted(self) -> bool:
        return self.base_url.startswith("https:")

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).hostname or ""

    async def request(
        self,
        method: str,
        path: str,
        timeout_seconds: float,
        body: JsonObject | MultipartForm | bytes | None = None,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpAnswer:
        """Whatever comes back; `path` goes on below the base URL, and `headers` win over the usual ones."""
        url = f"{self.base_url}/{path}" + (f"?{urlencode(query)}" if query else "")
        content, kind = _written(body)
        told = {**self._headers, **kind, **(headers or {})}
        return await self.http.request(method, url, timeout_seconds, body=content, headers=told)

    async def ask(
        self,
        method: str,
        path: str,
        timeout_seconds: float,
        body: JsonObject | None = None,
        *,
        query: Mapping[str, Any] | None = None,
    ) -> HttpAnswer:
        """About no message: raises TargetUnavailable or one of its kind."""

        async def taken() -> HttpAnswer:
            return self.checked(await self.request(method, path, timeout_seconds, body, query=query))

        return await blameless(taken())

    def checked(self, answer: HttpAnswer, private: Iterable[str] = ()) -> HttpAnswer:
        """Raises what a refusal means; the error quotes nothing that is `private`."""
        if answer.is_success and (not self._says_ok or answer.told.get("ok") is True):
            return answer
        raise self.refusal(answer, private)

    def refusal(self, answer: HttpAnswer, private: Iterable[str] = ()) -> PostroomError:
        words = self.shown(self._words(answer.told), private)
        return self._meaning(answer, words, self.now()).told_by(answer.status, words)

    def shown(self, said: object, private: Iterable[str] = ()) -> str:
        """The provider's words without our credentials; nothing where they quote what is `private`."""
        return provider_words(said, secrets=self._secrets, private=private)

    async def fetched(self, file: InboundFile, timeout_seconds: float, url: str = "") -> InboundFile:
        """
        What came with a person's words, within bounds and with its trouble as words; `url` where that is no reference.

        Raises TargetUnavailable when the provider cannot be asked now.
        """
        if file.size is not None and file.size > _MOST_FILE_BYTES:
            return replace(file, problem=_TOO_LARGE)
        asking = self.http.request(
            "GET", url or file.reference, timeout_seconds, headers=self._headers, most_bytes=_MOST_FILE_BYTES + 1
        )
        answer = await asked(asking)
        if answer.status == 429 or answer.status >= 500:
            raise TargetUnavailable(f"{self.service} answered {answer.status}")
        if not answer.is_success:
            return replace(file, problem=f"{self.service} did not hand it out ({answer.status})")
        if len(answer.body) > _MOST_FILE_BYTES:
            return replace(file, problem=_TOO_LARGE)
        return replace(file, content=answer.body)

    async def close(self) -> None:
        await self.http.close()


def _written(body: JsonObject | MultipartForm | bytes | None) -> tuple[bytes | None, Mapping[str, str]]:
    match body:
        case MultipartForm():
            return body.content, {"Content-Type": body.content_type}
        case bytes() | None:
            return body, {}
        case _:
            return json.dumps(body).encode(), _JSON


# Questions, which change nothing; and what is done beside a message and matters to none.


async def asked(asking: Awaitable[_Answer]) -> _Answer:
    """Nothing is uncertain about a question: no answer is only ever "unavailable"."""
    try:
        return await asking
    except OutcomeUncertain as error:
        reason = error.message
    raise TargetUnavailable(reason)


async def blameless(asking: Awaitable[_Answer]) -> _Answer:
    """For a question that is about no message: what is refused then is no message's fault."""
    try:
        return await asked(asking)
    except ValidationError as error:
        reason = error.message
    raise TargetUnavailable(reason)


async def worked(doing: Awaitable[object]) -> bool:
    try:
        await doing
    except PostroomError:
        return False
    return True


async def press_answered(kind: str, answering: Awaitable[object]) -> bool:
    """
    Ends the waiting of the one who pressed a button; False when that came too late.

    Not a message: what the press decided is decided, and shown by an edit, whether or not this arrives.
    """
    try:
        await answering
    except PostroomError as error:
        _log.info(f"{kind}.press_unanswered", error_class=str(error.error_class))
        return False
    return True


# Files of people.

_MOST_FILE_BYTES: Final = 50 * 1000 * 1000  # of ours, as of files that are sent
_TOO_LARGE: Final = f"it is larger than the {_MOST_FILE_BYTES // 1_000_000} MB that are taken"


def is_at(url: object, *hosts: str) -> bool:
    """An address of the provider's own, encrypted unless it is where its API is, too; `hosts` may be above it."""
    try:
        found = urlsplit(url) if isinstance(url, str) else None
    except ValueError:
        return False
    if found is None or found.scheme not in ("https", "http") or not found.hostname or found.username:
        return False
    return any(found.hostname == host or found.hostname.endswith(f".{host}") for host in hosts)


# What came over a connection that a provider holds open, until it has been handled.


class HeardEvents:
    """
    Each event has a place in a count that never goes back.

    The count is microseconds since 1970, so that it goes on growing over a restart.
    """

    def __init__(self, now_us: Callable[[], int]) -> None:
        self._now_us = now_us
        self._last = 0
        self._waiting: deque[tuple[int, InboundEvent, Any]] = deque()
        self._news = asyncio.Event()

    @property
    def count(self) -> int:
        return len(self._waiting)

    def add(self, event: InboundEvent, envelope: Any = None) -> None:
        """`envelope` is what the provider is told of once the event is handled."""
        self._last = max(self._now_us(), self._last + 1)
        self._waiting.append((self._last, event, envelope))
        self._news.set()

    def handled_before(self, position: int | None) -> list[Any]:
        """
        The envelopes of what was handled.

        A position beyond our own clock is from before the clock was set back; we go on from there.
        """
        if position is None:
            return []
        handled = []
        while self._waiting and self._waiting[0][0] < position:
            handled.append(self._waiting.popleft()[2])
        self._last = max(self._last, position)
        if not self._waiting:
            self._news.clear()
        return handled

    async def some(self) -> None:
        await self._news.wait()

    def listened(self, *, everything: bool = True) -> Listened:
        """Shown again until a look beyond its position says that it was handled."""
        position = self._waiting[-1][0] + 1 if self._waiting else None
        events = tuple(event for _, event, _ in self._waiting)
        return Listened(events=events, position=position, everything=everything)
