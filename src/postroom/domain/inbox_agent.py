"""Who sends the e-mail copies of the inbox."""

from __future__ import annotations

from typing import Final

INBOX_AGENT: Final = "inbox"  # who speaks where no program does


ASKER: Final = "system:approvals"  # no token stands for it: what is asked here cannot be taken back or reworded
