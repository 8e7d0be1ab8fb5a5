"""Postroom's own plane, every check on: each caller waits for the outcomes of what it handed in, one or a hundred."""

from __future__ import annotations

import json

import uvloop

from benchmarks import delivery
from benchmarks.peers.child import BATCHES, CALLERS, PER_SECOND, asked_for
from postroom.kernel.running import telemetry
from postroom.kernel.running.process import collect_less_often


async def measured(what: str, url: str, count: int, seconds: int) -> dict[str, object]:
    if what == "callers":
        made = await delivery.throughput(url, count=count, submitters=CALLERS[0])
        return {"per_second": made.per_second, "cpu_us": made.cpu_us}
    if what == "batches":
        at_once, batch = BATCHES
        made = await delivery.batched(url, count=count, at_once=at_once, batch=batch)
        return {"per_second": made.per_second, "cpu_us": made.cpu_us}
    taken = await delivery.latency(url, per_second=PER_SECOND, seconds=seconds)
    return {"milliseconds": taken["accept→provider"]}


def main() -> None:
    collect_less_often()  # as `postroom up` does
    telemetry.configure_log("WARNING")
    telemetry.configure_tracing(None)
    asked = asked_for()
    print(json.dumps(uvloop.run(measured(asked.what, asked.url, asked.count, asked.seconds))))


if __name__ == "__main__":
    main()
