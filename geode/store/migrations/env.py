"""Alembic's entry: runs the migrations on the connection the caller opened."""

from __future__ import annotations

from alembic import context

from geode.store.schema import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
