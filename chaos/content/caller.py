"""A careful caller over HTTP: every call has a key, and is made again until there is an answer."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import aiohttp

from chaos.content.posted import Act
from chaos.tokens import text_of

_AGAIN_SECONDS: Final = 0.1
_SECONDS: Final = 45.0
CHANGED: Final = "Changed."


def content_of(token: str) -> bytes:
    return f"The file of {text_of(token)}\n".encode() * 50


def changed(token: str) -> str:
    return f"{text_of(token)} {CHANGED}"


@dataclass(frozen=True, slots=True)
class Caller:
    url: str
    home: Path
    sent: dict[str, Act] = field(default_factory=dict)

    async def send(self, token: str, act: Act) -> None:
        """A message with a file, or one that is changed or taken back once it is delivered."""
        self.sent[token] = act
        async with aiohttp.ClientSession() as http:
            message: dict[str, Any] = {"message": text_of(token), "channel": "telegram"}
            if act is Act.FILE:
                upload = await self._post(http, "/v1/uploads", f"{token}-upload", file=token)
                message["attachments"] = [{"upload_id": upload["upload_id"]}]
            answer = await self._post(http, "/v1/notify", token, message)
            path = f"/v1/deliveries/{answer['delivery']['delivery_id']}"
            if act is Act.REVISE:
                await self._post(http, f"{path}/revise", f"{token}-{act}", {"message": changed(token)})
            elif act is Act.RECALL:
                await self._post(http, f"{path}/recall", f"{token}-{act}", {})

    async def _post(
        self, http: aiohttp.ClientSession, path: str, key: str, body: Mapping[str, Any] | None = None, file: str = ""
    ) -> dict[str, Any]:
        last, until = "nothing", time.monotonic() + _SECONDS
        while time.monotonic() < until:
            headers = {"Authorization": f"Bearer {self._token()}", "Idempotency-Key": key}
            given: dict[str, Any] = {"data": _form(file)} if file else {"json": body}
            try:
                async with http.post(self.url + path, headers=headers, **given) as response:
                    answer: dict[str, Any] = await response.json()
                    last = f"{response.status}: {answer}"
                    if response.status < 400:
                        return answer
                    if not _may_repeat(response.status, answer):
                        raise RuntimeError(f"{path} was answered with {last}")
            except (aiohttp.ClientError, ConnectionError, json.JSONDecodeError):
                pass  # it has died, and its answer with it
            await asyncio.sleep(_AGAIN_SECONDS)
        raise RuntimeError(f"{path} for {key} came to no end: {last}")

    def _token(self) -> str:
        token: str = json.loads((self.home / "tokens.json").read_text())["butlers"]["general"]
        return token


def _form(token: str) -> aiohttp.FormData:
    form = aiohttp.FormData()
    form.add_field("file", content_of(token), filename=f"{token}.txt", content_type="text/plain")
    return form


def _may_repeat(status: int, answer: Mapping[str, Any]) -> bool:
    return status >= 500 or bool(answer.get("retryable")) or answer.get("status") == "too_late"
