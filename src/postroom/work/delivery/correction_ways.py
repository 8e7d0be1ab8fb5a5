"""What can be done about a message, by how it stands and what its channel can; pure."""

from __future__ import annotations

import json

from postroom.domain.capabilities import Capabilities
from postroom.domain.correction import (
    RECALLED_EDIT,
    RECALLED_TEXT,
    REVISED_PREFIX,
    Correcting,
    CorrectionAct,
    CorrectionAnswer,
    CorrectionStatus,
    How,
    KeptCorrection,
    nothing_to_revise,
)
from postroom.domain.correction_standing import CorrectionStanding
from postroom.domain.delivery import Format, Intent, Status
from postroom.domain.errors import ErrorClass, FieldError, ValidationError
from postroom.domain.ledger import Snapshot
from postroom.domain.outgoing import Outgoing
from postroom.domain.snapshot_outcome import outcome_of

_DONE = {
    (CorrectionAct.REVISE, How.EDIT): (CorrectionStatus.REVISED, "The message was edited where it stands."),
    (CorrectionAct.RECALL, How.EDIT): (CorrectionStatus.RECALLED, "The message now says that it was recalled."),
    (CorrectionAct.RECALL, How.DELETE): (CorrectionStatus.RECALLED, "The message was deleted where it stood."),
}
_FOLLOWED = "It had been sent and cannot be changed there, so another message in its thread corrects it."
_ACCEPTED = "The correction is stored and still being tried; ask for its delivery with notify_status."
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
        raise nothing_to_revise("is a card of the household itself, which changes it as the question goes on")
    if seen.claim.revises is not None and not seen.waits:
        raise nothing_to_revise(
            f"is itself a correction; name the delivery it is about, {seen.claim.revises.delivery_id}"
        )
    if asked.act is CorrectionAct.REVISE and seen.recall is not None:
        return too_late(asked, "It was recalled before.")
    if seen.claim.intent is Intent.REACT and not seen.waits:
        return too_late(asked, "A reaction has no text, and cannot be taken back.")
    if asked.act is CorrectionAct.REVISE and seen.claim.intent is Intent.REACT:
        raise nothing_to_revise("is a reaction, which has no text")
    return None


def over(asked: Correcting, seen: CorrectionStanding) -> CorrectionAnswer:
    """Of one that ended without arriving."""
    ended = "was put aside as a dead letter" if seen.status is Status.DEAD_LETTERED else "failed"
    why = f" ({seen.failure})" if seen.failure else ""
    if asked.act is CorrectionAct.REVISE:
        raise nothing_to_revise(f"{ended} and was not sent{why}; send a new message instead")
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
        format=_format(asked, seen),
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
            return RECALLED_EDIT
        case CorrectionAct.RECALL, _:
            return RECALLED_TEXT
        case CorrectionAct.REVISE, How.CORRECTION:
            return REVISED_PREFIX + asked.message
        case _:
            return asked.message


def _format(asked: Correcting, seen: CorrectionStanding) -> Format:
    if asked.act is CorrectionAct.RECALL:
        return Format.PLAIN
    return asked.format or seen.claim.format


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


def carried(kept: KeptCorrection, snapshot: Snapshot) -> CorrectionAnswer:
    """What became of the delivery that carries it; a provider that refuses an edit or a delete says: too late."""
    status, said, error = CorrectionStatus.ERROR, "", None
    match snapshot.status:
        case Status.DELIVERED:
            status, said = _DONE.get((kept.act, kept.how), (CorrectionStatus.CORRECTED, _FOLLOWED))
        case Status.AWAITING_APPROVAL:
            status, said = CorrectionStatus.AWAITING_APPROVAL, _PARKED
        case Status.PENDING | Status.IN_PROGRESS:
            status, said = CorrectionStatus.ACCEPTED, _ACCEPTED
        case Status.FAILED if kept.how is not How.CORRECTION and _is_refusal(snapshot):
            status, said = CorrectionStatus.TOO_LATE, f"It can no longer be changed there: {_words(snapshot)}."
        case _:
            error = outcome_of(snapshot, request_id=snapshot.request_id).error
            said = error.message if error else ""
    return CorrectionAnswer(
        status=status, revises=kept.delivery_id, delivery_id=snapshot.id, how=kept.how, said=said, error=error
    )


def _is_refusal(snapshot: Snapshot) -> bool:
    return snapshot.failure is not None and snapshot.failure.error_class is ErrorClass.VALIDATION


def _words(snapshot: Snapshot) -> str:
    return snapshot.failure.message.rstrip(".") if snapshot.failure else ""
