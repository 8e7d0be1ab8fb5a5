"""How long a test waits for what must come: long, for a machine may be busy and a wait ends when it has come."""

from __future__ import annotations

PATIENCE_SECONDS = 60.0
