"""The sandbox with Slack, Discord and ntfy beside its phone and its mailbox, on the same port."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Final

from postroom.kernel.running.clock import Clock
from postroom.sandbox.ledger import LedgerFile
from postroom.sandbox.server import Sandbox, SandboxOptions
from tests.fakes.control import FaceControl
from tests.fakes.discord.face import DiscordFace
from tests.fakes.face import FaceParts, SandboxFace
from tests.fakes.ledger import FACE_TABLES, FaceLedger
from tests.fakes.ntfy.face import NtfyFace
from tests.fakes.slack.face import SlackFace

FACES: Final[Mapping[str, Callable[[FaceParts], SandboxFace]]] = MappingProxyType(
    {"slack": SlackFace, "discord": DiscordFace, "ntfy": NtfyFace}
)


class Fakes(Sandbox):
    def __init__(self, options: SandboxOptions, clock: Clock | None = None) -> None:
        super().__init__(options, clock)
        self.faults.channels = (*self.faults.channels, *FACES)
        self._file = LedgerFile(options.ledger_path, FACE_TABLES)
        self.faces = {name: make(self._parts(name)) for name, make in FACES.items()}
        for face in self.faces.values():
            self.application.add_routes([*FaceControl(face).routes(), *face.routes()])

    async def stop(self) -> None:
        await super().stop()
        self._file.close()

    def _parts(self, name: str) -> FaceParts:
        return FaceParts(
            ledger=FaceLedger(self._file, name),
            files=self.ledger.files,
            faults=self.faults,
            clock=self.parts.clock,
            stopping=self.parts.stopping,
        )


@asynccontextmanager
async def serve(ledger_path: Path | None = None, *, clock: Clock | None = None) -> AsyncIterator[Fakes]:
    async with Fakes(SandboxOptions(ledger_path=ledger_path), clock) as services:
        yield services
