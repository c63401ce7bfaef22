"""Store: the only room that writes SQL; everything above composes its plain functions."""
