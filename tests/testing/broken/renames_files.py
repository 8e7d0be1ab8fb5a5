"""Gives files a name in ASCII."""

from __future__ import annotations

from postroom.message.attachment import Attachment
from tests.testing.pager import Pager

FAILS = {"capability/files-names"}


class Broken(Pager):
    async def file(self, one: Attachment) -> dict[str, str]:
        return {**await super().file(one), "name": one.name.encode("ascii", "replace").decode()}
