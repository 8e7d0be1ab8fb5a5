"""`postroom up` in a process that can be made to die around what it does about a message of a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from chaos import household_process
from chaos.class_points import NO_TOKEN, around, token_of, watch_deliveries
from chaos.crash_points import Crash, CrashPlan
from chaos.offset_clock import OffsetClock
from postroom.domain.time import seconds
from postroom.system.clock import SystemClock
from postroom.world.store.butlers.sessions import StoredSessions
from postroom.world.store.conversations.inbound import StoredInbound
from postroom.world.store.intents.intents import StoredIntents


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseJob:
    environment: Mapping[str, str]
    arguments: Sequence[str]
    log: Path
    crash: CrashPlan | None = None
    clock_offset_seconds: float = 0.0


def main(job: HouseJob) -> None:
    """The target of a forked process."""
    crash = Crash(job.crash)
    offset_us: Final = seconds(job.clock_offset_seconds)
    now_us = OffsetClock().now_us
    setattr(SystemClock, "now_us", lambda _: now_us() + offset_us)  # noqa: B010
    watch_deliveries(crash)
    watch_inbound(crash)
    household_process.main(job.environment, job.arguments, job.log)


def watch_inbound(crash: Crash) -> None:
    """Where the provider's stream was read to has no token of its own: it is that of what was read last."""
    last = [NO_TOKEN]

    def keep(message: Any, _now_us: int) -> tuple[str, str]:
        last[0] = token_of(message.text)
        return "keep", last[0]

    around(StoredInbound, "keep", crash, keep)
    around(StoredInbound, "decide", crash, lambda kept, *_: ("decide", token_of(kept.message.text)))
    around(StoredInbound, "move", crash, lambda kept, move, *_, **__: (str(move), token_of(kept.message.text)))
    around(StoredIntents, "save_offset", crash, lambda *_: ("save_offset", last[0]))
    around(StoredSessions, "add", crash, lambda new, **_: ("session", token_of(new.prompt)))
    around(StoredSessions, "end", crash, lambda session, *_, **__: ("end", token_of(session.prompt)))
