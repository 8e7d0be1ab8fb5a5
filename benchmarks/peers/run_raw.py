"""The limit: the same statements by the bare driver, in batches prepared beforehand, on three connections."""

from __future__ import annotations

import json

import uvloop

from benchmarks.peers.child import asked_for
from benchmarks.raw import raw_per_second


def main() -> None:
    asked = asked_for()
    print(json.dumps({"per_second": uvloop.run(raw_per_second(asked.url, count=asked.count))}))


if __name__ == "__main__":
    main()
