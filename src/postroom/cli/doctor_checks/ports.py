"""The ports: free, held by this household or another, or taken by another program."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping

import aiohttp

from postroom.cli.doctor_checks.finding import Finding
from postroom.domain.web_address import web_address
from postroom.programs.sandbox.smtp import BANNER
from postroom.system.roster.config import ButlerConfig
from postroom.system.roster.endpoints import port_for
from postroom.system.serving.server import PortTaken, bind, where_set
from postroom.system.settings import Settings

_SECONDS = 2.0
_MAIL = ("sandbox_smtp", "sandbox_imap")


async def look_at_ports(settings: Settings, roster: Iterable[ButlerConfig]) -> list[Finding]:
    wanted = _wanted(settings, roster)
    return list(await asyncio.gather(*(_look(settings, part, port) for part, port in wanted.items())))


def _wanted(settings: Settings, roster: Iterable[ButlerConfig]) -> Mapping[str, int]:
    others = ["api", "chatgpt", "gemini", *(["sandbox", *_MAIL] if settings.in_sandbox else [])]
    butlers = {config.name: port_for(settings, config) for config in roster}
    return butlers | {name: getattr(settings.ports, name) for name in others}


async def _look(settings: Settings, part: str, port: int) -> Finding:
    subject = f"port {port}" if port else "port"
    try:
        bind(part, settings.host, port).close()
    except PortTaken:
        return _taken(subject, part, await _whose(settings, part, port), settings.household_id)
    return Finding(subject, True, f"free for {part}" if port else f"the system will choose one for {part}")


def _taken(subject: str, part: str, whose: str | None, ours: str) -> Finding:
    if whose == ours:
        return Finding(subject, True, f"{part} is running there")
    holder = "taken by another program" if whose is None else "held by another household"
    advice = f"stop what listens there, or set another port {where_set(part)}"
    return Finding(subject, False, f"{holder}, wanted for {part}", advice)


async def _whose(settings: Settings, part: str, port: int) -> str | None:
    """The household that holds the port; '' for one too old to say so, None for another program."""
    if part not in _MAIL:
        return await household_at(settings.host, port, part)
    if not await _is_our_mail(settings.host, port):
        return None
    return await household_at(settings.host, settings.ports.sandbox, "sandbox") or ""  # they run together


async def household_at(host: str, port: int, part: str) -> str | None:
    """Whose part that is; None when it is not one."""
    timeout = aiohttp.ClientTimeout(total=_SECONDS)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(f"{web_address(host, port)}/health") as response,
        ):
            answer = json.loads(await response.text())
    except (aiohttp.ClientError, TimeoutError, ValueError):
        return None
    is_part = isinstance(answer, dict) and (answer.get("part") == part or (part == "sandbox" and "sandbox" in answer))
    return str(answer.get("household", "")) if is_part else None


async def _is_our_mail(host: str, port: int) -> bool:
    try:
        async with asyncio.timeout(_SECONDS):
            reader, writer = await asyncio.open_connection(host, port)
            greeting = await reader.readline()
            writer.close()
    except (OSError, TimeoutError, ValueError):
        return False
    return BANNER.encode() in greeting
