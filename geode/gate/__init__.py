"""Stage 7: a proposed tool call becomes an effect only through here."""
