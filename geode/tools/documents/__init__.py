"""Reads documents as text: one file per kind, all of them run in a child with limits only."""
