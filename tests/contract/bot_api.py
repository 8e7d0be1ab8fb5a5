"""What Telegram's Bot API says, for the installed suite's HTTP server."""

from __future__ import annotations

from postroom.testing.servers.http import HttpProvider, Reply, Trouble, raw_reply, reply
from postroom.testing.servers.http import TakenRequest as Request

__all__ = ["BotApi", "Reply", "Request", "Trouble", "accepted", "raw_reply", "refused", "reply"]


def accepted(message_id: int = 77, *, hold: bool = False, close: bool = False) -> Reply:
    return reply(200, {"ok": True, "result": {"message_id": message_id}}, hold=hold, close=close)


def refused(status: int, description: str, *, headers: str = "", **more: object) -> Reply:
    told = {"ok": False, "error_code": status, "description": description, **more}
    return reply(status, told, headers=headers)


class BotApi(HttpProvider):
    """Accepts until a test says otherwise."""

    def __init__(self) -> None:
        super().__init__(accepted())
