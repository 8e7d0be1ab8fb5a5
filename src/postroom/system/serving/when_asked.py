"""An application that is imported and put together for its first request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

from starlette.types import ASGIApp, Receive, Scope, Send

App = TypeVar("App", bound=ASGIApp)


class WhenAsked(Generic[App]):
    """In a thread, because it takes a moment in which others are served; once, however many ask at first."""

    def __init__(self, build: Callable[[], App]) -> None:
        self._build = build
        self._built: App | None = None
        self._turn = asyncio.Lock()

    async def application(self) -> App:
        async with self._turn:
            if self._built is None:
                self._built = await asyncio.to_thread(self._build)
            return self._built

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        application = self._built or await self.application()
        await application(scope, receive, send)
