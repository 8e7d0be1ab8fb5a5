"""The adapter for Gemini: `uvicorn postroom.connectors.gemini_extension_adapter.main:app --port 40202`."""

from __future__ import annotations

from postroom.connectors.app import standalone
from postroom.connectors.profile import GEMINI

app = standalone(GEMINI)
