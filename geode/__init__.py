"""GEODE: a self-hosted chat bot whose runtime decides what may run and when work is done."""
