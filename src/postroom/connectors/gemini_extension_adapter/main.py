"""The adapter for Gemini: `uvicorn postroom.connectors.gemini_extension_adapter.main:app --port 40202`."""

from __future__ import annotations

from postroom.connectors.face import GEMINI
from postroom.connectors.standalone import standalone

app = standalone(GEMINI)
