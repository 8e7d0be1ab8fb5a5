"""One Lua script on Redis: callers that wait together share a round trip, and leave alone when it is away."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

import structlog
from redis.asyncio import Redis, RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisClusterException, RedisError

from postroom.kernel.running.clock import Clock
from postroom.kernel.values.ids import seconds

# Whether Redis answers: found out once, for everything that asks it.

TIMEOUT_SECONDS: Final = 1.0
PAUSE_SECONDS: Final = 1.0
_UNREACHABLE: Final = (RedisError, RedisClusterException, OSError)  # TimeoutError is an OSError
_PROBE: Final = "{postroom}:probe"

_log = structlog.get_logger(__name__)


class RedisReach:
    """
    A breaker around Redis: the first time-out opens it, and then nobody waits.

    After each pause one look is taken in the background, by a small write,
    because a server that only reads is of no use to anybody who asks here.
    """

    def __init__(self, client: Redis | RedisCluster, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._look_at_us = 0
        self._looking: asyncio.Task[None] | None = None
        self.away = False

    def answers(self) -> bool:
        """At once, from what is known."""
        if self.away and self._is_time_to_look():
            self._looking = asyncio.create_task(self.look())
        return not self.away

    async def look(self) -> None:
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await self._client.set(_PROBE, 1, px=1000)
        except _UNREACHABLE as error:
            self.lost(error)
        else:
            self.found()

    def lost(self, error: BaseException) -> None:
        self._look_at_us = self._clock.now_us() + seconds(PAUSE_SECONDS)
        if not self.away:
            self.away = True
            _log.warning("redis_away", error=type(error).__name__)

    def found(self) -> None:
        if self.away:
            self.away = False
            _log.info("redis_back")

    def _is_time_to_look(self) -> bool:
        """A clock that was set back does not prolong the pause."""
        if self._looking is not None and not self._looking.done():
            return False
        now, pause = self._clock.now_us(), seconds(PAUSE_SECONDS)
        return not now < self._look_at_us <= now + pause


# The script.

_MOST_AT_ONCE: Final = 128


class RedisAway(Exception):
    """No answer from Redis. `attempted`: the call may have been carried out all the same."""

    def __init__(self, *, attempted: bool) -> None:
        super().__init__("redis gave no answer")
        self.attempted = attempted


def connect(url: str) -> Redis:
    """A client that gives up in time: one fresh connection for a stale one, no waiting in between."""
    client: Redis = Redis.from_url(
        url,
        socket_timeout=TIMEOUT_SECONDS,
        socket_connect_timeout=TIMEOUT_SECONDS,
        retry=Retry(NoBackoff(), 1),
    )
    return client


def text(value: str | bytes) -> str:
    """A text from an answer, whichever way the client decodes."""
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value


@dataclass(frozen=True, slots=True, eq=False)
class _Call:
    keys: Sequence[bytes]
    arguments: Sequence[bytes]
    answer: asyncio.Future[list[Any]]


class RedisScript:
    """While one round trip is under way the next calls gather, and leave together."""

    def __init__(self, client: Redis | RedisCluster, name: str, reach: RedisReach) -> None:
        self._client = client
        self._reach = reach
        self._source = (files("postroom.kernel.database") / "lua" / f"{name}.lua").read_text("utf-8")
        self._digest = hashlib.sha1(self._source.encode(), usedforsecurity=False).hexdigest()
        self._waiting: list[_Call] = []
        self._sender: asyncio.Task[None] | None = None

    async def run(self, keys: Sequence[str], arguments: Sequence[str | int]) -> list[Any]:
        """The script's answer; raises RedisAway."""
        if not self._reach.answers():
            raise RedisAway(attempted=False)
        answer: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        call = _Call([_bytes(key) for key in keys], [_bytes(argument) for argument in arguments], answer)
        self._waiting.append(call)
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send_all())
        return await answer

    async def _send_all(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:_MOST_AT_ONCE], self._waiting[_MOST_AT_ONCE:]
            try:
                async with asyncio.timeout(TIMEOUT_SECONDS):
                    answers = await self._send(batch)
            except _UNREACHABLE as error:
                self._reach.lost(error)
                batch, self._waiting = batch + self._waiting, []
            else:
                self._deliver(batch, answers)
            finally:
                _abandon(batch)

    async def _send(self, batch: Sequence[_Call]) -> list[Any]:
        answers = await self._round_trip(batch)
        missing = [n for n, answer in enumerate(answers) if isinstance(answer, NoScriptError)]
        if missing:
            await self._client.script_load(self._source)
            for n, answer in zip(missing, await self._round_trip([batch[n] for n in missing]), strict=True):
                answers[n] = answer
        return answers

    async def _round_trip(self, batch: Sequence[_Call]) -> list[Any]:
        commands: list[tuple[str | int | bytes, ...]] = [
            ("EVALSHA", self._digest, len(call.keys), *call.keys, *call.arguments) for call in batch
        ]
        if isinstance(self._client, RedisCluster):  # whose pipelines refuse scripts
            calls = (self._client.execute_command(*command) for command in commands)
            return list(await asyncio.gather(*calls, return_exceptions=True))
        pipeline = self._client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        return await pipeline.execute(raise_on_error=False)

    def _deliver(self, batch: Sequence[_Call], answers: Sequence[Any]) -> None:
        refusals = [answer for answer in answers if isinstance(answer, BaseException)]
        if refusals:
            self._reach.lost(refusals[0])
        else:
            self._reach.found()
        for call, answer in zip(batch, answers, strict=True):
            if not call.answer.done() and not isinstance(answer, BaseException):
                call.answer.set_result(answer)


def _bytes(value: str | int) -> bytes:
    """Encoded before it joins others: half a surrogate pair in one address must not fail a whole batch."""
    return str(value).encode("utf-8", "surrogatepass")


def _abandon(batch: Sequence[_Call]) -> None:
    """Nobody is left waiting, whatever happened to the batch."""
    for call in batch:
        if not call.answer.done():
            call.answer.set_exception(RedisAway(attempted=True))
