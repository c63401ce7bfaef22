"""Session: woken in order, claimed under a lease, assembled from shared services."""
