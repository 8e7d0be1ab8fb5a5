"""The adapter for ChatGPT: `uvicorn postroom.connectors.chatgpt_action_adapter.main:app --port 40201`."""

from __future__ import annotations

from postroom.connectors.app import standalone
from postroom.connectors.profile import CHATGPT

app = standalone(CHATGPT)
