"""How the stand-in refuses a call: an HTTP status with Discord's own numbered code."""

from __future__ import annotations

from geode.messages import JsonObject

CODES = {
    10003: (404, "Unknown Channel"),
    10008: (404, "Unknown Message"),
    10015: (404, "Unknown Webhook"),
    10062: (404, "Unknown interaction"),
    40005: (413, "Request entity too large"),
    40060: (400, "Interaction has already been acknowledged."),
    50001: (403, "Missing Access"),
    50005: (403, "Cannot edit a message authored by another user"),
    50006: (400, "Cannot send an empty message"),
    50007: (403, "Cannot send messages to this user"),
    50008: (400, "Cannot send messages in a non-text channel"),
    50013: (403, "Missing Permissions"),
    50027: (401, "Invalid Webhook Token"),
    50033: (400, "Invalid Recipient(s)"),
    50024: (400, "Cannot execute action on this channel type"),
    50035: (400, "Invalid Form Body"),
    50083: (400, "Thread is archived"),
    50109: (400, "The request body contains invalid JSON."),
    160004: (400, "A thread has already been created for this message"),
    160005: (400, "Thread is locked"),
    200000: (400, "Message was blocked by automatic moderation"),
}


class DiscordRefusalError(Exception):
    """A call that Discord refuses."""

    def __init__(self, code: int, *, status: int = 0, detail: str = "") -> None:
        usual, message = CODES.get(code, (400, "Refused"))
        super().__init__(message)
        self.code = code
        self.status = status or usual
        self.detail = detail
        """Which field of the form was wrong."""

    @property
    def body(self) -> JsonObject:
        """The answer's JSON."""
        answer: JsonObject = {"message": str(self), "code": self.code}
        if self.detail:
            fault: JsonObject = {"code": "BASE_TYPE_BAD_LENGTH", "message": self.detail}
            answer["errors"] = {self.detail.partition(":")[0]: {"_errors": [fault]}}
        return answer
