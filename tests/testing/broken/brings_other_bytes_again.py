"""Writes into each file when it was sent, so a second try is another file."""

from __future__ import annotations

from base64 import b64decode, b64encode
from itertools import count

from postroom.message.attachment import Attachment
from tests.testing.pager import Pager

FAILS = {"capability/files-same-again"}
TRIES: dict[str, count[int]] = {}


class Broken(Pager):
    async def file(self, one: Attachment) -> dict[str, str]:
        told = await super().file(one)
        tried = next(TRIES.setdefault(f"{self._url}/{one.sha256}", count()))
        return {**told, "data": b64encode(b64decode(told["data"]) + b"!" * tried).decode()}
