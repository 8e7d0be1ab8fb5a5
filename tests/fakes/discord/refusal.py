"""Discord's refusals, in the shape of its answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web

CODES: Final[Mapping[int, tuple[int, str]]] = {
    10003: (404, "Unknown Channel"),
    10008: (404, "Unknown Message"),
    10062: (404, "Unknown interaction"),
    20016: (429, "This action cannot be performed due to slowmode rate limit"),
    40005: (413, "Request entity too large"),
    40060: (400, "Interaction has already been acknowledged."),
    50001: (403, "Missing Access"),
    50006: (400, "Cannot send an empty message"),
    50007: (403, "Cannot send messages to this user"),
    50013: (403, "Missing Permissions"),
    50033: (400, "Invalid Recipient(s)"),
    50035: (400, "Invalid Form Body"),
    50278: (403, "Cannot send messages to this user due to having no mutual guilds"),
}
_SLOW_SECONDS: Final = 5.0
_WORDS: Final = {401: "401: Unauthorized", 404: "404: Not Found", 405: "405: Method Not Allowed"}


class DiscordRefusal(Exception):
    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code

    def answer(self) -> web.Response:
        status, message = CODES[self.code]
        told: dict[str, Any] = {"message": message, "code": self.code}
        if status == 429:
            told |= {"retry_after": _SLOW_SECONDS, "global": False}
        return web.json_response(told, status=status)


def by_status(status: int, retry_after: float | None) -> web.Response:
    """As a fault asks for it."""
    if status == 429:
        wait = 1.0 if retry_after is None else retry_after
        told = {"message": "You are being rate limited.", "retry_after": wait, "global": False}
        return web.json_response(told, status=429, headers={"Retry-After": str(int(-(-wait // 1)))})
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    refused = {"message": _WORDS.get(status, f"{status}: refused by the sandbox"), "code": 0}
    return web.json_response(refused, status=status, headers=headers)
