"""The household's API as the desk calls it: which questions are open, that something changed, and an answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final
from urllib.parse import quote

import aiohttp

from postroom.programs.desk.asks.asked import Ask, read_ask
from postroom.programs.desk.household_address import HouseholdAddress

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
