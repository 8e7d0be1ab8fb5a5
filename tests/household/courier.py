"""A channel of somebody's own that carries files: it puts each message and its files into a folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from postroom.message.attachment import FileContents
from postroom.message.channel import Capabilities
from postroom.message.delivery import Message, Receipt


class Courier:
    name: Final = "courier"
    capabilities: Final = Capabilities(files=True, most_files=3, most_file_bytes=2_000_000, most_files_bytes=3_000_000)

    def __init__(self, folder: str, files: FileContents | None) -> None:
        self._folder = Path(folder)
        self._files = files

    def address(self, text: str) -> str | None:
        return text.strip() or None

    def prepare(self, message: Message) -> Sequence[Message]:
        return [message]

    async def send(self, part: Message, timeout_seconds: float) -> Receipt:
        place = self._folder / part.delivery_id
        place.mkdir(parents=True, exist_ok=True)
        for one in part.attachments if self._files else ():
            (place / one.name).write_bytes(await self._files.read(one))
        shown = {"to": part.address, "text": part.text, "types": {one.name: one.media_type for one in part.attachments}}
        (place / "message.json").write_text(json.dumps(shown))
        return Receipt(part.delivery_id)

    async def close(self) -> None:
        return None
