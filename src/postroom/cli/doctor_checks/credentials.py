"""The providers: do they know us, and do we know whom to write to?"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from postroom.app.account_channel import account_channel, section_name
from postroom.app.channels import build_channels
from postroom.app.people_seeds import owner_seed
from postroom.cli.doctor_checks.finding import Finding
from postroom.domain.errors import PostroomError
from postroom.domain.ports import Channel, Probe
from postroom.domain.settings_error import SettingsError
from postroom.system.settings import Settings
from postroom.system.settings.accounts import Account

_PROBE_SECONDS = 10.0
_WHERE = {
    "telegram": "BUTLER_TELEGRAM_TOKEN, as @BotFather gave it",
    "email": "BUTLER_EMAIL_ADDRESS and BUTLER_EMAIL_PASSWORD, and [email] smtp_host",
}


async def look_at_channels(settings: Settings) -> list[Finding]:
    """Asks each account who we are, or logs in; sends nothing."""
    if settings.in_sandbox:
        return [Finding("channels", True, "sandbox: no credentials are set, nothing leaves this machine")]
    accounts = settings.accounts
    findings = [
        Finding(name, True, "not set up, so it cannot be used", f"to use it, set {where}")
        for name, where in sorted(_WHERE.items())
        if name not in {one.name for one in accounts}
    ]
    if not accounts:
        findings.append(
            Finding("channels", False, "no sandbox and no credentials", "set one of them, or drop --no-sandbox")
        )
    return findings + await asyncio.gather(*(_look_at(one, settings.home) for one in accounts))


async def _look_at(account: Account, home: Path) -> Finding:
    try:
        channel = account_channel(account, home)
    except SettingsError as error:
        return Finding(account.name, False, str(error), "mend that setting, or the variable it comes from")
    try:
        return await _probe(account, channel)
    finally:
        await channel.close()


async def _probe(account: Account, channel: Channel) -> Finding:
    if not isinstance(channel, Probe):
        return Finding(account.name, True, "set up; it cannot tell whether its credentials work")
    try:
        who = await channel.probe(_PROBE_SECONDS)
    except PostroomError as error:
        return Finding(account.name, False, error.message, f"check {_where(account)}")
    return Finding(account.name, True, f"we are {who}")


def _where(account: Account) -> str:
    section = section_name(account)
    return _WHERE.get(section) or f"[{section}]"


def look_at_owner(settings: Settings, known_on: Sequence[str] = ()) -> list[Finding]:
    """
    In the sandbox there is always somebody to write to; channels that cannot be made have a finding of their own.

    `known_on`: the channels of the addresses that were given later than by the settings.
    """
    if settings.in_sandbox:
        return []
    try:
        channels = build_channels(settings, None)
    except SettingsError:
        return []
    places = {*known_on, *(one.channel for one in owner_seed(settings).addresses)}
    reached = [name for name in channels if name in places]
    if reached:
        return [Finding("owner", True, f"is reached by {' and '.join(reached)}")]
    advice = "`postroom people edit owner --address CHANNEL:ADDRESS`, or every message must name its recipient"
    return [Finding("owner", False, "has no address on any channel that is set up", advice)]
