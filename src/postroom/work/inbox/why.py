"""Why a note is where it is, and its e-mail copy, in one paragraph of plain English."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final, assert_never

from postroom.domain.attention import Because
from postroom.domain.email_copy import Defer, Drop, Send, Verdict
from postroom.domain.notification import Notification, Preferences
from postroom.domain.spoken_time import relative
from postroom.work.attention.policy import Policy
from postroom.work.inbox.deferral import judge

Row = Mapping[str, Any]
_ENDS: Final = {
    Because.SNOOZE: "the snooze ends",
    Because.QUIET: "the person's quiet hours end",
    Because.AWAY: "the person is back",
    Because.SLOT: "the next time of day for what can wait",
}


def why_note(
    note: Notification,
    preferences: Preferences,
    copy: Row | None,
    *,
    email_enabled: bool,
    now_us: int,
    household: Policy | None = None,
    zone: str = "UTC",
) -> str:
    """`copy` is its row of `deferred_emails`; what still waits is judged as it would be at this moment."""
    decide = partial(
        judge, preferences=preferences, email_enabled=email_enabled, now_us=now_us, household=household, zone=zone
    )
    told = [f"It is a note in the inbox of {note.user_id}, stored {relative(note.created_at_us, now_us)}."]
    told.append(_read(note, now_us))
    if note.snoozed_until_us is not None and note.snoozed_until_us > now_us:
        told.append(f"The person has put it out of sight; it comes back {relative(note.snoozed_until_us, now_us)}.")
    if not note.has_bell:
        told.append("The person wanted notes by e-mail only, so the bell stayed silent.")
    if copy is None:
        told.append(_no_copy(note, decide))
    else:
        told.append(_ended(copy, now_us) or _waiting(note, copy, decide, now_us))
    return " ".join(told)


def _read(note: Notification, now_us: int) -> str:
    for word, at_us in (
        ("dismissed", note.dismissed_at_us),
        ("archived", note.archived_at_us),
        ("read", note.read_at_us),
        ("seen", note.seen_at_us),
    ):
        if at_us is not None:
            return f"It was {word} {relative(at_us, now_us)}."
    return "It has not been seen yet."


def _no_copy(note: Notification, decide: Callable[[Notification], Verdict]) -> str:
    """Why none was made is not on record; what would stand in the way today is the best guess."""
    unread = replace(note, read_at_us=None, archived_at_us=None, dismissed_at_us=None)
    verdict = decide(unread)
    if isinstance(verdict, Drop):
        return f"It has no e-mail copy: {verdict.reason}."
    return "It has no e-mail copy: e-mail was off or not wanted when it was stored."


def _ended(copy: Row, now_us: int) -> str | None:
    if at_us := copy["cancelled_at"]:
        reason = copy["error_message"] or "the person had dealt with it by then"
        return f"No e-mail was sent for it, as was decided {relative(at_us, now_us)}: {reason}."
    if at_us := copy["failed_at"]:
        return f"Its e-mail failed {relative(at_us, now_us)}: {copy['error_message'] or 'it could not be handed over'}."
    if at_us := copy["delivered_at"]:
        delivery = f" as delivery {copy['delivery_id']}" if copy["delivery_id"] else ""
        return f"Its e-mail was handed over{delivery} {relative(at_us, now_us)}."
    return None


def _waiting(note: Notification, copy: Row, decide: Callable[[Notification], Verdict], now_us: int) -> str:
    later = copy["deliver_after"] > now_us
    if copy["batch_id"] is not None:  # decided: nothing but the hand-over is open
        again = f" and is tried again {relative(copy['deliver_after'], now_us)}" if later else ""
        reason = f" ({copy['error_message']})" if copy["error_message"] else ""
        return f"Its e-mail is being handed over{reason}{again}."
    verdict = decide(note)
    match verdict:
        case Drop(reason):
            return f"Its e-mail will not be sent: {reason}."
        case Defer(until_us, reasons):
            what = next(_ENDS.get(one.reason, "then") for one in reasons if one.until_us == until_us)
            return f"Its e-mail waits until {what}, {relative(until_us, now_us)}."
        case Send():
            when = relative(copy["deliver_after"], now_us) if later else "as soon as a worker takes it"
            return f"Its e-mail is due and leaves {when}."
        case _:
            assert_never(verdict)
