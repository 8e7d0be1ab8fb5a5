"""Who did what in the household: short facts, without the words of any message."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class AuditKind(StrEnum):
    SIGN_IN = "sign-in"  # came, left, may come
    DECISION = "decision"  # answered, approved, rejected
    PEOPLE = "people"  # records, addresses, pairing
    RULES = "rules"  # what may leave without asking
    ATTENTION = "attention"  # policies, quiet hours, mutes
    ACCESS = "access"  # tokens, passkeys, invitations
    MESSAGES = "messages"  # replays, discards, corrections
    SETTINGS = "settings"  # preferences, webhooks, everything else that is set


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAudit:
    """
    `actor` is a principal as everywhere (`operator`, `person:ann`); `subject` names what was acted on, such as
    `person:ann` or `dead_letter:…`; `door` is where it was done.
    """

    actor: str
    kind: AuditKind
    act: str
    subject: str = ""
    detail: str = ""
    door: str = "console"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry(NewAudit):
    """As it was written down."""

    id: str
    at_us: int


@dataclass(frozen=True, slots=True)
class Noted:
    """
    How an act of a door is written down: `of` is what the id in its path is the id of, `field` a field of its form
    that says what was meant, or of the answer, where the id is of what was made.
    """

    kind: AuditKind
    act: str
    of: str = ""
    field: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditQuery:
    """`before` is a cursor of an earlier page: everything on this page is older."""

    limit: int
    actors: tuple[str, ...] = ()
    kind: AuditKind | None = None
    before: tuple[int, str] | None = None
