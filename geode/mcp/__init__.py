"""Tools of other servers: what they offer is data, what may run is the operator's list."""
