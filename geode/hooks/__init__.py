"""Decisions and observations of the operator's own code; nothing here opens the gate."""
