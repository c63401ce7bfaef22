"""The only code that knows a chat platform: bytes of a platform in, bytes of a platform out."""
