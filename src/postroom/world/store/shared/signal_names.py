"""What the processes of a household ring for each other."""

from __future__ import annotations

import secrets
from typing import Final

ATTENTION_CHANNEL: Final = "postroom_attention"


PENDING_CHANNEL: Final = "postroom_pending"


SETTLED_CHANNEL: Final = "postroom_settled"


QUESTIONS_CHANNEL: Final = "postroom_questions"  # on PostgreSQL: who committed, and which question has a new event


THIS_PROCESS: Final = secrets.token_hex(4)
