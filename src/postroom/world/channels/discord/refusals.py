"""What Discord's refusals mean: by the code in the answer first, by the status where there is none."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from postroom.domain.errors import (
    CredentialsRefused,
    PostroomError,
    ProviderFailed,
    ProviderThrottled,
    TargetUnavailable,
    ValidationError,
)
from postroom.domain.patience import LONGEST_SECONDS, shortened
from postroom.world.http.retry_after import asked_seconds

BAD_TOKEN: Final = "Discord does not accept our bot token"  # noqa: S105 - a sentence
_BAD_TOKEN: Final = frozenset({40001, 50014})
_BROKE_WHILE_ANSWERING: Final = frozenset({500, 502, 504})  # 503 says that nothing was begun
_BANNED_SECONDS: Final = 60.0  # a 429 without a word comes from the wall before Discord, and asking makes it last

_NEVER: Final[Mapping[int, str]] = {
    10003: "Discord knows no such channel",
    10008: "that Discord message is gone",
    10013: "Discord knows no such user",
    10014: "Discord does not know this emoji",
    20009: "Discord does not bring this content to this recipient",
    30010: "that Discord message has as many reactions as it can have",
    40005: "the message is too large for Discord",
    40058: "a Discord forum takes posts, not messages: name one of its posts",
    50001: "the bot cannot see this Discord channel",
    50005: "only its author can edit a Discord message",
    50006: "Discord takes no empty message",
    50007: "this person takes no direct messages from the bot on Discord, or has blocked it",
    50008: "nothing can be written in this Discord channel",
    50009: "this Discord server does not let the bot write until it is verified further",
    50013: "the bot lacks the right to do that in this Discord channel",
    50033: "Discord knows no such recipient",
    50083: "this Discord thread is archived",
    50278: "the bot shares no Discord server with this person, so it cannot write to them",
    90001: "this person has blocked the bot's reactions",
    160002: "the bot may not read this Discord channel's history, so it cannot reply there",
    160005: "this Discord thread is locked",
    200000: "the Discord server's moderation rules block this message",
    240000: "Discord's filter of harmful links blocks this message",
}
_FORM: Final = 50035
_LATER: Final[Mapping[int, str]] = {
    40004: "Discord has turned off sending messages for now",
    40006: "Discord has turned this feature off for now",
    40333: "the wall before Discord (Cloudflare) turns our requests away",
    130000: "Discord is overloaded",
}
_SLOWER: Final[Mapping[int, tuple[str, float]]] = {
    20016: ("this Discord channel is in slow mode", 5.0),
    20022: ("Discord limits edits of announcements", 60.0),
    20028: ("too much is being written in this Discord channel", 5.0),
    20029: ("too much is being written in this Discord server", 5.0),
    30046: ("Discord limits edits of old messages", 60.0),
    40003: ("the bot opens direct messages too fast for Discord", 60.0),
}


def read_refusal(
    status: int, told: Mapping[str, Any], retry_after: str | None, words: str, now: datetime
) -> PostroomError:
    code = _code(told)
    if status == 401 or code in _BAD_TOKEN:
        return CredentialsRefused(BAD_TOKEN)
    if status == 429 or code in _SLOWER:
        return _throttled(code, told, retry_after, now)
    if code in _LATER:
        return TargetUnavailable(_LATER[code])
    if code in _NEVER:
        return ValidationError(_NEVER[code])
    said = f"Discord answered {status}" + (f": {words}" if words else "")
    if status == 403 and not told:
        return TargetUnavailable(_LATER[40333])
    if 400 <= status < 500:
        return ValidationError(f"Discord does not take the message as it is: {words}" if code == _FORM else said)
    return ProviderFailed(said) if status in _BROKE_WHILE_ANSWERING else TargetUnavailable(said)


def inner_words(told: Mapping[str, Any]) -> object:
    """A refused form says "Invalid Form Body"; what is wrong with which field stands further inside."""
    errors, where = told.get("errors"), list[str]()
    for _ in range(10):
        if not isinstance(errors, Mapping) or not errors:
            break
        if isinstance(listed := errors.get("_errors"), list) and listed and isinstance(listed[0], Mapping):
            return f"{'.'.join(where)}: {listed[0].get('message')}"
        name = next(iter(errors))
        where, errors = [*where, str(name)], errors[name]
    return told.get("message")


def _throttled(code: int, told: Mapping[str, Any], retry_after: str | None, now: datetime) -> PostroomError:
    said, usual = _SLOWER.get(code, ("Discord asks us to write more slowly", _BANNED_SECONDS))
    if told.get("global") is True:
        said = "Discord asks this bot to make no requests at all for a while"
    known = told.get("retry_after") is not None or retry_after is not None
    asked = asked_seconds(told.get("retry_after"), retry_after, now) if known else usual
    return ProviderThrottled(said + shortened(asked), retry_after_seconds=min(asked, LONGEST_SECONDS))


def _code(told: Mapping[str, Any]) -> int:
    code = told.get("code")
    return code if isinstance(code, int) and not isinstance(code, bool) else 0
