"""Acts of commands that change the household without its API: written down for the audit."""

from __future__ import annotations

import asyncio

from postroom.domain.audit import AuditKind, NewAudit
from postroom.domain.principal import OPERATOR
from postroom.system.settings import Settings


def noted(settings: Settings, kind: AuditKind, act: str, *, subject: str = "", detail: str = "") -> None:
    """In the name of the owner: who may read the household's files is."""
    from postroom.app.command_audit import note_command

    entry = NewAudit(actor=str(OPERATOR), kind=kind, act=act, subject=subject, detail=detail, door="command")
    asyncio.run(note_command(settings, entry))
