"""The model of a butler as a caller."""

from __future__ import annotations

from dataclasses import dataclass

from postroom.domain.principal import Principal
from postroom.domain.session_id import SessionId


@dataclass(frozen=True, slots=True)
class SessionPrincipal(Principal):
    """A butler, as its model speaks for it during one session."""

    session_id: SessionId
