"""Calls to a homeserver's client API: each is made once, and what it answered is read into our errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Final
from urllib.parse import quote

from postroom.channels.matrix.building import is_user
from postroom.channels.provider import ProviderApi, asked
from postroom.kernel.http.answers import JsonObject, asked_seconds, broken, throttled
from postroom.kernel.http.call import HttpAnswer
from postroom.kernel.values.errors import CredentialsRefused, PostroomError, TargetUnavailable, ValidationError
from postroom.message.inbound import InboundFile

V3: Final = "_matrix/client/v3"
_BAD_TOKEN: Final = frozenset(
    {"M_UNKNOWN_TOKEN", "M_MISSING_TOKEN", "M_USER_DEACTIVATED", "M_USER_LOCKED", "M_USER_SUSPENDED"}
)
_NOT_NOW: Final = frozenset({"M_RESOURCE_LIMIT_EXCEEDED", "M_CONSENT_NOT_GIVEN", "M_UNRECOGNIZED"})
MEDIA: Final = re.compile(r"mxc://([A-Za-z0-9.:\[\]-]{1,255})/([A-Za-z0-9_-]{1,255})")
DUPLICATE_REACTION: Final = "M_DUPLICATE_ANNOTATION"


class MatrixApi(ProviderApi):
    def __init__(self, homeserver: str, token: str, now: Callable[[], datetime]) -> None:
        if not token.isascii() or not token.isprintable() or not token.strip() or " " in token:
            raise ValueError("the access token must be one line without spaces")
        headers = {"Authorization": f"Bearer {token}"}
        super().__init__(
            "Matrix", homeserver.strip(), _meaning, now, setting="homeserver", secrets=[token], headers=headers
        )
        self._user = ""

    async def look(self, path: str, timeout_seconds: float) -> JsonObject | None:
        """None where there is no such thing, or not for our eyes."""
        answer = await asked(self.request("GET", path, timeout_seconds))
        if answer.status in (403, 404) and "errcode" in answer.told:
            return None
        if not answer.is_success:
            raise TargetUnavailable(self.refusal(answer).message)
        return answer.told

    async def own_user(self, timeout_seconds: float) -> str:
        """Asked for once: a token belongs to one account for as long as it lives."""
        if not self._user:
            found = (await self.ask("GET", f"{V3}/account/whoami", timeout_seconds)).told.get("user_id")
            if not is_user(found):
                raise TargetUnavailable("Matrix did not say who we are")
            self._user = str(found)
        return self._user

    async def bring(self, file: InboundFile, timeout_seconds: float) -> InboundFile:
        """By way of our homeserver, wherever the file was uploaded."""
        named = MEDIA.fullmatch(file.reference)
        if file.problem or named is None:
            return file
        path = f"_matrix/client/v1/media/download/{quote(named[1], safe='')}/{named[2]}"
        return await self.fetched(file, timeout_seconds, f"{self.base_url}/{path}")


def _meaning(answer: HttpAnswer, words: str, now: datetime) -> PostroomError:
    status, code = answer.status, answer.told.get("errcode")
    said = f"Matrix answered {status}"
    if status == 429 or code == "M_LIMIT_EXCEEDED":
        wait = answer.told.get("retry_after_ms")
        seconds = wait / 1_000 if isinstance(wait, int | float) and not isinstance(wait, bool) else None
        return throttled(said, asked_seconds(seconds, answer.retry_after, now))
    if status == 401 or code in _BAD_TOKEN:
        return CredentialsRefused(f"Matrix does not accept our access token ({status})")
    if 400 <= status < 500 and isinstance(code, str) and code not in _NOT_NOW:
        return ValidationError(f"Matrix refused the message: {words}" if words else said)
    if status < 500:  # without an errcode it was no homeserver that spoke
        return TargetUnavailable(f"{said}; is there a homeserver at this address?")
    return broken(said, status)


def below_room(room: str, path: str) -> str:
    return f"{V3}/rooms/{quote(room, safe='')}/{path}"
