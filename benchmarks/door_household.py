"""A household in a process of its own whose only channel does nothing, for whoever calls its doors."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import uvloop

from benchmarks.plane import LIFTED, NoChannel
from postroom.household import household
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.running import telemetry
from postroom.kernel.running.process import collect_less_often
from postroom.kernel.values.principal import Principal, Role
from postroom.settings.load import load

PARTS = ("switchboard", "messenger", "health")


async def live(home: str, database: str) -> None:
    """Says on one line where it is, and leaves when its input is closed."""
    limits = {"limits.global_per_minute": LIFTED, "limits.in_flight": LIFTED, "limits.recipient_per_minute": LIFTED}
    overrides = {
        "home": home,
        "database_url": database or None,
        "limits.channels": {"telegram.bot": LIFTED},
        "delivery.telegram_chat_interval_seconds": 0,
        "delivery.slots_per_channel": 256,
        **limits,
        **{f"ports.{part}": 0 for part in PARTS},
    }
    settings, _ = load({}, overrides)
    async with household.running(settings, PARTS) as living:
        token = TokenFile(settings.tokens_file).token_of(Principal(Role.BUTLER, "health"))
        print(json.dumps({"url": living.addresses["health"], "token": token}), flush=True)
        await asyncio.to_thread(sys.stdin.read)

    await asyncio.to_thread(sys.stdin.read)


def main() -> None:
    collect_less_often()  # as `postroom up` does
    telemetry.configure_log("ERROR")
    telemetry.configure_tracing(None)
    setattr(household, "open_channels", lambda *_: {"telegram": NoChannel()})  # noqa: B010  # in its place
    home, database = sys.argv[1:]
    Path(home).mkdir(parents=True, exist_ok=True)
    uvloop.run(live(home, database))


if __name__ == "__main__":
    main()
