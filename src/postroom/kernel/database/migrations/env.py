"""Alembic's entry: runs the migrations on the connection it is given."""

from __future__ import annotations

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=None,  # a migration says itself what it makes
    version_table="postroom_version",
    transaction_per_migration=True,
    on_version_apply=context.config.attributes.get("applied"),
)
with context.begin_transaction():
    context.run_migrations()
