"""The one way out to the web: strict addresses, checked connections, bounded answers."""
