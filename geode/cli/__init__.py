"""The `geode` command: what an operator types, thin over the control socket and the daemon."""
