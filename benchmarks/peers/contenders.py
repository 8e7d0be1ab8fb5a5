"""Who takes part, on what, and how many jobs each is given so that a run takes a few seconds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    name: str
    package: str  # whose version is told; empty: this tree
    jobs: int
    on_redis: bool = False
    ours: bool = False  # runs in our own environment
    measures: tuple[str, ...] = ("callers", "batches", "latency")
    how: str

    @property
    def module(self) -> str:
        return f"benchmarks.peers.run_{self.name.lower()}"


CONTENDERS = (
    Contender(
        name="Raw",
        package="",
        jobs=10_000,
        ours=True,
        measures=("batches",),
        how="the statements of our own ledger by bare asyncpg, 100 deliveries each, on three connections; nothing in "
        "Python per job, no retries, no limits: the limit of this design",
    ),
    Contender(
        name="Postroom",
        package="",
        jobs=10_000,
        ours=True,
        how="the whole plane: validation, limits, breaker, key, lease, mark before sending, attempt, receipt; every "
        "caller waits for its outcomes, not only for their acceptance; 100 at a time are 100 calls at once",
    ),
    Contender(
        name="PgQueuer",
        package="pgqueuer",
        jobs=10_000,
        how="asyncpg pool, `enqueue` with lists, dequeue batches of 200, tables logged (`durable`)",
    ),
    Contender(
        name="Procrastinate",
        package="procrastinate",
        jobs=1_000,
        how="psycopg pool, `batch_defer_async`, worker with concurrency 50 and LISTEN/NOTIFY",
    ),
    Contender(
        name="Taskiq",
        package="taskiq",
        jobs=2_500,
        on_redis=True,
        how="`RedisStreamBroker` with the Redis result backend, 100 tasks at once, acknowledged when the result is "
        "saved; Redis with `appendfsync always`; it has no batched enqueue, so a batch is 100 calls at once",
    ),
    Contender(
        name="DBOS",
        package="dbos",
        jobs=250,
        how="an async workflow on a queue without limits, polled every 50 ms instead of every second; it has no "
        "batched enqueue; at most 20 enqueues at once, because more exhaust its pool",
    ),
)
