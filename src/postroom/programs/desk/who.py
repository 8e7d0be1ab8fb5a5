"""The two sides of a conversation, by the names that VoiceMode's log gives them."""

from __future__ import annotations

from enum import StrEnum


class Who(StrEnum):
    PERSON = "stt"
    ASSISTANT = "tts"
