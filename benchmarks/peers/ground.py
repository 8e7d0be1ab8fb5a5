"""The servers everybody runs on: PostgreSQL with fsync, Redis that syncs every write, both new and temporary."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from redis import Redis
from tests.services import databases
from tests.services.postgres import PostgresServer
from tests.services.redis import RedisServer

from benchmarks.peers.contenders import Contender
from benchmarks.temporary_postgres import temporary_postgres


class DurableRedis(RedisServer):
    def _command(self) -> list[str]:
        return [*super()._command(), "--appendonly", "yes", "--appendfsync", "always"]


@dataclass(frozen=True, slots=True)
class Servers:
    postgres: PostgresServer
    redis: DurableRedis

    @contextmanager
    def fresh(self, contender: Contender) -> Iterator[str]:
        """An empty database for every single run, so that nobody inherits another's dead rows."""
        if contender.on_redis:
            with Redis.from_url(self.redis.url()) as client:
                client.flushall()
            yield self.redis.url()
            return
        with databases.temporary(self.postgres.url("postgres")) as url:
            yield url


@contextmanager
def running_servers() -> Iterator[Servers]:
    with temporary_postgres() as (postgres, folder):
        redis = DurableRedis(folder / "redis")
        redis.start()
        try:
            yield Servers(postgres, redis)
        finally:
            redis.stop()
