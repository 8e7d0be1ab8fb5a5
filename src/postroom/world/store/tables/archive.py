"""Settled deliveries that have left the ledger: one row each, with everything that was known of it."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, Table, Text

from postroom.world.store.tables.metadata import MESSENGER, metadata
from postroom.world.store.tables.postgres_options import FOR_POSTGRES

# The columns before `record` are what a repeated key is answered from; `record` is the whole story as JSON.
# PostgreSQL keeps a partition for every month of `settled_at`, so that an old month can be dropped whole.
delivery_archive = Table(
    "delivery_archive",
    metadata,
    Column("id", Text, primary_key=True),
    Column("settled_at", BigInteger, primary_key=True),
    Column("archived_at", BigInteger, nullable=False),
    Column("idempotency_key", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("request_id", Text, nullable=False),
    Column("origin_butler", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("intent", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("possible_duplicate", Boolean, nullable=False),
    Column("not_before", BigInteger, nullable=False),
    Column("waiting_reason", Text),
    Column("provider_delivery_id", Text),
    Column("terminal_error_class", Text),
    Column("terminal_error_message", Text),
    Column("replay_of", Text),
    Column("replay_number", Integer),
    Column("record", Text, nullable=False),
    Index("ix_delivery_archive_idempotency_key", "idempotency_key"),
    Index("ix_delivery_archive_request_id", "request_id"),
    Index("ix_delivery_archive_replay_of", "replay_of"),
    Index("ix_delivery_archive_settled_at", "settled_at"),
    schema=MESSENGER,
    info={FOR_POSTGRES: {"postgresql_partition_by": "RANGE (settled_at)"}},
)
