"""A sandbox household in a process of its own, for commands that call it."""

from __future__ import annotations

import asyncio
import json
import sys

import uvloop

from benchmarks.plane import LIFTED
from postroom.household import household
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.running import telemetry
from postroom.kernel.values.principal import Principal, Role
from postroom.settings.connections import changing
from postroom.settings.load import load

PARTS = ("switchboard", "messenger", "general", "api", "sandbox")
PORTS = (*PARTS, "sandbox_smtp", "sandbox_imap")


async def live(home: str) -> None:
    """Says on one line which variables lead to it, and leaves when its input is closed."""
    limits = {
        "limits.global_per_minute": LIFTED,
        "limits.recipient_per_minute": LIFTED,
        "limits.channels": {"telegram.bot": LIFTED},
    }
    settings, _ = load(
        {},
        {
            "home": home,
            "delivery.telegram_chat_interval_seconds": 0,
            **limits,
            **{f"ports.{part}": 0 for part in PORTS},
        },
    )
    async with household.running(settings, PARTS) as living:
        token = TokenFile(settings.tokens_file).create(Principal(Role.PROGRAM, "claude", person="owner"))
        with changing(settings.home) as document:
            document["programs"]["claude"] = {"url": living.addresses["api"], "token": token}
        endpoints = json.dumps({"general": living.addresses["general"]})
        print(json.dumps({"POSTROOM_HOME": home, "POSTROOM_ENDPOINTS": endpoints}), flush=True)
        await asyncio.to_thread(sys.stdin.read)


def main() -> None:
    telemetry.configure_log("ERROR")
    telemetry.configure_tracing(None)
    uvloop.run(live(sys.argv[1]))


if __name__ == "__main__":
    main()
