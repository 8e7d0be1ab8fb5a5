"""What callers say of when and of what, read with everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from postroom.domain.attention_wish import MAX_NAME_CHARACTERS
from postroom.domain.fields import Fields
from postroom.domain.time import parse_text, seconds

MINUTE: Final = 60
HOUR: Final = 3600
DAY: Final = 86_400
LONGEST_SNOOZE: Final = 90 * DAY
LONGEST_MUTE: Final = 30 * DAY
LONGEST_ABSENCE: Final = 366 * DAY
UNTIL_UNMUTED: Final = "unmuted"
_WHAT: Final = ("agent", "thread", "category")
_NAME: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class MuteCall:
    """`until_us` None: until it is unmuted."""

    agent: str | None
    thread: str | None
    category: str | None
    until_us: int | None

    @property
    def what(self) -> dict[str, str | None]:
        return {"agent": self.agent, "thread": self.thread, "category": self.category}


def read_snooze(payload: object, now_us: int) -> int:
    """Until when: an hour, unless it says otherwise, and at least a minute."""
    given = Fields(payload, whole="body")
    given.refuse_unknown(("until", "for_seconds"))
    until_us = _until(given, now_us, LONGEST_SNOOZE)
    if not given.complaints and until_us < now_us + seconds(MINUTE):
        given.complain("until", "must lie at least a minute ahead", "out_of_range")
    given.finish()
    return until_us


def read_key(payload: object) -> str:
    given = Fields(payload, whole="body")
    given.refuse_unknown(("key",))
    key = given.text("key", maximum=MAX_NAME_CHARACTERS)
    given.finish()
    return key


def read_mute(payload: object, now_us: int) -> MuteCall:
    given = Fields(payload, whole="body")
    given.refuse_unknown((*_WHAT, "until", "for_seconds"))
    what = _what(given)
    forever = given.raw("until") == UNTIL_UNMUTED
    if forever and what["agent"] is None:
        given.complain("until", "only an agent can be muted until it is unmuted", "not_allowed")
    until_us = None if forever else _until(given, now_us, LONGEST_MUTE)
    given.finish()
    return MuteCall(**what, until_us=until_us)


def read_unmute(payload: object) -> dict[str, str | None]:
    given = Fields(payload, whole="body")
    given.refuse_unknown(_WHAT)
    what = _what(given)
    given.finish()
    return what


def given_only(payload: Mapping[str, Any]) -> dict[str, Any]:
    """An absent value, an empty text and a null are the same to a tool."""
    return {name: value for name, value in payload.items() if value is not None and value != ""}


def _what(given: Fields) -> dict[str, str | None]:
    before = len(given.complaints)
    what = {name: given.optional_text(name, maximum=_NAME) for name in _WHAT}
    if not any(what.values()) and len(given.complaints) == before:
        given.complain("agent", "one of agent, thread and category is needed", "required")
    return what


def _until(given: Fields, now_us: int, most: int) -> int:
    if given.has("until") and given.has("for_seconds"):
        given.complain("until", "either this or for_seconds", "not_allowed")
    if given.has("until"):
        return _moment(given, now_us, most)
    return now_us + seconds(_length(given, most))


def _moment(given: Fields, now_us: int, most: int) -> int:
    if not (text := given.text("until", maximum=64)):
        return now_us
    try:
        until_us = parse_text(text)
    except (ValueError, OverflowError):
        given.complain("until", "must be an RFC 3339 time with an offset", "invalid")
        return now_us
    if not now_us < until_us <= now_us + seconds(most):
        given.complain("until", f"must lie in the future, {most // DAY} days ahead at most", "out_of_range")
    return until_us


def _length(given: Fields, most: int) -> int:
    asked = given.raw("for_seconds")
    if asked is None:
        return HOUR
    if isinstance(asked, int) and not isinstance(asked, bool) and MINUTE <= asked <= most:
        return asked
    given.complain("for_seconds", f"must be a whole number of seconds from {MINUTE} to {most}", "out_of_range")
    return HOUR
