"""How long it takes to leave a notification, and to list them when there are a thousand."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp
import uvloop

from postroom.household.household import running
from postroom.inbox.model import NewNotification
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.running import telemetry
from postroom.kernel.values.principal import Principal, Role
from postroom.settings.load import load

NOTIFICATIONS = 1_000
LISTS = 300
CREATE_P50_MS = 5.0
LIST_P95_MS = 50.0


def main() -> None:
    telemetry.configure_log("WARNING")
    created, listed = uvloop.run(measure())
    create_p50, list_p95 = statistics.median(created), statistics.quantiles(listed, n=100)[94]
    print(f"create, SQLite, synchronous=FULL: p50 {create_p50:.2f} ms (goal {CREATE_P50_MS:.0f} ms)")
    print(f"list over HTTP, {NOTIFICATIONS} notifications: p95 {list_p95:.2f} ms (goal {LIST_P95_MS:.0f} ms)")


async def measure() -> tuple[list[float], list[float]]:
    with tempfile.TemporaryDirectory(prefix="postroom-bench-") as home:
        overrides = {"home": home, "ports.api": 0, "inbox.hourly_cap": 10 * NOTIFICATIONS}
        settings, _ = load({}, overrides)
        async with running(settings, ("api",)) as household:
            if household.inbox is None:
                raise RuntimeError("the household has no inbox")
            send = household.inbox.send
            note = NewNotification(
                message="The dentist is at nine, and the car needs petrol before that.", user_id="ada"
            )
            created = [await timed(lambda: send(note)) for _ in range(NOTIFICATIONS)]
            token = TokenFile(Path(home) / "tokens.json").create(Principal(Role.USER, "ada"))
            headers = {"Authorization": f"Bearer {token}"}
            async with aiohttp.ClientSession(household.addresses["api"], headers=headers) as http:
                listed = [await timed(lambda: list_once(http)) for _ in range(LISTS)]
    return created, listed


async def list_once(http: aiohttp.ClientSession) -> None:
    async with http.get("/notifications?limit=100") as answer:
        answer.raise_for_status()
        await answer.json()


async def timed(call: Callable[[], Awaitable[object]]) -> float:
    started = time.perf_counter()
    await call()
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    main()
