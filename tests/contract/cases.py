"""Every shipped channel, and the example of the documentation, in every situation a channel can meet."""

from __future__ import annotations

from tests.contract import apprise_service, beeper, discord, email, ntfy, slack, telegram, webhook
from tests.contract.situations import Case as FormerCase

from postroom.testing import Case

CASES: tuple[Case | FormerCase, ...] = (
    telegram.CASE,
    email.CASE,
    beeper.CASE,
    ntfy.CASE,
    slack.CASE,
    discord.CASE,
    webhook.CASE,
    apprise_service.CASE,
)
