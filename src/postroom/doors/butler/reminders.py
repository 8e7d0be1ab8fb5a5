"""`remind`: a message with a moment, stored now and sent then, without a model."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from postroom.domain.appointment import Appointment, AppointmentKind
from postroom.domain.capabilities import KnownChannels
from postroom.domain.errors import FieldError, ValidationError
from postroom.domain.notify import notify_document
from postroom.domain.time import parse_text, seconds, to_text
from postroom.doors.butler.notify import NotifyArguments, read_arguments

MAX_DELAY_MINUTES: Final = 5 * 366 * 24 * 60
NO_REMINDERS: Final = "The messenger keeps no appointments; call remind at a butler's own server, such as general's."


@dataclass(frozen=True, slots=True, kw_only=True)
class RemindArguments:
    """As they came from the model."""

    message: object = None
    channel: object = None
    delay_minutes: object = None
    remind_at: object = None
    recipient: object = None
    subject: object = None
    request_context: object = None
    format: object = None


def plan_reminder(
    arguments: RemindArguments, *, butler: str, channels: KnownChannels, reminder_id: str, now_us: int
) -> Appointment:
    """Raises ValidationError: what could not be sent then is refused now."""
    due = due_at_us(arguments, now_us)
    notify = NotifyArguments(
        channel=arguments.channel,
        message=arguments.message,
        recipient=arguments.recipient,
        subject=arguments.subject,
        intent="reply" if arguments.request_context is not None else "send",
        request_context=arguments.request_context,
        format=arguments.format,
    )
    envelope = notify_document(read_arguments(notify, origin_butler=butler, channels=channels))
    work: dict[str, Any] = {**envelope["delivery"], "request_context": envelope.get("request_context")}
    return Appointment(
        id=reminder_id,
        butler=butler,
        kind=AppointmentKind.REMINDER,
        name="reminder",
        due_at_us=due,
        work=json.dumps({"notify": {name: value for name, value in work.items() if value is not None}}),
        created_at_us=now_us,
    )


def due_at_us(arguments: RemindArguments, now_us: int) -> int:
    delay, moment = arguments.delay_minutes, arguments.remind_at
    if (delay is None) == (moment is None):
        raise ValidationError("Give either 'delay_minutes' or 'remind_at'.")
    if delay is not None:
        if isinstance(delay, bool) or not isinstance(delay, int | float) or not 0 < delay <= MAX_DELAY_MINUTES:
            raise _wrong("delay_minutes", f"must be a number above 0 and at most {MAX_DELAY_MINUTES}")
        return now_us + seconds(delay * 60)
    try:
        due = parse_text(str(moment))
    except (ValueError, OverflowError):
        raise _wrong("remind_at", "must be an RFC 3339 time with an offset") from None
    if due <= now_us:
        raise _wrong("remind_at", "must lie in the future")
    if due > now_us + seconds(MAX_DELAY_MINUTES * 60):
        raise _wrong("remind_at", "lies too far in the future")
    return due


def scheduled_answer(reminder: Appointment) -> dict[str, Any]:
    notify = json.loads(reminder.work)["notify"]
    return {
        "id": reminder.id,
        "status": "scheduled",
        "remind_at": to_text(reminder.due_at_us),
        "channel": notify["channel"],
        "message": notify["message"],
    }


def _wrong(field: str, error: str) -> ValidationError:
    return ValidationError.of([FieldError(field, error, "invalid")])
