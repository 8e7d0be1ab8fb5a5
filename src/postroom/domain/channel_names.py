"""Names that no account may have, because they mean something wherever a channel is named."""

from __future__ import annotations

from typing import Final

AUTO: Final = "auto"
"""The first channel that is set up, in the person's own order."""
RESERVED_NAMES: Final = frozenset({AUTO, "console", "desk"})
