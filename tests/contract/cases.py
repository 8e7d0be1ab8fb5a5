"""The channels that run the suite; a new channel adds its case here."""

from __future__ import annotations

from tests.contract import email, ntfy, telegram
from tests.contract.situations import Case as FormerCase

from postroom.testing import Case

CASES: tuple[Case | FormerCase, ...] = (telegram.CASE, email.CASE, ntfy.CASE)
