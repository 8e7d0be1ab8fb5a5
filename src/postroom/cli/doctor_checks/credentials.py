"""The providers: do they know us, and do we know whom to write to?"""

from __future__ import annotations

from postroom.app.channels import build_channels, known_channels
from postroom.app.people_seeds import owner_seed
from postroom.cli.doctor_checks.finding import Finding
from postroom.domain.errors import PostroomError
from postroom.domain.ports import Channel, Probe
from postroom.system.settings import Settings, SettingsError

_PROBE_SECONDS = 10.0
_WHERE = {
    "telegram": "BUTLER_TELEGRAM_TOKEN, as @BotFather gave it",
    "email": "BUTLER_EMAIL_ADDRESS and BUTLER_EMAIL_PASSWORD, and [email] smtp_host",
}


async def look_at_channels(settings: Settings) -> list[Finding]:
    """Asks who we are (getMe) and logs in (SMTP); sends nothing."""
    if settings.in_sandbox:
        return [Finding("channels", True, "sandbox: no credentials are set, nothing leaves this machine")]
    try:
        channels = build_channels(settings, None)
    except SettingsError as error:
        return [Finding("channels", False, str(error), "mend that setting, or the variable it comes from")]
    findings = [
        Finding(name, True, "not set up, so it cannot be used", f"to use it, set {_WHERE[name]}")
        for name in sorted(known_channels(settings) - channels.keys())
    ]
    if not channels:
        findings.append(
            Finding("channels", False, "no sandbox and no credentials", "set one of them, or drop --no-sandbox")
        )
    for name, channel in channels.items():
        findings.append(await _probe(name, channel))
        await channel.close()
    return findings


async def _probe(name: str, channel: Channel) -> Finding:
    if not isinstance(channel, Probe):
        return Finding(name, True, "set up; it cannot tell whether its credentials work")
    try:
        who = await channel.probe(_PROBE_SECONDS)
    except PostroomError as error:
        return Finding(name, False, error.message, f"check {_WHERE.get(name, f'[channels.{name}]')}")
    return Finding(name, True, f"we are {who}")


def look_at_owner(settings: Settings) -> list[Finding]:
    """In the sandbox there is always somebody to write to; channels that cannot be made have a finding of their own."""
    if settings.in_sandbox:
        return []
    try:
        channels = build_channels(settings, None)
    except SettingsError:
        return []
    owner = owner_seed(settings)
    reached = [name for name in channels if any(one.channel == name for one in owner.addresses)]
    if reached:
        return [Finding("owner", True, f"is reached by {' and '.join(reached)}")]
    advice = "set [owner] telegram_chat_id or email, or every message must name its recipient"
    return [Finding("owner", False, "has no address on any channel that is set up", advice)]
