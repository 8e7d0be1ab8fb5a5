"""How far a mailbox has been read, as one number: which mailbox it was, and the last mail in it."""

from __future__ import annotations

from dataclasses import dataclass

_UID_BITS = 32
_UID_MASK = (1 << _UID_BITS) - 1
_VALIDITY_MASK = (1 << 31) - 1  # so that it fits where signed numbers are kept


@dataclass(frozen=True, slots=True)
class MailPosition:
    """A server that numbers its mails anew says so by another UIDVALIDITY, which is never below an earlier one."""

    validity: int
    uid: int

    @classmethod
    def of(cls, number: int) -> MailPosition:
        return cls(number >> _UID_BITS, number & _UID_MASK)

    @property
    def number(self) -> int:
        return (self.validity & _VALIDITY_MASK) << _UID_BITS | (self.uid & _UID_MASK)

    def is_in(self, validity: int) -> bool:
        return self.validity == validity & _VALIDITY_MASK
