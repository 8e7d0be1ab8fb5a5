"""The refusals of an ntfy server, in its own words and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aiohttp import web

_DAY_SECONDS: Final = 3_600  # who is to wait that long has used up the day's quota


@dataclass(frozen=True, slots=True)
class NtfyError:
    code: int
    words: str
    link: str = ""

    @property
    def status(self) -> int:
        return self.code // 100

    def answer(self, retry_after: int | None = None) -> web.Response:
        told = {"code": self.code, "http": self.status, "error": self.words}
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        return web.json_response(told | ({"link": self.link} if self.link else {}), status=self.status, headers=headers)


class NtfyRefusal(Exception):
    def __init__(self, error: NtfyError) -> None:
        super().__init__(error.words)
        self.error = error


_LIMITS: Final = "https://ntfy.sh/docs/publish/#limitations"
_AUTH: Final = "https://ntfy.sh/docs/publish/#authentication"
TOPIC: Final = NtfyError(40009, "invalid request: topic invalid")
ACTIONS: Final = NtfyError(40018, "invalid request: actions invalid", "https://ntfy.sh/docs/publish/#action-buttons")
NOT_JSON: Final = NtfyError(40024, "invalid request: request body must be valid JSON")
SEQUENCE: Final = NtfyError(40049, "invalid request: sequence ID invalid")
UNAUTHORIZED: Final = NtfyError(40101, "unauthorized", _AUTH)
FORBIDDEN: Final = NtfyError(40301, "forbidden", _AUTH)
NOT_FOUND: Final = NtfyError(40401, "page not found")
FILE_TOO_LARGE: Final = NtfyError(41301, "attachment too large, or bandwidth limit reached", _LIMITS)
TOO_LARGE: Final = NtfyError(41303, "JSON body too large")
TOO_MANY: Final = NtfyError(42901, "limit reached: too many requests", _LIMITS)
QUOTA: Final = NtfyError(42908, "limit reached: daily message quota reached", _LIMITS)
BROKEN: Final = NtfyError(50001, "internal server error")
NO_SUBSCRIBER: Final = NtfyError(50701, "cannot publish to UnifiedPush topic without previously active subscriber")
_USUAL: Final = (NOT_JSON, UNAUTHORIZED, FORBIDDEN, NOT_FOUND, TOO_LARGE, TOO_MANY, BROKEN, NO_SUBSCRIBER)
_BY_STATUS: Final = {one.status: one for one in _USUAL}


def of_fault(status: int, retry_after: int | None) -> web.Response:
    """A wait of an hour or more is what ntfy calls the daily quota, and then it names no time."""
    if status == 429 and (retry_after or 0) >= _DAY_SECONDS:
        return QUOTA.answer()
    return _BY_STATUS.get(status, NtfyError(status * 100 + 1, "refused")).answer(retry_after)
