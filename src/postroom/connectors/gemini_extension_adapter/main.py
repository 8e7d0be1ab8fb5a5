"""The adapter for Gemini: `uvicorn postroom.connectors.gemini_extension_adapter.main:app --port 40202`."""

from __future__ import annotations

from postroom.doors.assistants.profile import GEMINI
from postroom.doors.assistants.standalone import standalone

app = standalone(GEMINI)
