"""Calls to a homeserver's client API: each is made once, and what it answered is read into our errors."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final
from urllib.parse import quote, urlencode

from postroom.channels.matrix.building import is_user
from postroom.channels.shared import asked, base_url, blameless, fetched
from postroom.kernel.http.answers import (
    JsonBody,
    JsonObject,
    asked_seconds,
    broken,
    json_object,
    provider_words,
    throttled,
)
from postroom.kernel.http.call import HttpAnswer, HttpCall
from postroom.kernel.values.errors import CredentialsRefused, PostroomError, TargetUnavailable, ValidationError
from postroom.message.inbound import InboundFile

_BAD_TOKEN: Final = frozenset(
    {"M_UNKNOWN_TOKEN", "M_MISSING_TOKEN", "M_USER_DEACTIVATED", "M_USER_LOCKED", "M_USER_SUSPENDED"}
)
_NOT_NOW: Final = frozenset({"M_RESOURCE_LIMIT_EXCEEDED", "M_CONSENT_NOT_GIVEN", "M_UNRECOGNIZED"})
MEDIA: Final = re.compile(r"mxc://([A-Za-z0-9.:\[\]-]{1,255})/([A-Za-z0-9_-]{1,255})")
DUPLICATE_REACTION: Final = "M_DUPLICATE_ANNOTATION"


class MatrixApi:
    """`ask` is for what is about no message; `call` says whatever came back."""

    def __init__(self, homeserver: str, token: str, now: Callable[[], datetime]) -> None:
        if not token.isascii() or not token.isprintable() or not token.strip() or " " in token:
            raise ValueError("the access token must be one line without spaces")
        self.base_url = base_url(homeserver.strip(), "homeserver must be a plain http(s) URL")
        self._token = token
        self._now = now
        self._http = HttpCall("Matrix")
        self._user = ""

    async def call(
        self,
        method: str,
        path: str,
        timeout_seconds: float,
        body: JsonBody | None = None,
        query: Mapping[str, str] | None = None,
    ) -> HttpAnswer:
        url = f"{self.base_url}/_matrix/client/v3/{path}" + (f"?{urlencode(query)}" if query else "")
        headers = {"Authorization": f"Bearer {self._token}"}
        if body is None:
            return await self._http.request(method, url, timeout_seconds, headers=headers)
        headers["Content-Type"] = "application/json"
        written = json.dumps(body, ensure_ascii=False).encode()
        return await self._http.request(method, url, timeout_seconds, body=written, headers=headers)

    async def ask(
        self,
        method: str,
        path: str,
        timeout_seconds: float,
        body: JsonBody | None = None,
        query: Mapping[str, str] | None = None,
    ) -> JsonObject:
        """Raises TargetUnavailable or one of its kind: nothing that is refused here is a message's fault."""
        return await blameless(self._told(method, path, timeout_seconds, body, query))

    async def look(self, path: str, timeout_seconds: float) -> JsonObject | None:
        """None where there is no such thing, or not for our eyes."""
        answer = await asked(self.call("GET", path, timeout_seconds))
        if answer.status in (403, 404) and "errcode" in json_object(answer.body):
            return None
        if answer.status != 200:
            raise TargetUnavailable(self.refusal(answer).message)
        return json_object(answer.body)

    async def own_user(self, timeout_seconds: float) -> str:
        """Asked for once: a token belongs to one account for as long as it lives."""
        if not self._user:
            found = (await self.ask("GET", "account/whoami", timeout_seconds)).get("user_id")
            if not is_user(found):
                raise TargetUnavailable("Matrix did not say who we are")
            self._user = str(found)
        return self._user

    async def fetch(self, file: InboundFile, timeout_seconds: float) -> InboundFile:
        """By way of our homeserver, wherever the file was uploaded."""
        named = MEDIA.fullmatch(file.reference)
        if file.problem or named is None:
            return file
        url = f"{self.base_url}/_matrix/client/v1/media/download/{quote(named[1], safe='')}/{named[2]}"
        headers = {"Authorization": f"Bearer {self._token}"}
        found = await fetched(self._http, "Matrix", replace(file, reference=url), headers, timeout_seconds)
        return replace(found, reference=file.reference)

    def refusal(self, answer: HttpAnswer, private: Iterable[str] = ()) -> PostroomError:
        told, status = json_object(answer.body), answer.status
        words = provider_words(told.get("error"), secrets=[self._token], private=private)
        return self._meaning(answer, told, words).told_by(status, words)

    def _meaning(self, answer: HttpAnswer, told: JsonObject, words: str) -> PostroomError:
        status, code = answer.status, told.get("errcode")
        said = f"Matrix answered {status}"
        if status == 429 or code == "M_LIMIT_EXCEEDED":
            asked = told.get("retry_after_ms")
            seconds = asked / 1_000 if isinstance(asked, int | float) and not isinstance(asked, bool) else None
            return throttled(said, asked_seconds(seconds, answer.retry_after, self._now()))
        if status == 401 or code in _BAD_TOKEN:
            return CredentialsRefused(f"Matrix does not accept our access token ({status})")
        if 400 <= status < 500 and isinstance(code, str) and code not in _NOT_NOW:
            return ValidationError(f"Matrix refused the message: {words}" if words else said)
        if status < 500:  # without an errcode it was no homeserver that spoke
            return TargetUnavailable(f"{said}; is there a homeserver at this address?")
        return broken(said, status)

    async def close(self) -> None:
        await self._http.close()

    async def _told(
        self, method: str, path: str, timeout_seconds: float, body: JsonBody | None, query: Mapping[str, str] | None
    ) -> JsonObject:
        answer = await self.call(method, path, timeout_seconds, body, query)
        if answer.status != 200:
            raise self.refusal(answer)
        return json_object(answer.body)


def below_room(room: str, path: str) -> str:
    return f"rooms/{quote(room, safe='')}/{path}"
