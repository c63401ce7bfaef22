"""The durable records of a session, above the store's rows."""
