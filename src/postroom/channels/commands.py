"""`postroom channels`: each account with its kind, what it can do and its health."""

from __future__ import annotations

from typing import Final

from postroom.channels.acts import ChannelBody, ListChannels
from postroom.kernel.acts.commands import as_json
from postroom.kernel.http.answers import JsonObject
from postroom.kernel.running.clock import SystemClock
from postroom.kernel.running.terminal import Home, Json, say, say_json
from postroom.kernel.values.ids import parse_text
from postroom.kernel.values.zones import relative
from postroom.settings.glance import glance_from_process
from postroom.settings.reach import running_here

_ABLE: Final = ("buttons", "edits", "deletes", "reacts", "replies", "threads", "files", "inbound", "reconciles")


def channels(home: Home = None, json: Json = False) -> None:
    """List each channel with its kind, what it can do and its health; POSTROOM_URL names a household elsewhere."""
    one = ListChannels()
    answer = running_here(glance_from_process({"home": home}), home).ask(one)
    if json:
        say_json(as_json(one, answer)["channels"])
        return
    for account in answer.channels:
        say(f"{_named(account)}  {_health(account)}; {_abilities(account.capabilities)}")
        if trouble := account.trouble:
            since = relative(parse_text(trouble.since), SystemClock().now_us())
            say(f"  hears nothing since {since}: {trouble.sentence}")


def _named(account: ChannelBody) -> str:
    return account.name if account.name == account.kind else f"{account.name} ({account.kind})"


def _health(account: ChannelBody) -> str:
    health = account.health
    if not account.configured:
        return "not set up"
    if health is None:
        return "health unknown: the messenger does not answer"
    if health.throttled_seconds is not None:
        return f"the provider asks us to wait {health.throttled_seconds:.0f} s"
    return "well" if health.circuit == "closed" else f"circuit {health.circuit}: {health.reason}"


def _abilities(can: JsonObject) -> str:
    able = [name for name in _ABLE if can[name]]
    most = f", {can['max_units']} {can['unit']} a message" if can["max_units"] else ""
    return f"{can['style']}, {', '.join(can['formats'])}{most}; {', '.join(able) or 'sends only'}"
