"""Local stand-ins for chat platforms that speak their real protocols and refuse what they would."""
