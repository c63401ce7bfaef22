"""Every method the stand-in knows, by Slack's own name; any other is unknown."""

from __future__ import annotations

from channels.rehearsal.slack_api import Method
from channels.rehearsal.slack_files import Files
from channels.rehearsal.slack_interactions import Interactions
from channels.rehearsal.slack_methods import WriteMethods
from channels.rehearsal.slack_reads import ReadMethods, scopes_for_rooms


def list_methods(
    reads: ReadMethods, writes: WriteMethods, interactions: Interactions, files: Files
) -> dict[str, Method]:
    """The methods of the Web API that an app token does not open."""
    return {
        "agents.sessions.setStatus": Method(
            writes.set_session, ("channel_id", "thread_ts", "status")
        ),
        "assistant.threads.setStatus": Method(writes.set_assistant, ("channel_id", "thread_ts")),
        "auth.test": Method(reads.auth_test),
        "chat.postMessage": Method(writes.post, ("channel",)),
        "chat.update": Method(writes.update, ("channel", "ts")),
        "chat.delete": Method(writes.delete, ("channel", "ts")),
        "chat.postEphemeral": Method(writes.post_ephemeral, ("channel", "user")),
        "chat.getPermalink": Method(reads.permalink, ("channel", "message_ts")),
        "conversations.history": Method(reads.history, ("channel",)),
        "conversations.replies": Method(reads.replies, ("channel", "ts")),
        "conversations.info": Method(reads.room, ("channel",)),
        "conversations.list": Method(reads.rooms),
        "conversations.open": Method(reads.open_direct, ("users",)),
        "conversations.members": Method(reads.members, ("channel",)),
        "users.conversations": Method(reads.own_rooms, scopes=scopes_for_rooms),
        "files.completeUploadExternal": Method(files.finish_upload, ("files",)),
        "files.getUploadURLExternal": Method(files.ask_upload, ("filename", "length")),
        "files.info": Method(files.show, ("file",)),
        "reactions.add": Method(writes.add_reaction, ("channel", "timestamp", "name")),
        "reactions.remove": Method(writes.remove_reaction, ("channel", "timestamp", "name")),
        "users.info": Method(reads.person, ("user",), scopes=lambda call: ("users:read",)),
        "views.open": Method(interactions.open_view, ("trigger_id", "view")),
    }
