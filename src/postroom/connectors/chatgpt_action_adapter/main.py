"""The adapter for ChatGPT: `uvicorn postroom.connectors.chatgpt_action_adapter.main:app --port 40201`."""

from __future__ import annotations

from postroom.doors.assistants.profile import CHATGPT
from postroom.doors.assistants.standalone import standalone

app = standalone(CHATGPT)
