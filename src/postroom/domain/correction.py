"""
Corrections of a message: what a sender asks, what becomes of it, and the one shape of its answer.

    {"status": …, "revises": the message's delivery, "delivery_id": …, "how": …, "message": one sentence}

`status` is `revised`, `withdrawn` (taken back before it was sent), `recalled`, `corrected` (another message in the
same thread says so), `awaiting_approval`, `accepted` (stored, still being tried), `too_late`, or `error` with the
fields that an error of `notify` has. `how` is `in_place`, `edit`, `delete` or `correction`. `delivery_id` is the
correction's own delivery, or the message's where it was changed in place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from postroom.domain.delivery import Format, Status
from postroom.domain.errors import FieldError, PostroomError, ValidationError
from postroom.domain.fields import Fields
from postroom.domain.idempotency_key import MAX_KEY_CHARACTERS
from postroom.domain.ids import DeliveryId, is_uuid
from postroom.domain.notify import MAX_MARKDOWN_CHARACTERS, MAX_MESSAGE_CHARACTERS, MAX_SUBJECT_CHARACTERS
from postroom.domain.notify_response import notify_error
from postroom.domain.record import record

LONGEST_REASON: Final = 500
BY_SENDER: Final = "withdrawn by its sender"
REPLACED: Final = "withdrawn: a later correction took its place"
REVISED_PREFIX: Final = "Correction: "
RECALLED_TEXT: Final = "Please disregard the previous message."
RECALLED_EDIT: Final = "This message was recalled by its sender."
FIELDS: Final = ("act", "delivery_id", "message", "subject", "format", "reason", "idempotency_key")


class CorrectionAct(StrEnum):
    REVISE = "revise"
    RECALL = "recall"


class How(StrEnum):
    IN_PLACE = "in_place"
    EDIT = "edit"
    DELETE = "delete"
    CORRECTION = "correction"


class CorrectionStatus(StrEnum):
    REVISED = "revised"
    WITHDRAWN = "withdrawn"
    RECALLED = "recalled"
    CORRECTED = "corrected"
    AWAITING_APPROVAL = "awaiting_approval"
    ACCEPTED = "accepted"
    TOO_LATE = "too_late"
    ERROR = "error"


@record
class Correcting:
    """
    What is asked. `sender` is whose deliveries are known to the one who asks, None where all are; `actor` is who asks.

    A subject or a format that is not given stays as it was. `own_card`: who asks has put the buttons under it.
    """

    act: CorrectionAct
    delivery_id: DeliveryId
    actor: str
    sender: str | None
    message: str = ""
    subject: str | None = None
    format: Format | None = None
    reason: str | None = None
    idempotency_key: str | None = None
    own_card: bool = False

    @property
    def fingerprint(self) -> str:
        said = [self.message.strip(), self.subject or "", str(self.format or "")]
        return digest([str(self.act), self.delivery_id, *said])

    @property
    def key(self) -> str | None:
        """A caller's own key stands for itself among the calls of that caller."""
        return None if self.idempotency_key is None else digest(["correction", self.actor, self.idempotency_key])


@record
class KeptCorrection:
    """
    A correction as it is written down: never the words, only which version they were.

    `carried_by` and `status` are of the delivery that carries it; None in place, or when nothing came of it.
    """

    id: str
    delivery_id: DeliveryId
    act: CorrectionAct
    how: How
    version: int
    actor: str
    fingerprint: str
    at_us: int
    key: str | None = None
    reason: str | None = None
    carried_key: str | None = None
    carried_by: DeliveryId | None = None
    status: Status | None = None

    @property
    def stands(self) -> bool:
        """It was done, or is still being done; what ended badly may be asked for again."""
        return self.how is How.IN_PLACE or self.status not in (None, Status.FAILED, Status.DEAD_LETTERED)

    @property
    def happened(self) -> bool:
        return self.how is How.IN_PLACE or self.status is not None


@record
class CorrectionAnswer:
    status: CorrectionStatus
    revises: DeliveryId
    said: str
    delivery_id: DeliveryId | None = None
    how: How | None = None
    error: PostroomError | None = None


def read_correction(given: Mapping[str, Any], *, actor: str, sender: str | None) -> Correcting:
    """Raises ValidationError naming the field as the caller wrote it; a value that is None was not given."""
    fields = Fields({name: value for name, value in given.items() if value is not None})
    fields.refuse_unknown(FIELDS)
    act = CorrectionAct(fields.choice("act", [str(one) for one in CorrectionAct]))
    delivery_id = fields.text("delivery_id", maximum=64).strip().lower()
    if fields.has("delivery_id") and not is_uuid(delivery_id):
        fields.complain("delivery_id", "must be the id of a delivery", "uuid_required")
    format = fields.choice("format", [str(one) for one in Format]) if fields.has("format") else None
    subject = fields.optional_text("subject", maximum=MAX_SUBJECT_CHARACTERS)
    reason = fields.optional_text("reason", maximum=LONGEST_REASON)
    key = fields.optional_text("idempotency_key", maximum=MAX_KEY_CHARACTERS)
    message = _message(fields, format) if act is CorrectionAct.REVISE else ""
    fields.finish()
    return Correcting(
        act=act,
        delivery_id=DeliveryId(delivery_id),
        actor=actor,
        sender=sender,
        message=message,
        format=Format(format) if format else None,
        subject=subject,
        reason=reason,
        idempotency_key=key,
    )


def _message(fields: Fields, format: str | None) -> str:
    maximum = MAX_MARKDOWN_CHARACTERS if format == Format.MARKDOWN else MAX_MESSAGE_CHARACTERS
    return fields.text("message", maximum=maximum)


def unknown_delivery() -> ValidationError:
    """Also of a delivery of another sender's: that is as unknown as one that never was."""
    return ValidationError.of([FieldError("delivery_id", "names no delivery of yours", "unknown_delivery")])


def nothing_to_revise(why: str) -> ValidationError:
    return ValidationError.of([FieldError("delivery_id", why, "nothing_to_revise")])


def correction_object(answer: CorrectionAnswer) -> dict[str, Any]:
    about = {
        "revises": answer.revises,
        "delivery_id": answer.delivery_id,
        "how": str(answer.how) if answer.how else None,
    }
    if answer.error is not None:
        return notify_error(answer.error) | about
    return {"status": str(answer.status), **about, "message": answer.said}


def digest(parts: list[str]) -> str:
    return hashlib.sha256("".join([f"{len(part)}:{part}" for part in parts]).encode()).hexdigest()
