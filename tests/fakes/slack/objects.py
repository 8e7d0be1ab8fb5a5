"""Messages, events and presses as Slack writes them."""

from __future__ import annotations

import secrets
from typing import Any, Final

from postroom.sandbox.records import SandboxFile
from tests.fakes.record import FaceButton, FaceMessage
from tests.fakes.slack.workspace import APP_ID, BOT_ID, BOT_USER, TEAM_ID, channel_type

_BY_THE_APP: Final = {"user": BOT_USER, "bot_id": BOT_ID, "app_id": APP_ID}


def message_object(message: FaceMessage, *, with_metadata: bool = False) -> dict[str, Any]:
    """Metadata is for those who ask for it."""
    written = {"type": "message", "ts": message.message_id, "text": message.body.get("text", ""), "team": TEAM_ID}
    told: dict[str, Any] = written | ({"user": message.author} if message.from_person else _BY_THE_APP)
    for name in ("blocks", "subtype", "files"):
        if message.body.get(name):
            told[name] = message.body[name]
    if message.thread:
        told["thread_ts"] = message.thread
    if message.reactions:
        told["reactions"] = [{"name": one, "users": [BOT_USER], "count": 1} for one in message.reactions]
    if message.earlier:
        told["edited"] = {"user": BOT_USER, "ts": message.message_id}
    if with_metadata and message.body.get("metadata"):
        told["metadata"] = message.body["metadata"]
    return told


def event_payload(message: FaceMessage, kind: str, event_id: str) -> dict[str, Any]:
    """`kind` is message or app_mention, which says less about the place."""
    event = message_object(message) | {"type": kind, "channel": message.place, "event_ts": message.message_id}
    if kind == "message":
        event["channel_type"] = channel_type(message.place)
    return {
        "type": "event_callback",
        "team_id": TEAM_ID,
        "api_app_id": APP_ID,
        "event": event,
        "event_id": event_id,
        "event_time": message.at_us // 1_000_000,
        "authorizations": [{"team_id": TEAM_ID, "user_id": BOT_USER, "is_bot": True, "is_enterprise_install": False}],
    }


def shared_file(file: SandboxFile, host: str) -> dict[str, Any]:
    told = {"id": f"F{file.sha256[:9].upper()}", "name": file.name, "mimetype": file.media_type, "size": file.size}
    return told | {"url_private": f"http://{host}/sandbox/files/{file.sha256}"}


def press_payload(message: FaceMessage, button: FaceButton, user: str, now_us: int) -> dict[str, Any]:
    return {
        "type": "block_actions",
        "user": {"id": user, "username": user.lower(), "name": user.lower(), "team_id": TEAM_ID},
        "api_app_id": APP_ID,
        "team": {"id": TEAM_ID, "domain": "sandbox"},
        "container": {
            "type": "message",
            "message_ts": message.message_id,
            "channel_id": message.place,
            "is_ephemeral": False,
        },
        "trigger_id": f"{now_us}.{secrets.token_hex(8)}",
        "channel": {"id": message.place, "name": "directmessage" if message.place.startswith("D") else "channel"},
        "message": message_object(message),
        "actions": [_pressed(message, button, now_us)],
    }


def _pressed(message: FaceMessage, button: FaceButton, now_us: int) -> dict[str, Any]:
    stamp = f"{now_us // 1_000_000}.{now_us % 1_000_000:06d}"
    element = next(
        one
        for block in message.body["blocks"]
        for one in block.get("elements", ())
        if button.data in (one.get("value"), one.get("action_id"))
    )
    return {"block_id": secrets.token_hex(3), **element, "action_ts": stamp}
