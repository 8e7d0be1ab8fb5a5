"""The stateless revision of the protocol, which parts of a household speak among themselves."""

from __future__ import annotations

from typing import Final

REVISION: Final = "2026-07-28"
