"""Every table of the database in one place, for whoever needs them all."""

from __future__ import annotations

from geode.store import gate_tables, review_tables, room_tables, tables

metadata = tables.metadata
MODULES = (tables, room_tables, gate_tables, review_tables)
"""Importing them is what fills `metadata`."""
