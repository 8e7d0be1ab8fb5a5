"""Why a note is where it is, and its e-mail copy, in one paragraph of plain English."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, assert_never

from postroom.domain.email_copy import Defer, Drop, Send
from postroom.domain.notification import Notification, Preferences
from postroom.domain.spoken_time import relative
from postroom.work.inbox.deferral import judge

Row = Mapping[str, Any]


def why_note(
    note: Notification, preferences: Preferences, copy: Row | None, *, email_enabled: bool, now_us: int
) -> str:
    """`copy` is its row of `deferred_emails`; what still waits is judged as it would be at this moment."""
    told = [f"It is a note in the inbox of {note.user_id}, stored {relative(note.created_at_us, now_us)}."]
    told.append(_read(note, now_us))
    if note.snoozed_until_us is not None and note.snoozed_until_us > now_us:
        told.append(f"The person has put it out of sight; it comes back {relative(note.snoozed_until_us, now_us)}.")
    if not note.has_bell:
        told.append("The person wanted notes by e-mail only, so the bell stayed silent.")
    if copy is None:
        told.append(_no_copy(note, preferences, email_enabled, now_us))
    else:
        told.append(_ended(copy, now_us) or _waiting(note, preferences, copy, email_enabled, now_us))
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


def _no_copy(note: Notification, preferences: Preferences, email_enabled: bool, now_us: int) -> str:
    """Why none was made is not on record; what would stand in the way today is the best guess."""
    unread = replace(note, read_at_us=None, archived_at_us=None, dismissed_at_us=None)
    verdict = judge(unread, preferences, email_enabled=email_enabled, now_us=now_us)
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


def _waiting(note: Notification, preferences: Preferences, copy: Row, email_enabled: bool, now_us: int) -> str:
    later = copy["deliver_after"] > now_us
    if copy["batch_id"] is not None:  # decided: nothing but the hand-over is open
        again = f" and is tried again {relative(copy['deliver_after'], now_us)}" if later else ""
        reason = f" ({copy['error_message']})" if copy["error_message"] else ""
        return f"Its e-mail is being handed over{reason}{again}."
    verdict = judge(note, preferences, email_enabled=email_enabled, now_us=now_us)
    match verdict:
        case Drop(reason):
            return f"Its e-mail will not be sent: {reason}."
        case Defer(until_us):
            what = "the snooze ends" if until_us == note.snoozed_until_us else "the person's quiet hours end"
            return f"Its e-mail waits until {what}, {relative(until_us, now_us)}."
        case Send():
            when = relative(copy["deliver_after"], now_us) if later else "as soon as a worker takes it"
            return f"Its e-mail is due and leaves {when}."
        case _:
            assert_never(verdict)
