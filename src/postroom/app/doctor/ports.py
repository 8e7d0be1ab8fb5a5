"""The ports: free, held by a running household, or taken by somebody else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping

import aiohttp

from postroom.app.doctor.finding import Finding
from postroom.app.endpoints import port_for
from postroom.app.serving import PortTaken, bind, where_set
from postroom.butler.config import ButlerConfig
from postroom.domain.web_address import web_address
from postroom.sandbox.smtp import BANNER
from postroom.settings import Settings

_SECONDS = 2.0
_MAIL = "sandbox_smtp"


async def look_at_ports(settings: Settings, roster: Iterable[ButlerConfig]) -> list[Finding]:
    wanted = _wanted(settings, roster)
    return list(await asyncio.gather(*(_look(settings.host, part, port) for part, port in wanted.items())))


def _wanted(settings: Settings, roster: Iterable[ButlerConfig]) -> Mapping[str, int]:
    others = ["api", "chatgpt", "gemini", *(["sandbox", _MAIL] if settings.in_sandbox else [])]
    butlers = {config.name: port_for(settings, config) for config in roster}
    return butlers | {name: getattr(settings.ports, name) for name in others}


async def _look(host: str, part: str, port: int) -> Finding:
    subject = f"port {port}" if port else "port"
    try:
        bind(part, host, port).close()
    except PortTaken:
        is_ours = await (_is_our_mail(host, port) if part == _MAIL else _is_ours(host, port, part))
        if is_ours:
            return Finding(subject, True, f"{part} is running there")
        advice = f"stop what listens there, or set another port {where_set(part)}"
        return Finding(subject, False, f"taken by another program, wanted for {part}", advice)
    return Finding(subject, True, f"free for {part}" if port else f"the system will choose one for {part}")


async def _is_ours(host: str, port: int, part: str) -> bool:
    timeout = aiohttp.ClientTimeout(total=_SECONDS)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(f"{web_address(host, port)}/health") as response,
        ):
            answer = json.loads(await response.text())
    except (aiohttp.ClientError, TimeoutError, ValueError):
        return False
    return isinstance(answer, dict) and (answer.get("part") == part or (part == "sandbox" and "status" in answer))


async def _is_our_mail(host: str, port: int) -> bool:
    try:
        async with asyncio.timeout(_SECONDS):
            reader, writer = await asyncio.open_connection(host, port)
            greeting = await reader.readline()
            writer.close()
    except (OSError, TimeoutError, ValueError):
        return False
    return BANNER.encode() in greeting
