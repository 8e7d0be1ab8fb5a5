"""Tell subscribers what happened: signed, timestamped, tried again, and given up on in the end."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from postroom.domain.errors import PostroomError
from postroom.domain.time import SECOND_US, seconds
from postroom.domain.webhook import Notice
from postroom.ports import Clock

SIGNATURE_HEADER: Final = "X-Postroom-Signature"
PAUSES_SECONDS: Final = (30.0, 120.0, 600.0)
_BATCH: Final = 50


class NoticeStore(Protocol):
    async def due(self, now_us: int, limit: int) -> tuple[Sequence[Notice], int | None]:
        """What is due, and when there will be more."""
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
    store: NoticeStore
    poster: Poster
    clock: Clock

    async def due(self, now_us: int) -> tuple[Sequence[Notice], int | None]:
        return await self.store.due(now_us, _BATCH)

    async def close(self) -> None:
        await self.poster.close()

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
            "X-Postroom-Delivery": notice.id,
            SIGNATURE_HEADER: signature(notice.secret, stamp, body),
        }
        try:
            status = await self.poster.post(notice.callback_url, body, headers)
        except PostroomError as error:
            return error.message
        return None if 200 <= status < 300 else f"answered {status}"


def signature(secret: str, timestamp: int, body: bytes) -> str:
    """The time is signed too, so an old notice cannot be played again."""
    digest = hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={timestamp},v1={digest}"
