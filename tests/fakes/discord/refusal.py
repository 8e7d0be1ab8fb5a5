"""Discord's refusals, in the shape of its answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web

CODES: Final[Mapping[int, tuple[int, str]]] = {
    10003: (404, "Unknown Channel"),
    10008: (404, "Unknown Message"),
    10013: (404, "Unknown User"),
    10014: (400, "Unknown Emoji"),
    10062: (404, "Unknown interaction"),
    20016: (429, "This action cannot be performed due to slowmode rate limit"),
    40005: (413, "Request entity too large"),
    40060: (400, "Interaction has already been acknowledged."),
    50001: (403, "Missing Access"),
    50005: (403, "Cannot edit a message authored by another user"),
    50006: (400, "Cannot send an empty message"),
    50007: (403, "Cannot send messages to this user"),
    50013: (403, "Missing Permissions"),
    50033: (400, "Invalid Recipient(s)"),
    50035: (400, "Invalid Form Body"),
    50109: (400, "The request body contains invalid JSON."),
    50278: (403, "Cannot send messages to this user due to having no mutual guilds"),
}
_SLOW_SECONDS: Final = 5.0
_WORDS: Final = {401: "401: Unauthorized", 404: "404: Not Found", 405: "405: Method Not Allowed"}


class DiscordRefusal(Exception):
    def __init__(self, code: int, *, field: str = "", problem: tuple[str, str] | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.field = field
        self.problem = problem

    def answer(self) -> web.Response:
        status, message = CODES[self.code]
        told: dict[str, Any] = {"message": message, "code": self.code}
        if status == 429:
            told |= {"retry_after": _SLOW_SECONDS, "global": False}
        if self.problem:
            told["errors"] = _nested(self.field.split("."), *self.problem)
        return web.json_response(told, status=status)


def by_status(status: int, retry_after: float | None) -> web.Response:
    """As a fault asks for it."""
    if status == 429:
        return slow_down(1.0 if retry_after is None else retry_after)
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    told = {"message": _WORDS.get(status, f"{status}: refused by the sandbox"), "code": 0}
    return web.json_response(told, status=status, headers=headers)


def slow_down(retry_after: float, *, everywhere: bool = False) -> web.Response:
    headers = {"Retry-After": str(int(-(-retry_after // 1))), "X-RateLimit-Scope": "global" if everywhere else "user"}
    if everywhere:
        headers["X-RateLimit-Global"] = "true"
    told = {"message": "You are being rate limited.", "retry_after": retry_after, "global": everywhere}
    return web.json_response(told, status=429, headers=headers)


def _nested(path: list[str], code: str, message: str) -> dict[str, Any]:
    inner: dict[str, Any] = {"_errors": [{"code": code, "message": message}]}
    for name in reversed(path):
        inner = {name: inner}
    return inner
