"""Every error GEODE raises on purpose, in one tree.

GeodeError
├── ConfigError                 the operator's file or environment is wrong
├── StoreError
│   ├── StorageFullError        the disk refused a write; nothing was stored
│   ├── StorageBusyError        another writer held the database for too long
│   ├── SchemaMismatchError     the database is newer than this program
│   ├── StateLockedError        another daemon owns this state
│   └── StaleEpochError         this worker's lease was taken over
├── ChannelError
│   ├── SendRefusedError        the platform will never accept this message
│   ├── FormatRefusedError      the platform refused the formatting only
│   ├── SendRateLimitedError    the platform asked us to wait
│   ├── SendUnknownError        the platform may or may not have accepted it
│   ├── SendUnfindableError     the platform lets nobody look for a message
│   ├── PlaceMovedError         the conversation has another id now; nothing was sent
│   ├── FileUnavailableError    a file that a person attached cannot be had
│   └── ChannelDownError        the platform could not be reached; nothing was sent
├── ToolError                   a tool did not do what was asked, and changed nothing
│   ├── PathRefusedError        the path does not name a plain file of the session's workspace
│   ├── FileRefusedError        the workspace cannot take or give what was asked
│   ├── FetchRefusedError       the address may not be contacted, or gave no readable page
│   ├── MessageRefusedError     a message for another place was not queued
│   ├── SearchFailedError       the search service gave no answer that can be read
│   ├── McpSchemaError          another server's schema cannot be used here
│   └── McpServerError          a server of other tools cannot be used; nothing was sent to it
├── McpCallError                a call went to another server and no answer came back
├── HookError                   an operator's hook gave no valid answer, so it denies
├── ModelError                  a model call failed; its kinds live in geode/llm/errors.py
└── ControlError                a command-line verb was refused by the daemon
    ├── DaemonAbsentError       no daemon runs on this state
    └── LineLostError           the daemon went away before it answered
"""

from __future__ import annotations


class GeodeError(Exception):
    """Something GEODE recognises went wrong; the message is one sentence for a person."""


class ConfigError(GeodeError):
    """The configuration cannot be used; the message names the file, the key and the fix."""


class StoreError(GeodeError):
    """The store could not do what was asked; nothing of the unit was stored."""


class StorageFullError(StoreError):
    """The disk refused a write; nothing of the unit was stored."""


class StorageBusyError(StoreError):
    """Another writer held the database for longer than the busy time-out."""


class SchemaMismatchError(StoreError):
    """The database was written by a newer GEODE."""


class StateLockedError(StoreError):
    """Another daemon owns this state folder."""

    def __init__(self, path: str, holder: str) -> None:
        super().__init__(
            f"{path} is in use by {holder}; "
            "stop that daemon first or give this one another GEODE_HOME."
        )
        self.holder = holder


class StaleEpochError(StoreError):
    """This worker's lease was taken over; it must stop and write nothing more."""

    def __init__(self, session_id: str, epoch: int) -> None:
        super().__init__(f"The lease of session {session_id} moved on from epoch {epoch}.")
        self.session_id = session_id
        self.epoch = epoch


class ApprovalGoneError(StoreError):
    """There is no unused approval for exactly this action; nothing was written."""

    def __init__(self, approval_id: str) -> None:
        super().__init__(f"The call {approval_id} has no approval that is still to be taken.")


class ChannelError(GeodeError):
    """A platform call did not give the wanted result."""


class SendRefusedError(ChannelError):
    """The platform refused this message for good; nothing was sent."""


class FormatRefusedError(ChannelError):
    """The platform refused the formatting; the same text may pass as plain text."""


class SendRateLimitedError(ChannelError):
    """The platform asked us to wait; nothing was sent."""

    def __init__(self, retry_after_s: float) -> None:
        super().__init__(f"The platform asks to wait {retry_after_s:g} s.")
        self.retry_after_s = retry_after_s


class SendUnknownError(ChannelError):
    """The request left, the answer did not come: the message may or may not be there."""


class SendUnfindableError(ChannelError):
    """The platform lets nobody look for a message: a lost send stays of unknown outcome."""


class PlaceMovedError(ChannelError):
    """The platform gave the conversation another id; nothing was sent."""

    def __init__(self, new_channel: str) -> None:
        super().__init__(f"The conversation moved to {new_channel}.")
        self.new_channel = new_channel


class FileUnavailableError(ChannelError):
    """A file that a person attached cannot be had; the message says what to do about it."""


class ChannelDownError(ChannelError):
    """The platform could not be reached; certainly nothing was sent."""


class HookError(GeodeError):
    """An operator's hook gave no valid answer; the message completes "the hook failed: it …"."""


class ToolError(GeodeError):
    """A tool did not do what was asked and changed nothing; the message is for the model."""


class PathRefusedError(ToolError):
    """The path does not name a plain file or folder of the session's workspace."""


class FileRefusedError(ToolError):
    """The workspace cannot take or give what was asked; nothing was changed."""


class SandboxError(ToolError):
    """No sandbox could be started, so nothing was run; the message is the reason."""


class FetchRefusedError(ToolError):
    """The address may not be contacted, or what it gave is not a readable page."""


class MessageRefusedError(ToolError):
    """A message for another place was not queued; nothing was sent."""


class SearchFailedError(ToolError):
    """The search service gave no answer that can be read; the message names no address."""


class McpSchemaError(ToolError):
    """Another server's schema cannot be used here; the message is the reason."""


class McpServerError(ToolError):
    """A server of other tools cannot be used now; certainly nothing was sent to it."""


class McpCallError(GeodeError):
    """A call went to another server and no answer came back: nobody knows what it did."""


class ModelError(GeodeError):
    """A model call failed; the kinds are in `geode.llm.errors`, classified once by the adapter."""

    retryable = False


class ControlError(GeodeError):
    """The daemon refused a control verb; the message is the reason."""


class DaemonAbsentError(ControlError):
    """No daemon runs on this state folder."""

    def __init__(self, folder: str) -> None:
        super().__init__(f"No daemon is running on {folder}; start one with: geode serve")


class LineLostError(ControlError):
    """The connection to the daemon ended before its answer came; the request may be repeated."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"The connection to the daemon was lost ({reason}).")
