"""Presses of our cards' buttons and the forms that some of them open; pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import orjson

from channels.fields import is_true, object_of, objects_of, text_of, to_object
from channels.slack.origin import (
    BotIdentity,
    Dropped,
    Origin,
    is_direct_channel,
    read_actor,
)
from geode.messages import ButtonPress, JsonObject

PRESS, ASK = "press:", "ask:"
"""What the id of a button's action begins with; the nonce follows."""
FORM = "geode_words"
FORM_BLOCK, FORM_INPUT = "answer", "words"
WORDS_CHARS_MAX = 3_000
PROMPT_CHARS_MAX = 2_000


@dataclass(frozen=True, slots=True)
class AskWords:
    """Somebody pressed a button that asks for words: a form is to be opened for them."""

    press: ButtonPress
    """What the press will be once the words are there."""
    prompt: str
    trigger_id: str
    response_url: str = ""


def parse_press(payload: JsonObject, bot: BotIdentity) -> ButtonPress | AskWords | Dropped:
    """A press of a button of ours, or the words that a form of ours brought."""
    if text_of(payload, "type") == "view_submission":
        return _parse_submission(payload, bot)
    return _parse_action(payload, bot)


def _parse_action(payload: JsonObject, bot: BotIdentity) -> ButtonPress | AskWords | Dropped:
    actions = objects_of(payload, "actions")
    action = actions[0] if actions else {}
    action_id = text_of(action, "action_id")
    is_ask, nonce = action_id.startswith(ASK), action_id.partition(":")[2]
    if not action_id.startswith((PRESS, ASK)) or not nonce:
        return Dropped("action.unknown")
    author = text_of(object_of(payload, "message"), "bot_id")
    if author and bot.bot_id and author != bot.bot_id:
        return Dropped("action.foreign")
    press = _read_press(payload, bot, nonce, text_of(action, "action_ts"))
    if isinstance(press, Dropped) or not is_ask:
        return press
    return AskWords(
        press=press,
        prompt=text_of(action, "value") or "Your answer",
        trigger_id=text_of(payload, "trigger_id"),
        response_url=text_of(payload, "response_url"),
    )


def _read_press(
    payload: JsonObject, bot: BotIdentity, nonce: str, action_ts: str
) -> ButtonPress | Dropped:
    container, message = object_of(payload, "container"), object_of(payload, "message")
    channel = text_of(container, "channel_id") or text_of(object_of(payload, "channel"), "id")
    ts = text_of(container, "message_ts") or text_of(message, "ts")
    presser = read_actor(payload, bot)
    if not (channel and ts and presser.id and action_ts):
        return Dropped("malformed")
    # A card was posted by this installation, whichever team its reader belongs to.
    origin = Origin(bot.workspace, channel, is_direct=is_direct_channel(channel))
    root = text_of(container, "thread_ts") or text_of(message, "thread_ts") or ts
    return ButtonPress(
        thread=origin.thread(root),
        message_id=ts,
        presser=presser,
        nonce=nonce,
        dedupe_key=f"{bot.workspace}/{action_ts}/{presser.id}/{_trace_of(nonce)}",
        is_direct=origin.is_direct,
    )


def _trace_of(nonce: str) -> str:
    """Tells nonces apart in a key, which is kept and shown where no nonce may be."""
    return hashlib.sha256(nonce.encode()).hexdigest()[:16]


def write_form(ask: AskWords) -> JsonObject:
    """The form for the words, as `views.open` takes it."""
    press = ask.press
    kept = {
        "w": press.thread.workspace,
        "c": press.thread.channel,
        "t": press.thread.thread,
        "m": press.message_id,
        "n": press.nonce,
        "d": press.is_direct,
    }
    return {
        "type": "modal",
        "callback_id": FORM,
        "private_metadata": orjson.dumps(kept).decode(),
        "title": _plain_text("Your answer"),
        "submit": _plain_text("Send"),
        "close": _plain_text("Cancel"),
        "blocks": [
            {
                "type": "input",
                "block_id": FORM_BLOCK,
                "label": _plain_text(ask.prompt[:PROMPT_CHARS_MAX]),
                "element": {
                    "type": "plain_text_input",
                    "action_id": FORM_INPUT,
                    "multiline": True,
                    "max_length": WORDS_CHARS_MAX,
                },
            }
        ],
    }


def _plain_text(text: str) -> JsonObject:
    return {"type": "plain_text", "text": text, "emoji": False}


def _parse_submission(payload: JsonObject, bot: BotIdentity) -> ButtonPress | Dropped:
    view = object_of(payload, "view")
    if text_of(view, "callback_id") != FORM:
        return Dropped("view.unknown")
    kept = _read_kept(text_of(view, "private_metadata"))
    presser = read_actor(payload, bot)
    nonce, channel = text_of(kept, "n"), text_of(kept, "c")
    if not (nonce and channel and presser.id and text_of(view, "id")):
        return Dropped("malformed")
    origin = Origin(text_of(kept, "w"), channel, is_direct=is_true(kept, "d"))
    return ButtonPress(
        thread=origin.thread(text_of(kept, "t")),
        message_id=text_of(kept, "m"),
        presser=presser,
        nonce=nonce,
        dedupe_key=f"{origin.team}/{text_of(view, 'id')}/{presser.id}/{_trace_of(nonce)}",
        text=_read_words(view),
        is_direct=origin.is_direct,
    )


def _read_words(view: JsonObject) -> str:
    block = object_of(object_of(object_of(view, "state"), "values"), FORM_BLOCK)
    return text_of(object_of(block, FORM_INPUT), "value").strip()


def _read_kept(text: str) -> JsonObject:
    try:
        return to_object(orjson.loads(text))
    except orjson.JSONDecodeError:
        return {}
