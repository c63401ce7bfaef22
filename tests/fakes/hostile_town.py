"""A real daemon between a local Slack, a hostile model behind the real SDK, and the canaries."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
from fakes.hostile_hands import NaiveHands
from fakes.hostile_player import Player
from fakes.hostile_rows import Plan
from fakes.hostile_world import CONFIG, MEMORY, OTHER, Effect, HostileWorld, serve_sites
from fakes.model_town import Town, http_route
from fakes.search_sites import SearchServer, serve_search
from fakes.town import answers, running_daemon
from fakes.watched_world import watched

from channels.rehearsal.model import RehearsalModel
from channels.rehearsal.model_answers import Answer, text, tool_use
from channels.rehearsal.slack import RehearsalSlack
from channels.rehearsal.slack_state import Room
from geode.app import Seams

ROOMS = {"writer": "C0GENERAL", "reader": "C0READER", "asker": "C0ASKER"}
STEPS_MAX = 6
BINDING = """
[[bindings]]
channel = "slack"
where = "T0REHEARSAL/{room}"
people = ["U0ANA"]
operators = ["U0ANA"]
profile = "{profile}"
approvers = {approvers}
"""
MORE = f"# {CONFIG}\n" + "".join(
    BINDING.format(room=room, profile=profile, approvers=approvers)
    for room, profile, approvers in (
        ("C0SECOND", "writer", "[]"),
        ("C0READER", "default", "[]"),
        ("C0ASKER", "asker", '["U0BEN"]'),
    )
)
PROFILE = """
[profiles.worker]
tools = ["list_files", "read_file", "grep_files", "write_file", "edit_file", "memory_save",
         "memory_search", "web_fetch", "web_search"]
[profiles.asker]
tools = ["read_file"]
ask = ["write_file", "memory_save", "web_fetch"]
[web]
search = {{ engine = "searxng", url = "{address}" }}
"""


@dataclass
class HostileTown:
    """The daemon, its surroundings, and the model that plays."""

    town: Town
    world: HostileWorld
    player: Player
    search: SearchServer

    async def play(self, plan: Plan) -> list[Effect]:
        """Let a person ask in a new thread, play the plan to its end, and judge."""
        room = ROOMS[plan.room]
        self.world.begin(plan, room)
        await self.ask(plan)
        return self.world.effects(plan)

    async def ask(self, plan: Plan) -> list[str]:
        """Let a person ask in a new thread and wait for the end; what stands there then."""
        self.player.begin(plan)
        self.town.server.fallback = self.player
        text = self.world.fill_in(plan.page)
        self.search.pages = [{"title": "x", "url": "http://found.example/", "content": text}]
        room, said = ROOMS[plan.room], self.world.fill_in(plan.said)
        post = await self.town.slack.say(f"<@UBOT> {said}", channel=room)
        self.world.root = post.ts
        await self.town.wait_for(lambda: answers(self.town.slack, post.ts, room), 20.0)
        await self.town.wait_idle(20.0)
        return answers(self.town.slack, post.ts, room)

    async def play_without_gate(self, plan: Plan) -> list[Effect]:
        """The same calls from hands that nothing holds, in a session of their own; judge alike."""
        kept = self.world.keep()
        self.world.begin(plan, ROOMS[plan.room])
        self.world.plant(plan, "control")
        async with aiohttp.ClientSession() as session:
            await NaiveHands(self.world, session).play(plan)
        effects = self.world.effects(plan)
        self.world.put_back(kept)
        return effects

    async def fill_second_room(self) -> None:
        """Another session with a file and a note of its own."""
        calls = [
            tool_use("write_file", {"path": "other.txt", "content": OTHER}, "toolu_a"),
            tool_use("memory_save", {"text": f"of another place {MEMORY}"}, "toolu_b"),
        ]
        self.town.server.script = [Answer(calls, "tool_use"), Answer([text("kept")])]
        await self.town.slack.say("<@UBOT> keep it", channel="C0SECOND")
        await self.town.wait_for(lambda: self.town.slack.bot_posts("C0SECOND"))
        await self.town.wait_idle()
        (self.world.other_session,) = await self.town.rows("sessions", "id")


@asynccontextmanager
async def hostile_town(folder: Path) -> AsyncGenerator[HostileTown]:
    """Everything, started; the world is filled and another session has its secrets."""
    limits = f"steps_max = {STEPS_MAX}"
    async with (
        serve_sites() as sites,
        serve_search() as search,
        RehearsalModel() as server,
        RehearsalSlack(ack_deadline_s=5.0) as slack,
    ):
        with watched() as watch:
            world = HostileWorld(folder, sites, slack, watch)
            world.ports |= {int(url.rpartition(":")[2]) for url in (server.url, search.address)}
            seams = Seams(route=http_route(server), fetch_page=sites.web.fetch, second_look_s=0.2)
            for room in ("C0SECOND", "C0READER", "C0ASKER"):
                people = {"UBOT", "U0ANA", "U0BEN"}
                slack.workspace.add_room(Room(room, room.lower(), people))
            async with running_daemon(
                slack,
                folder / "home",
                seams=seams,
                limits=limits,
                profile="worker",
                more=MORE + PROFILE.format(address=search.address),
            ) as daemon:
                world.fill()
                town = Town(slack, daemon, server=server)
                made = HostileTown(town, world, Player(world), search)
                await made.fill_second_room()
                yield made
