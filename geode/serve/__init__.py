"""The daemon's shell: its control socket, the verbs on it, signals, and the client."""
