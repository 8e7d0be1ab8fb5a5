"""
Corrections of a message: what a sender asks, what becomes of it, and the one shape of its answer.

    {"status": …, "revises": the message's delivery, "delivery_id": …, "how": …, "message": one sentence}

`status` is `revised`, `withdrawn` (taken back before it was sent), `recalled`, `corrected` (another message in the
same thread says so), `awaiting_approval`, `accepted` (stored, still being tried), `too_late`, or `error` with the
fields that an error of `notify` has. `how` is `in_place`, `edit`, `delete` or `correction`. `delivery_id` is the
correction's own delivery, or the message's where it was changed in place.
"""

from __future__ import annotations

import json
from dataclasses import replace
from enum import StrEnum
from typing import Final

from postroom.delivery.model import Claim, NewDelivery, SentMessage, Snapshot, outcome_of
from postroom.delivery.rules.policy import digest
from postroom.kernel.http.answers import JsonObject
from postroom.kernel.values.errors import ErrorClass, FieldError, PostroomError, ValidationError, error_of
from postroom.kernel.values.fields import Fields
from postroom.kernel.values.ids import DeliveryId, is_uuid, record
from postroom.kernel.values.principal import MAX_KEY_CHARACTERS
from postroom.message.channel import Capabilities
from postroom.message.delivery import Format, Intent, Status
from postroom.message.outgoing import MAX_SUBJECT_CHARACTERS, Outgoing
from postroom.message.wire import MAX_MARKDOWN_CHARACTERS, MAX_MESSAGE_CHARACTERS, notify_error

LONGEST_REASON: Final = 500
BY_SENDER: Final = "withdrawn by its sender"
REPLACED: Final = "withdrawn: a later correction took its place"
_REVISED_PREFIX: Final = "Correction: "
_RECALLED_TEXT: Final = "Please disregard the previous message."
_RECALLED_EDIT: Final = "This message was recalled by its sender."
_FIELDS: Final = ("act", "delivery_id", "message", "subject", "format", "reason", "idempotency_key")


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


def read_correction(given: JsonObject, *, actor: str, sender: str | None) -> Correcting:
    """Raises ValidationError naming the field as the caller wrote it; a value that is None was not given."""
    fields = Fields({name: value for name, value in given.items() if value is not None})
    fields.refuse_unknown(_FIELDS)
    act = CorrectionAct(fields.choice("act", [str(one) for one in CorrectionAct]))
    delivery_id = fields.text("delivery_id", maximum=64).strip().lower()
    if fields.has("delivery_id") and not is_uuid(delivery_id):
        fields.complain("delivery_id", "must be the id of a delivery", "uuid_required")
    format = fields.choice("format", [str(one) for one in Format]) if fields.has("format") else None
    subject = fields.optional_text("subject", maximum=MAX_SUBJECT_CHARACTERS)
    reason = fields.optional_text("reason", maximum=LONGEST_REASON)
    key = fields.optional_text("idempotency_key", maximum=MAX_KEY_CHARACTERS)
    longest = MAX_MARKDOWN_CHARACTERS if format == Format.MARKDOWN else MAX_MESSAGE_CHARACTERS
    message = fields.text("message", maximum=longest) if act is CorrectionAct.REVISE else ""
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


def unknown_delivery() -> ValidationError:
    """Also of a delivery of another sender's: that is as unknown as one that never was."""
    return ValidationError.of([FieldError("delivery_id", "names no delivery of yours", "unknown_delivery")])


def unknown_notice() -> ValidationError:
    return ValidationError.of([FieldError("notice_id", "names no notice of yours", "unknown_delivery")])


def _nothing_to_revise(why: str) -> ValidationError:
    return ValidationError.of([FieldError("delivery_id", why, "nothing_to_revise")])


def correction_object(answer: CorrectionAnswer) -> dict[str, object]:
    about = {
        "revises": answer.revises,
        "delivery_id": answer.delivery_id,
        "how": str(answer.how) if answer.how else None,
    }
    if answer.error is not None:
        return notify_error(answer.error) | about
    return {"status": str(answer.status), **about, "message": answer.said}


# -- How a message stands when it is to be corrected: not yet sent, under way, arrived, or over ---


@record
class CorrectionStanding:
    """
    One delivery as it was at one moment, with the corrections it has had, oldest first.

    `keyed` is what the caller's key was used for before, which may be another delivery's correction.
    """

    claim: Claim
    status: Status
    idempotency_key: str
    fingerprint: str
    target_identity: str
    envelope: str
    failure: str | None = None
    sent: SentMessage | None = None
    corrections: tuple[KeptCorrection, ...] = ()
    keyed: KeptCorrection | None = None

    @property
    def waits(self) -> bool:
        """Nothing of it can have left: no part, and no call whose end is unknown."""
        claim = self.claim
        untouched = not (claim.parts_done or claim.sending or claim.doubtful_since_us or claim.possible_duplicate)
        return self.status is Status.AWAITING_APPROVAL or (self.status is Status.PENDING and untouched)

    @property
    def is_under_way(self) -> bool:
        return self.status in (Status.PENDING, Status.IN_PROGRESS) and not self.waits

    @property
    def is_own(self) -> bool:
        """A card, or a correction itself: only what made it may change it."""
        return self.claim.markup is not None or self.claim.revises is not None

    @property
    def latest(self) -> KeptCorrection | None:
        return next((one for one in reversed(self.corrections) if one.happened), None)

    @property
    def recall(self) -> KeptCorrection | None:
        """The one that stands, if any."""
        recalls = (one for one in self.corrections if one.act is CorrectionAct.RECALL and one.stands)
        return next(recalls, None)

    @property
    def version(self) -> int:
        """Of the text that was accepted last."""
        return 1 + sum(one.act is CorrectionAct.REVISE and one.happened for one in self.corrections)

    def same(self, other: CorrectionStanding) -> bool:
        """Nothing has happened to it between the two looks."""
        moved = (self.status, self.claim.fence) != (other.status, other.claim.fence)
        known = [one.id for one in self.corrections] == [one.id for one in other.corrections]
        return known and not moved and self.waits == other.waits

    def worded(self, *, message: str, subject: str | None, format: Format, envelope: str) -> NewDelivery:
        """The same delivery with another text; its key stays bound to what was asked first."""
        new = NewDelivery(
            **self.claim.carried(),
            idempotency_key=self.idempotency_key,
            fingerprint=self.fingerprint,
            target_identity=self.target_identity,
            envelope=envelope,
        )
        return replace(new, message=message, subject=subject, format=format)


# -- What can be done about a message, by how it stands and what its channel can ---


_DONE = {
    (CorrectionAct.REVISE, How.EDIT): (CorrectionStatus.REVISED, "The message was edited where it stands."),
    (CorrectionAct.RECALL, How.EDIT): (CorrectionStatus.RECALLED, "The message now says that it was recalled."),
    (CorrectionAct.RECALL, How.DELETE): (CorrectionStatus.RECALLED, "The message was deleted where it stood."),
}
_FOLLOWED = "It had been sent and cannot be changed there, so another message in its thread corrects it."
_ACCEPTED = "The correction is stored and still being tried; ask for its delivery with notify_status."
_IN_PART = "It was done only in part, and what was changed stays so"
_PARKED = "A person must approve the new text first."


def way_of(act: CorrectionAct, can: Capabilities) -> How | None:
    """None when the channel can do nothing about what was sent."""
    if act is CorrectionAct.RECALL and can.deletes:
        return How.DELETE
    if can.edits:
        return How.EDIT
    return How.CORRECTION if can.replies else None


def repeated(asked: Correcting, seen: CorrectionStanding) -> KeptCorrection | None:
    """What the same call has come to before: under its key, or as the latest thing that happened to the message."""
    if asked.key is not None:
        return _under_key(asked, seen.keyed)
    if asked.act is CorrectionAct.RECALL:
        return seen.recall
    latest = seen.latest
    same = latest is not None and latest.fingerprint == asked.fingerprint
    return latest if same and latest is not None and latest.status is not Status.DEAD_LETTERED else None


def _under_key(asked: Correcting, keyed: KeptCorrection | None) -> KeptCorrection | None:
    if keyed is None or not keyed.happened:
        return None
    if keyed.fingerprint != asked.fingerprint:
        told = FieldError("idempotency_key", "was already used for another correction", "key_reused")
        raise ValidationError.of([told])
    return keyed


def objection(asked: Correcting, seen: CorrectionStanding) -> CorrectionAnswer | None:
    """Why nothing can be done, whatever the channel can; raises where there is nothing to correct."""
    if seen.claim.markup is not None and not asked.own_card:
        raise _nothing_to_revise("is a card of the household itself, which changes it as the question goes on")
    if seen.claim.revises is not None and not seen.waits:
        raise _nothing_to_revise(
            f"is itself a correction; name the delivery it is about, {seen.claim.revises.delivery_id}"
        )
    if asked.act is CorrectionAct.REVISE and seen.recall is not None:
        return too_late(asked, "It was recalled before.")
    if seen.claim.intent is Intent.REACT and not seen.waits:
        return too_late(asked, "A reaction has no text, and cannot be taken back.")
    if asked.act is CorrectionAct.REVISE and seen.claim.intent is Intent.REACT:
        raise _nothing_to_revise("is a reaction, which has no text")
    return None


def over(asked: Correcting, seen: CorrectionStanding) -> CorrectionAnswer:
    """Of one that ended without arriving."""
    ended = "was put aside as a dead letter" if seen.status is Status.DEAD_LETTERED else "failed"
    why = f" ({seen.failure})" if seen.failure else ""
    if asked.act is CorrectionAct.REVISE:
        raise _nothing_to_revise(f"{ended} and was not sent{why}; send a new message instead")
    sentences = [f"There is nothing to recall: it {ended}{why}."]
    if seen.claim.possible_duplicate or seen.claim.doubtful_since_us or seen.claim.parts_done:
        sentences.append("A part or a copy of it may have arrived.")
    if seen.status is Status.DEAD_LETTERED:
        sentences.append("Discard the dead letter, so that it is never replayed.")
    return too_late(asked, " ".join(sentences))


def outgoing_of(asked: Correcting, seen: CorrectionStanding, how: How, key: str) -> Outgoing:
    """The delivery that carries it, in the name of the sender of the message."""
    claim = seen.claim
    return Outgoing(
        origin_butler=claim.origin_butler,
        channel=claim.channel,
        message=_text(asked, how),
        intent=Intent.REPLY if how is How.CORRECTION else Intent.SEND,
        subject=asked.subject if asked.subject is not None else claim.subject,
        idempotency_key=key,
        priority=claim.priority,
        revises=None if how is How.CORRECTION else claim.id,
        deletes=how is How.DELETE,
        follows=claim.id if how is How.CORRECTION else None,
        format=Format.PLAIN if asked.act is CorrectionAct.RECALL else asked.format or claim.format,
    )


def reworded_envelope(asked: Correcting, seen: CorrectionStanding) -> str:
    """notify.v1 as it would have come, had the sender written it so."""
    envelope = json.loads(seen.envelope)
    delivery = dict(envelope.get("delivery", {})) | {"message": asked.message}
    if asked.subject is not None:
        delivery["subject"] = asked.subject
    if asked.format is not None:
        delivery["format"] = str(asked.format)
    return json.dumps(envelope | {"delivery": delivery}, ensure_ascii=False, separators=(",", ":"))


def _text(asked: Correcting, how: How) -> str:
    match asked.act, how:
        case _, How.DELETE:
            return ""
        case CorrectionAct.RECALL, How.EDIT:
            return _RECALLED_EDIT
        case CorrectionAct.RECALL, _:
            return _RECALLED_TEXT
        case CorrectionAct.REVISE, How.CORRECTION:
            return _REVISED_PREFIX + asked.message
        case _:
            return asked.message


def too_late(asked: Correcting, why: str) -> CorrectionAnswer:
    return CorrectionAnswer(status=CorrectionStatus.TOO_LATE, revises=asked.delivery_id, said=why)


def in_place(kept: KeptCorrection, status: Status) -> CorrectionAnswer:
    """What was changed before it was sent; `status` is the message's own now."""
    if kept.act is CorrectionAct.RECALL:
        done, said = CorrectionStatus.WITHDRAWN, "It was withdrawn before it was sent."
    elif status is Status.AWAITING_APPROVAL:
        done, said = CorrectionStatus.AWAITING_APPROVAL, _PARKED
    else:
        done, said = (
            CorrectionStatus.REVISED,
            f"It had not been sent; version {kept.version} took the place of the text.",
        )
    about = kept.delivery_id
    return CorrectionAnswer(status=done, revises=about, delivery_id=about, how=How.IN_PLACE, said=said)


def carried(kept: KeptCorrection, snapshot: Snapshot, *, in_part: bool = False) -> CorrectionAnswer:
    """
    What became of the delivery that carries it; a provider that refuses an edit or a delete says: too late.

    `in_part`: it ended badly after something had been changed, which "too late" would deny.
    """
    status, said, error, failure = CorrectionStatus.ERROR, "", None, snapshot.failure
    refused = failure is not None and failure.error_class is ErrorClass.VALIDATION
    match snapshot.status:
        case Status.DELIVERED:
            status, said = _DONE.get((kept.act, kept.how), (CorrectionStatus.CORRECTED, _FOLLOWED))
        case Status.AWAITING_APPROVAL:
            status, said = CorrectionStatus.AWAITING_APPROVAL, _PARKED
        case Status.PENDING | Status.IN_PROGRESS:
            status, said = CorrectionStatus.ACCEPTED, _ACCEPTED
        case Status.FAILED if failure and refused and kept.how is not How.CORRECTION and not in_part:
            status = CorrectionStatus.TOO_LATE
            said = f"It can no longer be changed there: {failure.message.rstrip('.')}."
        case _:
            error = outcome_of(snapshot, request_id=snapshot.request_id).error
            if error and in_part:
                error = error_of(error.error_class, f"{_IN_PART}: {error.message}")
            said = error.message if error else ""
    return CorrectionAnswer(
        status=status, revises=kept.delivery_id, delivery_id=snapshot.id, how=kept.how, said=said, error=error
    )
