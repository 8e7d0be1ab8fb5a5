"""Arguments of one Web API call: query string, form or JSON, as Slack takes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web


@dataclass(frozen=True, slots=True)
class SlackArguments:
    values: Mapping[str, Any]

    def text(self, name: str) -> str:
        return str(self.values.get(name, ""))

    def flag(self, name: str) -> bool:
        return self.text(name).lower() == "true"

    def structure(self, name: str) -> Any:
        """Forms carry it as JSON text."""
        value = self.values.get(name)
        return json.loads(value) if isinstance(value, str) else value


async def read_slack_arguments(request: web.Request) -> SlackArguments:
    values: dict[str, Any] = dict(request.query)
    if request.content_type == "application/json":
        values |= await request.json()
    else:
        values |= {name: value for name, value in (await request.post()).items() if isinstance(value, str)}
    return SlackArguments(values)
