"""Commands in a Slack thread, through the real daemon: stop what hangs, begin afresh, ask."""

from __future__ import annotations

import asyncio
from pathlib import Path

from fakes.model_town import scripted_town
from fakes.scripted_model import say
from fakes.town import answers

from geode.loop.termination import describe_end
from geode.messages import TerminationReason
from geode.reply import command_sentences as said
from geode.steps import ModelReply, StepSnapshot

STOPPED = describe_end(TerminationReason.USER_CANCELLED)


async def test_person_stops_a_hanging_turn_begins_afresh_and_asks_on(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def hang(step: StepSnapshot) -> ModelReply:
        begun.set()
        await asyncio.sleep(60)
        return say("too late")

    replies = [hang, say("fresh"), say("still here")]
    async with scripted_town(tmp_path, replies) as town:
        post = await town.slack.say("<@UBOT> the word is heron")
        await begun.wait()
        waiting = await town.slack.say("and more", thread_ts=post.ts)
        await town.wait_for(lambda: waiting.reactions)

        await town.slack.say("!stop", thread_ts=post.ts, user="U0BEN")

        await town.wait_answers(post.ts, 3)
        await town.wait_idle()
        assert not waiting.reactions
        assert STOPPED in answers(town.slack, post.ts)
        assert f"{said.STOPPING} 1 message that waited was dropped." in answers(town.slack, post.ts)
        await town.slack.say("!new", thread_ts=post.ts)
        await town.ask("which word?", post.ts, answers_in=2)
        assert answers(town.slack, post.ts)[-1] == "fresh"
        assert "heron" not in str(town.model.steps[-1].messages)
        assert await town.rows("turns", "reason") == ["user_cancelled", "natural"]
