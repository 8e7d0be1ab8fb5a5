"""Tell subscribers what happened: signed, timestamped, tried again, and given up on in the end."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import structlog

from postroom.domain.clock import Clock
from postroom.domain.errors import PostroomError
from postroom.domain.time import SECOND_US, seconds
from postroom.domain.webhook import Notice
from postroom.domain.webhook_signature import signed_headers

FORMER_HEADER: Final = "X-Postroom-Signature"  # from before Standard Webhooks; stays for one release
PAUSES_SECONDS: Final = (30.0, 120.0, 600.0)
_SUBSCRIBERS_AT_ONCE: Final = 100
_log = structlog.get_logger("postroom.webhooks")


class NoticeStore(Protocol):
    async def waiting(self, now_us: int) -> tuple[Sequence[str], int | None]:
        """The subscriptions something is due for, and when there will be more."""
        ...

    async def next_of(self, subscription_id: str, now_us: int) -> Notice | None:
        """The oldest that is due for this subscription."""
        ...

    async def settle(
        self, notice_id: str, *, status: str, attempts: int, next_at_us: int, error: str | None
    ) -> None: ...


class Poster(Protocol):
    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        """The answer's status; raises one of our errors when there was none."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhooks:
    """Every subscriber has a queue of its own: one that does not answer holds up its own news and nothing else."""

    store: NoticeStore
    poster: Poster
    clock: Clock
    _queues: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    async def tick(self, now_us: int) -> int | None:
        """Begins with every subscriber that news waits for; returns when there will be more."""
        waiting, next_us = await self.store.waiting(now_us)
        for subscription_id in waiting:
            self._begin(subscription_id)
        return next_us

    async def idle(self) -> None:
        while self._queues:
            await asyncio.wait(set(self._queues.values()))

    async def stop(self, grace_seconds: float) -> None:
        """What is cut short here is sent again by the next start."""
        if self._queues:
            await asyncio.wait(set(self._queues.values()), timeout=grace_seconds)
        for task in self._queues.values():
            task.cancel()

    async def close(self) -> None:
        await self.poster.close()

    def _begin(self, subscription_id: str) -> None:
        if subscription_id in self._queues or len(self._queues) >= _SUBSCRIBERS_AT_ONCE:
            return
        task = asyncio.create_task(self._empty(subscription_id))
        self._queues[subscription_id] = task
        task.add_done_callback(lambda _: self._queues.pop(subscription_id, None))

    async def _empty(self, subscription_id: str) -> None:
        """One after the other, in order; what fails here is taken up again at the next round."""
        try:
            while (notice := await self.store.next_of(subscription_id, self.clock.now_us())) is not None:
                await self.send(notice)
        except PostroomError as error:
            _log.warning("webhook.unfinished", subscription=subscription_id, error_class=str(error.error_class))
        except Exception as error:
            _log.error("webhook.bug", subscription=subscription_id, error=type(error).__name__)

    async def send(self, notice: Notice) -> None:
        problem = await self._post(notice)
        attempts, now = notice.attempts + 1, self.clock.now_us()
        if problem is None:
            status, next_at = "delivered", now
        elif attempts > len(PAUSES_SECONDS):
            status, next_at = "dead_lettered", now
        else:
            status, next_at = "pending", now + seconds(PAUSES_SECONDS[attempts - 1])
        await self.store.settle(notice.id, status=status, attempts=attempts, next_at_us=next_at, error=problem)

    async def _post(self, notice: Notice) -> str | None:
        body = notice.body.encode()
        stamp = self.clock.now_us() // SECOND_US
        headers = {
            "Content-Type": "application/json",
            **signed_headers(notice.secret, notice.id, stamp, body),
            "X-Postroom-Delivery": notice.id,
            FORMER_HEADER: former_signature(notice.secret, stamp, body),
        }
        try:
            status = await self.poster.post(notice.callback_url, body, headers)
        except PostroomError as error:
            return error.message
        return None if 200 <= status < 300 else f"answered {status}"


def former_signature(secret: str, timestamp: int, body: bytes) -> str:
    digest = hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={timestamp},v1={digest}"
