"""Takes every file for a text, and mends its line ends."""

from __future__ import annotations

from base64 import b64decode, b64encode

from postroom.message.attachment import Attachment
from tests.testing.pager import Pager

FAILS = {"capability/files"}


class Broken(Pager):
    async def file(self, one: Attachment) -> dict[str, str]:
        told = await super().file(one)
        content = b64decode(told["data"]).replace(b"\r\n", b"\n")
        return {**told, "data": b64encode(content).decode()}
