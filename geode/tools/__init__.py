"""The tools a plan may hold: one file each, the safety policy beside the handler."""
