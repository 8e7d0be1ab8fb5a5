"""Alembic's entry: runs the migrations on the connection it is given."""

from __future__ import annotations

from alembic import context

from postroom.world.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table="postroom_version",
    transaction_per_migration=True,
    on_version_apply=context.config.attributes.get("applied"),
)
with context.begin_transaction():
    context.run_migrations()
