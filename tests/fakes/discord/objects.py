"""Discord's objects, as its clients read them."""

from __future__ import annotations

from typing import Any, Final

from postroom.kernel.values.ids import to_text
from tests.fakes.discord.places import BOT_ID, SERVER_ID, person_in
from tests.fakes.record import FaceMessage, PressedKey

BOT: Final[dict[str, Any]] = {"id": BOT_ID, "username": "sandbox", "discriminator": "0", "bot": True}
HOST: Final = "sandbox_host"


def user(number: str) -> dict[str, Any]:
    return {"id": number, "username": f"person{number}", "discriminator": "0"}


def message_object(message: FaceMessage) -> dict[str, Any]:
    told: dict[str, Any] = {
        "id": message.message_id,
        "channel_id": message.place,
        "author": user(message.author) if message.from_person else BOT,
        "content": message.text,
        "timestamp": to_text(message.at_us),
        "edited_timestamp": to_text(message.at_us) if message.earlier else None,
        "tts": False,
        "mention_everyone": False,
        "mentions": [BOT] if _calls_the_bot(message.text) else [],
        "mention_roles": [],
        "attachments": [_attachment(message, place) for place in range(len(message.files))],
        "embeds": [],
        "pinned": False,
        "type": 19 if message.thread else 0,
        "flags": message.body.get("flags") or 0,
        "components": message.body.get("components") or [],
    }
    if message.thread:
        told["message_reference"] = {"type": 0, "message_id": message.thread, "channel_id": message.place}
    return told


def _attachment(message: FaceMessage, place: int) -> dict[str, Any]:
    one = message.files[place]
    here = f"http://{message.body[HOST]}" if HOST in message.body else ""
    url = f"{here}/sandbox/files/{one.sha256}"
    told = {"id": str(int(message.message_id) + place + 1), "filename": one.name, "size": one.size}
    return told | {"content_type": one.media_type, "url": url, "proxy_url": url}


def created(message: FaceMessage) -> dict[str, Any]:
    """As it is told to those who listen: where, and with the key its sender gave it."""
    nonce = message.body.get("nonce")
    told = message_object(message) | ({} if nonce is None else {"nonce": nonce})
    if person_in(message.place) is not None:
        return told | {"channel_type": 1}
    return told | {"channel_type": 0, "guild_id": SERVER_ID, "member": {"roles": []}}


def without_words(told: dict[str, Any]) -> dict[str, Any]:
    """For a bot that may not read what is not for it."""
    return told | {"content": "", "embeds": [], "attachments": [], "components": []}


def is_for_the_bot(told: dict[str, Any]) -> bool:
    return "guild_id" not in told or told["author"]["id"] == BOT_ID or bool(told["mentions"])


def interaction(number: str, token: str, pressed: PressedKey, by: str) -> dict[str, Any]:
    place = pressed.message.place
    told: dict[str, Any] = {
        "id": number,
        "application_id": BOT_ID,
        "type": 3,
        "data": {"custom_id": pressed.button.data, "component_type": 2},
        "channel_id": place,
        "token": token,
        "version": 1,
        "message": message_object(pressed.message),
        "locale": "en-US",
    }
    if person_in(place) is not None:
        return told | {"user": user(by), "context": 1, "channel": {"id": place, "type": 1}}
    where = {"guild_id": SERVER_ID, "context": 0, "channel": {"id": place, "type": 0}}
    return told | where | {"member": {"user": user(by), "roles": [], "permissions": "0"}}


def _calls_the_bot(text: str) -> bool:
    return f"<@{BOT_ID}>" in text or f"<@!{BOT_ID}>" in text
