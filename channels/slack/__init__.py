"""Slack: Socket Mode in, Block Kit out."""
