"""Intake: one front door for every event, and a durable row before any acknowledgement."""
