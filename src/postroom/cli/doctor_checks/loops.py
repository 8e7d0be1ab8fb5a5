"""The background work of a running household: does any of it fail?"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import aiohttp

from postroom.cli.doctor_checks.finding import Finding
from postroom.domain.spoken_time import relative
from postroom.domain.time import parse_text
from postroom.domain.web_address import web_address
from postroom.system.clock import SystemClock
from postroom.system.roster.config import ButlerConfig
from postroom.system.roster.endpoints import port_for
from postroom.system.settings import Settings

_SECONDS = 2.0
_ADVICE = "it is tried again by itself; the log says where it failed (loop.failed)"


async def look_at_loops(settings: Settings, roster: Iterable[ButlerConfig]) -> list[Finding]:
    """Every part tells of its whole process, so what several of them say is one finding."""
    ports = {config.name: port_for(settings, config) for config in roster} | {"api": settings.ports.api}
    told = await asyncio.gather(*(_health(settings.host, part, port) for part, port in ports.items() if port))
    found = {(one["loop"], one["since"]): one for health in told for one in _failing(health)}
    return [_finding(one) for one in found.values()]


async def _health(host: str, part: str, port: int) -> Any:
    """None from a part that does not run, or from another program on its port."""
    timeout = aiohttp.ClientTimeout(total=_SECONDS)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(f"{web_address(host, port)}/health") as response,
        ):
            answer = await response.json(content_type=None)
    except (aiohttp.ClientError, TimeoutError, ValueError):
        return None
    return answer if isinstance(answer, Mapping) and answer.get("part") == part else None


def _failing(health: Any) -> Iterator[Mapping[str, Any]]:
    loops = health.get("loops") if isinstance(health, Mapping) else None
    for one in loops if isinstance(loops, list) else ():
        if isinstance(one, Mapping) and {"loop", "error", "since", "failures"} <= one.keys():
            yield one


def _finding(one: Mapping[str, Any]) -> Finding:
    times = "time" if one["failures"] == 1 else "times"
    first = relative(parse_text(one["since"]), SystemClock().now_us())
    detail = f"has failed {one['failures']} {times} in a row, first {first} ({one['error']})"
    return Finding(f"loop {one['loop']}", False, detail, _ADVICE)
