"""A real MCP client with the desk's server as its child process, over stdio."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult
from tests.patience import PATIENCE_SECONDS

SOURCE = Path(__file__).parents[2] / "src"


class Caller:
    """The client lives in a thread, so that a test can press keys while a call is waiting."""

    def __init__(
        self,
        environ: dict[str, str],
        folder: Path,
        *arguments: str,
        show_seconds: float = PATIENCE_SECONDS,
        **settings: object,
    ) -> None:
        settings |= {"show_seconds": show_seconds}
        self.home = folder / "home"
        self.voicemode = folder / "voicemode"
        self.project = folder / "project"
        self.project.mkdir(parents=True, exist_ok=True)
        self._parameters = StdioServerParameters(
            command=sys.executable,
            args=["-P", "-m", "postroom.desk", *arguments],
            cwd=self.project,
            env={
                **environ,
                "PYTHONPATH": str(SOURCE),
                "POSTROOM_HOME": str(self.home),
                "VOICEMODE_BASE_DIR": str(self.voicemode),
                **{f"POSTROOM_DESK__{name.upper()}": str(value) for name, value in settings.items()},
            },
        )
        self._portal_context: AbstractContextManager[BlockingPortal] = start_blocking_portal()
        self._portal = self._portal_context.__enter__()
        self._session_context = self._portal.wrap_async_context_manager(self._connect())
        self.session: ClientSession = self._session_context.__enter__()

    @asynccontextmanager
    async def _connect(self) -> Any:
        async with stdio_client(self._parameters) as (reading, writing), ClientSession(reading, writing) as session:
            await session.initialize()
            yield session

    def stop(self) -> None:
        self._session_context.__exit__(None, None, None)
        self._portal_context.__exit__(None, None, None)

    def call(self, message: str, *, on_progress: Callable[..., Any] | None = None, **arguments: Any) -> Future[Any]:
        return self._portal.start_task_soon(self._call, {"message": message, **arguments}, on_progress)

    def call_raw(self, arguments: dict[str, Any]) -> CallToolResult:
        return self._portal.start_task_soon(self._call, arguments, None).result(PATIENCE_SECONDS)

    def drafts(self) -> list[str]:
        return [str(json.loads(file.read_text())["text"]) for file in self._draft_files()]

    def discard_drafts(self) -> None:
        for file in self._draft_files():
            file.unlink()

    def log(self) -> list[dict[str, Any]]:
        files = sorted(self.voicemode.glob("logs/conversations/*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    def _draft_files(self) -> list[Path]:
        return sorted((self.home / "desk" / "drafts").rglob("*.json"))

    def tools(self) -> list[Any]:
        return list(self._portal.call(self.session.list_tools).tools)

    async def _call(self, arguments: dict[str, Any], on_progress: Callable[..., Any] | None) -> CallToolResult:
        result = await self.session.call_tool("notify", arguments, progress_callback=on_progress)
        assert isinstance(result, CallToolResult)
        return result


def text_of(future: Future[Any], seconds: float = PATIENCE_SECONDS) -> str:
    """The answer as one text, whatever is or is not an error."""
    [content] = future.result(seconds).content
    return str(content.text)
