"""What the doors need of the audit, by shape alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from postroom.domain.audit import AuditEntry, AuditQuery, NewAudit


class Audit(Protocol):
    async def add(self, new: NewAudit, now_us: int) -> None: ...


class AuditRecord(Protocol):
    async def page(self, query: AuditQuery) -> Sequence[AuditEntry]:
        """The newest first."""
        ...
