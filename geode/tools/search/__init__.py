"""The search services that web_search can ask: one file each, and the one request to them."""
