"""Arguments of one Web API call: query string, form or JSON, as Slack takes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from tests.fakes.slack.workspace import SlackError

_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
_TRUE = (True, "true", "1", 1)


@dataclass(frozen=True, slots=True)
class SlackArguments:
    values: Mapping[str, Any]

    def text(self, name: str) -> str:
        value = self.values.get(name)
        return value if isinstance(value, str) else "" if value is None else str(value)

    def flag(self, name: str) -> bool:
        return self.values.get(name) in _TRUE

    def number(self, name: str, default: int) -> int:
        text = self.text(name)
        return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else default

    def structure(self, name: str, error: str) -> Any:
        """Forms carry it as JSON text."""
        value = self.values.get(name)
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            raise SlackError(error) from None


async def read_slack_arguments(request: web.Request) -> SlackArguments:
    values: dict[str, Any] = dict(request.query)
    if request.content_type in _FORMS:
        values.update({name: value for name, value in (await request.post()).items() if isinstance(value, str)})
    elif request.content_type == "application/json" and (body := await request.read()):
        values.update(_json_object(body))
    return SlackArguments(values)


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise SlackError("invalid_json") from None
    if not isinstance(value, dict):
        raise SlackError("json_not_object")
    return value
