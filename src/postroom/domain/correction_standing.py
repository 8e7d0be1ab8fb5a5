"""How a message stands when it is to be corrected: not yet sent, under way, arrived, or over."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Final

from postroom.domain.correction import CorrectionAct, KeptCorrection
from postroom.domain.delivery import Format, Status
from postroom.domain.ledger import Carried, Claim, NewDelivery, Sent
from postroom.domain.record import record

_CARRIED: Final = tuple(field.name for field in fields(Carried))


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
    sent: Sent | None = None
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
        carried: dict[str, Any] = {name: getattr(self.claim, name) for name in _CARRIED}
        new = NewDelivery(
            **carried,
            idempotency_key=self.idempotency_key,
            fingerprint=self.fingerprint,
            target_identity=self.target_identity,
            envelope=envelope,
        )
        return replace(new, message=message, subject=subject, format=format)
