"""Slack's Web API over HTTP: one request for one call, and its answer."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, TypeVar
from urllib.parse import urlencode, urlsplit

from postroom.domain.errors import OutcomeUncertain, TargetUnavailable, ValidationError
from postroom.domain.inbound_message import InboundFile
from postroom.world.channels.brought_files import fetched, is_at
from postroom.world.channels.slack.refusals import not_uploaded, refusal
from postroom.world.http.http_call import HttpAnswer, HttpCall

_BYTES: Final = {"Content-Type": "application/octet-stream"}
_FORM: Final = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
_JSON: Final = {"Content-Type": "application/json; charset=utf-8"}

Told = Mapping[str, Any]
T = TypeVar("T")


async def blameless(asking: Awaitable[T]) -> T:
    """For questions that are about no message: what Slack refuses then is no message's fault."""
    try:
        return await asking
    except ValidationError as error:
        reason = error.message
    raise TargetUnavailable(reason)


class SlackWebApi:
    def __init__(self, base_url: str, token: str, now: Callable[[], datetime]) -> None:
        base = urlsplit(base_url)
        if base.scheme not in ("http", "https") or not base.hostname or base.username or base.query or base.fragment:
            raise ValueError("the Slack API base URL must be a plain http(s) URL")
        self.base_url = base_url.rstrip("/")
        self._token = token
        self._now = now
        self._http = HttpCall("Slack")

    @property
    def is_encrypted(self) -> bool:
        return self.base_url.startswith("https:")

    async def call(self, method: str, body: Mapping[str, Any], timeout_seconds: float, *, token: str = "") -> Told:
        """Raises one of our errors unless Slack says `ok`; `token` is for the few methods that want another one."""
        headers = _JSON | {"Authorization": f"Bearer {token or self._token}"}
        content = json.dumps(body).encode()
        return await self._post(f"{self.base_url}/{method}", content, headers, timeout_seconds)

    async def ask(self, method: str, body: Mapping[str, Any], timeout_seconds: float, *, token: str = "") -> Told:
        """A question changes nothing, so no answer is only ever "unavailable"."""
        return await _asked(self.call(method, body, timeout_seconds, token=token))

    async def fill_in(self, method: str, fields: Mapping[str, str], timeout_seconds: float) -> Told:
        """A question by one of the methods that want a form."""
        headers = _FORM | {"Authorization": f"Bearer {self._token}"}
        url, content = f"{self.base_url}/{method}", urlencode(fields).encode()
        return await _asked(self._post(url, content, headers, timeout_seconds))

    async def bring(self, url: str, content: bytes, timeout_seconds: float) -> None:
        """The bytes of a file to where Slack wants them; our token stays here, for the address is its own."""
        try:
            answer = await self._http.request("POST", url, timeout_seconds, body=content, headers=_BYTES)
        except OutcomeUncertain as error:
            reason = error.message
        else:
            if 200 <= answer.status < 300:
                return
            raise not_uploaded(answer, self._now())
        raise TargetUnavailable(reason)

    async def fetch(self, file: InboundFile, timeout_seconds: float) -> InboundFile:
        """What a person sent; our token goes to Slack's own addresses alone, and a page to log in is no file."""
        if not is_at(file.reference, "slack.com", "slack-edge.com", urlsplit(self.base_url).hostname or ""):
            return replace(file, problem="it lies at another service")
        found = await fetched(self._http, "Slack", file, {"Authorization": f"Bearer {self._token}"}, timeout_seconds)
        if found.content is not None and found.size not in (None, len(found.content)) and _is_page(found.content):
            return replace(found, content=None, problem="the app may not read files: it needs the scope files:read")
        return found

    async def look(self, method: str, query: Mapping[str, Any], timeout_seconds: float) -> Told:
        """A question by one of the methods that want their arguments in the URL."""
        return await _asked(self._get(f"{self.base_url}/{method}?{urlencode(query)}", timeout_seconds))

    async def close(self) -> None:
        await self._http.close()

    async def _get(self, url: str, timeout_seconds: float) -> Told:
        headers = {"Authorization": f"Bearer {self._token}"}
        return self._read(await self._http.request("GET", url, timeout_seconds, headers=headers))

    async def _post(self, url: str, content: bytes, headers: Mapping[str, str], timeout_seconds: float) -> Told:
        return self._read(await self._http.request("POST", url, timeout_seconds, body=content, headers=headers))

    def _read(self, answer: HttpAnswer) -> Told:
        told = _parse(answer.body)
        if 200 <= answer.status < 300 and told.get("ok") is True:
            return told
        raise refusal(answer, told, self._now())


def _is_page(content: bytes) -> bool:
    return content[:200].lstrip().lower().startswith((b"<!doctype html", b"<html"))


async def _asked(asking: Awaitable[Told]) -> Told:
    try:
        return await asking
    except OutcomeUncertain as error:
        reason = error.message
    raise TargetUnavailable(reason)


def _parse(body: bytes) -> Told:
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, Mapping) else {}
