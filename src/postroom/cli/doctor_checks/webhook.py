"""What Telegram says about the webhook of a bot that has one."""

from __future__ import annotations

from postroom.cli.doctor_checks.finding import Finding
from postroom.domain.ports import Channel
from postroom.domain.spoken_time import relative
from postroom.system.clock import SystemClock
from postroom.world.channels.telegram import Telegram
from postroom.world.channels.telegram_webhook import HookInfo

_ADVICE = "see that the proxy hands /channels/ to the API port, and that its certificate is good"


async def look_at_webhook(name: str, channel: Channel, who: str, timeout_seconds: float) -> Finding | None:
    """None where the provider brings nothing by itself; raises one of our errors."""
    report = await channel.push_report(timeout_seconds) if isinstance(channel, Telegram) else None
    return None if report is None else hook_finding(name, who, *report)


def hook_finding(name: str, who: str, info: HookInfo, wanted: str) -> Finding:
    state, failed = info.state, ""
    if state.error:
        failed = f"; it last failed {relative(state.error_at_us, SystemClock().now_us())}: {state.error}"
    if not info.url:
        return Finding(name, True, f"we are {who}; no webhook is set yet", "the household sets it when it starts")
    if info.url != wanted:
        return Finding(
            name, False, f"we are {who}; the bot's webhook is another one", "the household sets its own when it starts"
        )
    if state.waiting and failed:
        return Finding(name, False, f"we are {who}; {state.waiting} updates wait for the webhook{failed}", _ADVICE)
    return Finding(name, True, f"we are {who}; Telegram brings updates to {info.url}{failed}")
