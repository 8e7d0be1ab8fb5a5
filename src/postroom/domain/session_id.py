"""The name of a session of a butler's model."""

from __future__ import annotations

from typing import NewType

SessionId = NewType("SessionId", str)
