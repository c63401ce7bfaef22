"""Builds what all sessions of a process share: tools, gate, records, the bound model."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from geode.errors import ConfigError
from geode.gate.approvals import Approvals
from geode.gate.executor import GateParts
from geode.hooks.build import Hooks
from geode.hooks.programs import check_tools
from geode.llm.routes import ModelRoute
from geode.loop.prompt import load_identity
from geode.ports import Failpoints
from geode.records.checkpoint import SessionCheckpoint
from geode.records.memories import BindingMemory
from geode.records.receipts import EffectReceiptStore
from geode.records.urls import SessionUrls
from geode.session.delegation import Delegation
from geode.session.histories import Histories
from geode.session.outlet import MessageOutlet
from geode.session.plan import TaskGraphs
from geode.session.secrecy import hide_secrets
from geode.session.services import SharedServices
from geode.session.shelf import Shelf
from geode.session.supplies import NO_SUPPLIES, Supplies
from geode.session.toolbox import Toolbox
from geode.settings import Settings
from geode.settings_load import Loaded
from geode.steps import FixedTools, ToolSource
from geode.store.blobs import OUTGOING, Blobs
from geode.store.database import Store
from geode.tools import delegate_task, run_bash, send_message, update_plan, web_search
from geode.tools.catalogue import build_catalogue, register
from geode.tools.sandbox.detect import PROBE
from geode.tools.shell import ShellTools
from geode.tools.urls import find_urls, normalise_url
from geode.tools.web_fetch import FetchGrant
from geode.tools.workspace import Workspaces


def build_services(
    store: Store,
    loaded: Loaded,
    route: ModelRoute,
    failpoints: Failpoints,
    sources: Sequence[ToolSource] = (),
    supplies: Supplies = NO_SUPPLIES,
) -> SharedServices:
    """Everything a turn needs; raises `ConfigError` for a grant or hook of an unknown tool.

    `sources` offer tools beside the built-in ones; `supplies` keep registered secrets out of what
    the model is given by built-in tools only, so a source hides them itself.
    """
    clock, settings, search = store.clock, loaded.settings, supplies.search
    receipts = EffectReceiptStore(store, clock)
    shelf = Shelf(
        Workspaces(loaded.state_folder / "files", failpoints=failpoints),
        loaded.state_folder / "kept",
        Blobs(loaded.state_folder / OUTGOING),
    )
    delegation, task_graphs = Delegation(), TaskGraphs()
    outlet = MessageOutlet(supplies.wake_delivery)
    built_in = build_catalogue(
        workspaces=shelf.workspaces,
        memory=BindingMemory(store, clock),
        witness=SessionUrls(store, find_urls, normalise_url),
        grant=FetchGrant(settings.web.fetch, settings.web.allow_domains),
        fetch_page=supplies.fetch_page,
        more=(
            update_plan.build(task_graphs),
            send_message.build(outlet),
            delegate_task.build(delegation),
            *(() if search.site is None else (web_search.build(search.site, clock),)),
        ),
    )
    absences = {"web_search": search.absence} if search.site is None else {}
    take_out = supplies.take_out
    hidden = FixedTools(register(*(hide_secrets(tool, take_out) for tool in built_in)), absences)
    shell = hide_secrets(run_bash.build(shelf.workspaces, clock), take_out)
    shell_tools = ShellTools(shell, PROBE, loaded.state_folder)
    toolbox = Toolbox((hidden, shell_tools, *sources))
    check_profiles(settings, toolbox.names)
    check_tools(settings.hooks, toolbox.names)
    hooks = supplies.hooks or Hooks()
    services = SharedServices(
        store=store,
        clock=clock,
        settings=settings,
        route=route,
        toolbox=toolbox,
        gate=GateParts(receipts, Approvals(store, clock), clock, failpoints, hooks.registry),
        receipts=receipts,
        checkpoints=SessionCheckpoint(store, clock),
        identity=load_identity(loaded.state_folder),
        state_folder=loaded.state_folder,
        histories=Histories(store.clock),
        shelf=shelf,
        take_out=take_out,
        task_graphs=task_graphs,
        events=hooks.system,
    )
    delegation.bind(services)
    outlet.bind(services)
    return services


def check_profiles(settings: Settings, known: Collection[str]) -> None:
    """A granted tool that does not exist would be refused in silence later: say so now."""
    for name, profile in settings.profiles.items():
        unknown = sorted({*profile.tools, *profile.ask}.difference(known))
        if unknown:
            raise ConfigError(
                f"profiles.{name} grants {', '.join(unknown)}, which this GEODE does not have; "
                f"remove it. There are: {', '.join(sorted(known))}."
            )
