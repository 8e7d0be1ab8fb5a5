"""Every shipped channel, and the example of the documentation, as the installed suite wants them described."""

from __future__ import annotations

from tests.contract import apprise_service, beeper, discord, email, ntfy, slack, telegram, webhook, webpush

from postroom.testing import Case

CASES: tuple[Case, ...] = (
    telegram.CASE,
    email.CASE,
    beeper.CASE,
    ntfy.CASE,
    slack.CASE,
    discord.CASE,
    webhook.CASE,
    webpush.CASE,
    apprise_service.CASE,
)
