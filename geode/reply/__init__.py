"""Reply: what must go out, said once, delivered in order, redacted on its way."""
