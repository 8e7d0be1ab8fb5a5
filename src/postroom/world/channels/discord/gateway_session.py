"""What a bot has to know of its session with Discord's Gateway, and the frames it sends there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from typing import Any

from postroom.world.channels.discord.places import snowflake


class Op(IntEnum):
    DISPATCH = 0
    HEARTBEAT = 1
    IDENTIFY = 2
    RESUME = 6
    RECONNECT = 7
    INVALID_SESSION = 9
    HELLO = 10
    HEARTBEAT_ACK = 11


class GatewayIntent(IntFlag):
    GUILD_MESSAGES = 1 << 9
    DIRECT_MESSAGES = 1 << 12
    MESSAGE_CONTENT = 1 << 15


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayStart:
    """Where to connect, and how many new sessions Discord allows until when."""

    url: str
    sessions_left: int | None = None
    reset_after_seconds: float = 0.0


@dataclass(slots=True, kw_only=True)
class GatewaySession:
    """`sequence` is the last event we have; Discord sends what came after it when the session is taken up again."""

    id: str = field(default="", repr=False)
    resume_url: str = ""
    bot_id: str = ""
    sequence: int | None = None

    def begin(self, ready: object) -> None:
        told = ready if isinstance(ready, Mapping) else {}
        user = told.get("user")
        self.id = _text(told.get("session_id"))
        self.resume_url = _text(told.get("resume_gateway_url"))
        self.bot_id = (snowflake(user.get("id")) if isinstance(user, Mapping) else None) or ""

    def forget(self) -> None:
        self.id, self.resume_url, self.sequence = "", "", None


def identify(token: str, intents: int) -> dict[str, Any]:
    properties = {"os": "linux", "browser": "postroom", "device": "postroom"}
    return {"op": Op.IDENTIFY, "d": {"token": token, "intents": intents, "properties": properties}}


def resume(token: str, session: GatewaySession) -> dict[str, Any]:
    return {"op": Op.RESUME, "d": {"token": token, "session_id": session.id, "seq": session.sequence}}


def heartbeat(session: GatewaySession) -> dict[str, Any]:
    return {"op": Op.HEARTBEAT, "d": session.sequence}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
