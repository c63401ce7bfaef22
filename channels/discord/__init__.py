"""The Discord channel; nothing outside this package knows Discord."""
