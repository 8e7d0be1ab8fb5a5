"""What commands say of notices: times on the clock of this machine, and reasons in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from postroom.domain.because_words import because

_WHAT: Final = {
    "hold": "is held",
    "join_digest": "is held for a digest",
    "release": "is sent",
    "delegate": "is sent to who stands in",
    "close_digest": "is sent in a digest",
    "merge": "is dropped for a newer one",
    "mute": "is muted",
    "expire": "expires unsent",
    "withdraw": "is withdrawn",
    "repeat": "is sent again",
    "escalate": "goes to the next step",
    "give_up": "counts as unanswered",
    "fail": "counts as undeliverable",
    "correct": "is corrected",
}


def moment_words(at: str) -> str:
    """`07:00` of a later day is said with its day."""
    local = datetime.fromisoformat(at).astimezone()
    return local.strftime("%H:%M" if local.date() == datetime.now(local.tzinfo).date() else "%Y-%m-%d %H:%M")


def held_sentence(until: str | None, reasons: Iterable[str]) -> str:
    why = because(reasons)
    when = f"held until {moment_words(until)}" if until is not None else "not sent"
    return f"{when}: {why}" if why else when


def plan_line(item: Mapping[str, Any]) -> str:
    where = f" to {item['where']}" if item["where"] else ""
    why = f" ({because(item['why'])})" if item["why"] else ""
    unless = f", unless {item['unless']}" if item["unless"] else ""
    return f"{moment_words(item['at'])}  {_WHAT.get(item['what'], item['what'])}{where}{why}{unless}"


def notice_line(notice: Mapping[str, Any]) -> str:
    waits = f"  {held_sentence(notice['until'], notice['reasons'])}" if notice["state"] in ("held", "accepted") else ""
    return f"{notice['notice_id']}  {notice['state']}  {notice['agent']}: {notice['message']}{waits}"
