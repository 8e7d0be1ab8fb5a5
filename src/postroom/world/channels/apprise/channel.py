"""Every other service, through the Apprise library: sent once, and honest about having no receipt."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from postroom.domain.capabilities import Capabilities
from postroom.domain.delivery import Message, Receipt
from postroom.domain.errors import PostroomError
from postroom.world.channels.apprise.parts import ApprisePart, address, build
from postroom.world.channels.apprise.trail import Trail
from postroom.world.channels.apprise.verdict import too_late, verdict
from postroom.world.channels.carried_files import check_files
from postroom.world.channels.kinds import APPRISE

if TYPE_CHECKING:
    from postroom.world.channels.apprise.service import OneService

MISSING: Final = "a channel of the kind apprise needs the extra: pip install 'postroom[apprise]'"


class AppriseService:
    capabilities: Capabilities = APPRISE

    def __init__(
        self,
        name: str,
        url: str,
        allow_private: bool = False,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.name = name
        self._service = _service(url.strip(), allow_private=allow_private)
        self._public_only = not allow_private
        self._now = now
        self._thread: ThreadPoolExecutor | None = None
        self.capabilities = replace(
            APPRISE, max_units=self._service.limits.body, spacing_seconds=self._service.spacing_seconds
        )

    def __repr__(self) -> str:
        return f"AppriseService(name={self.name!r}, service={self._service.name!r}, url=***)"

    def address(self, text: str) -> str | None:
        return address(text)

    def prepare(self, message: Message) -> Sequence[ApprisePart]:
        check_files(message, self.capabilities, None)
        return build(message, self._service.limits)

    async def send(self, part: ApprisePart, timeout_seconds: float) -> Receipt:
        trail = Trail(patience_seconds=timeout_seconds, public_only=self._public_only)
        sending = self._threads().submit(self._service.send, part, trail)
        try:
            await asyncio.wait({asyncio.wrap_future(sending)}, timeout=timeout_seconds)
        finally:
            in_time = sending.done()  # what ends after this was ended by our own cut
            not_begun = sending.cancel()
            trail.end(cut=True)
        outcome = self._outcome(sending, trail) if in_time else self._too_late(None if not_begun else trail)
        if isinstance(outcome, Receipt):
            return outcome
        raise outcome

    async def close(self) -> None:
        threads, self._thread = self._thread, None
        if threads is not None:
            threads.shutdown(wait=False, cancel_futures=True)

    def _outcome(self, sending: Future[bool], trail: Trail) -> Receipt | PostroomError:
        return verdict(self._shown_name, sending.result(), trail, self._now())

    def _too_late(self, trail: Trail | None) -> Receipt | PostroomError:
        return too_late(self._shown_name, trail, self._now())

    @property
    def _shown_name(self) -> str:
        return f"{self._service.name} (Apprise)"

    def _threads(self) -> ThreadPoolExecutor:
        """One thread of its own: a service keeps tokens and counters that two would spoil for each other."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"apprise-{self.name}")
        return self._thread


def _service(url: str, *, allow_private: bool) -> OneService:
    try:
        from postroom.world.channels.apprise.service import OneService
    except ImportError:
        raise ValueError(MISSING) from None
    return OneService(url, allow_private=allow_private)
