"""Imported once, before the processes of a scenario are forked: what they would otherwise import one by one."""

from __future__ import annotations

import gc
import importlib

_LATE = (
    "alembic.ddl.postgresql",
    "alembic.ddl.sqlite",
    "postroom.household.household",
    "postroom.delivery.store.limits_redis",
    "postroom.delivery.store.limits_redis",
    "postroom.kernel.database.migrations.versions.m0109_baseline",
    "postroom.kernel.database.postgres",
    "redis.asyncio",
    "sqlalchemy.dialects.postgresql.asyncpg",
    "sqlalchemy.dialects.sqlite.pysqlite",
)

_OWN = (
    "chaos.worker_process",
    "chaos.household_process",
    "chaos.questions.rival_process",
    "chaos.attention.keeper_process",
    "chaos.mortal_process",
)

for name in (*_OWN, *_LATE):
    importlib.import_module(name)

gc.collect()
gc.freeze()  # the processes need not look through what is common to all of them
