"""The page in the browser: a channel that is its own platform."""
