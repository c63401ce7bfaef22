"""Posts updates to the bot's webhook: each until it is taken, a chat's one after the other."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import aiohttp

from channels.fields import int_of, object_of
from channels.rehearsal.telegram_updates import UpdateQueue, Webhook
from geode.messages import JsonObject

STEP_S = 0.02
RETRY_S = 0.1
POST_S = 30.0
SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 - the header's name


class WebhookSender:
    """Runs beside the stand-in; what is posted and not taken is posted again."""

    def __init__(self, queue: UpdateQueue) -> None:
        self._queue = queue
        self._task: asyncio.Task[None] | None = None
        self._busy: dict[int, asyncio.Task[None]] = {}

    def start(self) -> None:
        """Begin to look for updates."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Post nothing more."""
        tasks = [task for task in (self._task, *self._busy.values()) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self) -> None:
        timeout = aiohttp.ClientTimeout(total=POST_S)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            while True:
                if (hook := self._queue.webhook) is not None:
                    self._begin(session, hook)
                await asyncio.sleep(STEP_S)

    def _begin(self, session: aiohttp.ClientSession, hook: Webhook) -> None:
        for update in self._queue.waiting:
            line = line_of(update)
            if line not in self._busy:
                task = asyncio.create_task(self._post(session, hook, update))
                self._busy[line] = task
                task.add_done_callback(lambda _, line=line: self._busy.pop(line, None))

    async def _post(
        self, session: aiohttp.ClientSession, hook: Webhook, update: JsonObject
    ) -> None:
        update_id = int_of(update, "update_id")
        self._queue.delivered[update_id] += 1
        headers = {SECRET_HEADER: hook.secret} if hook.secret else {}
        failure = "Connection refused"
        with suppress(aiohttp.ClientError, TimeoutError):
            async with session.post(hook.url, json=update, headers=headers) as response:
                is_taken = response.status // 100 == 2
                failure = "" if is_taken else f"Wrong response from the webhook: {response.status}"
        hook.failure = failure
        if failure:
            await asyncio.sleep(RETRY_S)
        else:
            self._queue.settle(update_id)


def line_of(update: JsonObject) -> int:
    """Updates of one line are posted one after the other: those of a chat, or of a presser."""
    if query := object_of(update, "callback_query"):
        return int_of(object_of(query, "from"), "id")
    message = object_of(update, "message") or object_of(update, "edited_message")
    return int(str(object_of(message, "chat").get("id", 0)))
