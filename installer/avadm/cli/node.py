"""`avadm node`: add and remove nodes, keep new pods from them, have their pods move elsewhere, let pods come again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from avadm.catalogue import finding
from avadm.cli import node_members
from avadm.cli.main import App, pass_app
from avadm.cli.operation import operate, operation_options
from avadm.cli.options import ADMINISTRATOR, drain_options, drain_timeout, drained, former_flag
from avadm.cli.output import console, print_json, print_progress
from avadm.errors import AvadmError

if TYPE_CHECKING:
    from avadm.kube.masters import Masters
    from avadm.kube.node_runs import Platform

NAMES = click.argument("names", metavar="NAME...", nargs=-1, required=True)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def node() -> None:
    """Add and remove nodes, keep new pods from them, have their pods move elsewhere, let pods come again."""


node.add_command(node_members.add)
node.add_command(node_members.remove)


@node.command()
@NAMES
@JSON
@pass_app
def cordon(app: App, names: tuple[str, ...], as_json: bool) -> None:
    """Keep new pods from nodes; those that are there stay. A second time changes nothing."""
    _mark(app, names, "cordon", as_json)


@node.command()
@NAMES
@ADMINISTRATOR
@JSON
@pass_app
def uncordon(app: App, names: tuple[str, ...], administrator: str | None, as_json: bool) -> None:
    """Let new pods come to nodes again, and AVA's runs stay on them. A second time changes nothing.

    Gives up a drain of these nodes that is half done.
    """
    from avadm.kube.drain import uncordon as run

    chosen = _known(app, names)
    _give_up(app, chosen)
    with _platform(app, administrator) as platform:
        _print_changes(app, chosen, "uncordon", run(_masters(app), chosen, print_progress, platform), as_json)


@node.command()
@NAMES
@drain_options
@drain_timeout(600)
@former_flag("--check", "check", "--dry-run")
@former_flag("--force", "force", "--accept pods-without-controller")
@former_flag("--delete-local-data", "delete_local_data", "--accept pods-local-data")
@operation_options
@pass_app
def drain(
    app: App,
    /,
    names: tuple[str, ...],
    notice: int,
    stop_runs: bool,
    administrator: str | None,
    timeout: int,
    check: bool,
    force: bool,
    delete_local_data: bool,
    accepted: tuple[str, ...],
    dry_run: bool,
    **options: Any,
) -> int:
    """Cordon nodes and have their pods move elsewhere.

    AVA's runs leave first: services get a replica elsewhere, workbenches stop after the notice with their disks kept,
    trainings end by themselves, by their owners' consent, or with --stop-runs after the notice. Owners are notified at once.

    Other pods are evicted, so that PodDisruptionBudgets are respected; what is waited for is shown. Pods of daemon
    sets and static pods stay. Pods that would be lost forbid it: those without a controller, and those with an emptyDir.
    Where it fails, nodes that it has cordoned take pods again.
    """
    from avadm.operations.drain import drain as plan

    chosen = _known(app, names)
    also = [
        *(["pods-without-controller"] if force else []),
        *(["pods-local-data"] if delete_local_data else []),
    ]
    accept = frozenset((*accepted, *also))
    return operate(
        app,
        plan(chosen, drained(notice, stop_runs, administrator, timeout), accept),
        accepted=sorted(accept),
        dry_run=dry_run or check,
        done=f"Drained and cordoned: {', '.join(chosen)}. `avadm node uncordon` lets pods come again.",
        **options,
    )


def _mark(app: App, names: tuple[str, ...], verb: str, as_json: bool) -> None:
    """Cordon nodes and say what that changed."""
    chosen = _known(app, names)
    _print_changes(app, chosen, verb, _masters(app).ask(verb, chosen), as_json)


def _print_changes(
    app: App, chosen: Sequence[str], verb: str, answer: Mapping[str, Any], as_json: bool
) -> None:
    if as_json:
        nodes = [{"node": name, "changed": answer[name]["changed"]} for name in chosen]
        print_json({"site": app.site_file().site.name, "nodes": nodes})
        return
    for name in chosen:
        console.print(Text(f"{name} {verb}ed" if answer[name]["changed"] else f"{name} was {verb}ed already"))


def _give_up(app: App, names: Sequence[str]) -> None:
    """Give up drains of these nodes that are half done; the site is not locked where none is."""
    from avadm.engine.session import Session
    from avadm.operations.drain import give_up, half_drained
    from avadm.operations.run import run
    from avadm.state.lock.nodes import LockNodes

    site_file = app.site_file()
    nodes = LockNodes(site_file, app.fleet())
    session = Session.open(site_file, nodes, nodes.do("show"), write=False, vault_lost=True)
    if half_drained(session.records.state, names):
        run(site_file, app.fleet(), give_up(names), (), print_progress)


@contextmanager
def _platform(app: App, administrator: str | None) -> Iterator[Platform | None]:
    """Have AVA to be asked about runs; None on a site without it."""
    site_file = app.site_file()
    if site_file.site.components.ava is None:
        yield None
        return
    from avadm.platform_users.node_drains import NodeDrains

    with NodeDrains(site_file, app.fleet(), administrator) as platform:
        yield platform


def _known(app: App, names: tuple[str, ...]) -> list[str]:
    """Return the names, each once; AvadmError with every name that is no node of Kubernetes."""
    from avadm.cli.nodes import compact

    site = app.site_file().site
    roles = {n.name: set(n.roles) for n in site.nodes}
    known = compact(n for n, held in roles.items() if held & {"master", "worker"}) or "none"
    findings = []
    for name in dict.fromkeys(names):
        if name not in roles:
            code = "unknown-node"
        elif not roles[name] & {"master", "worker"}:
            code = "unknown-node-kubernetes"
        else:
            continue
        findings.append(finding(code, where="NAME", found=name, wanted=f"one of {known}"))
    if findings:
        raise AvadmError(findings)
    return list(dict.fromkeys(names))


def _masters(app: App) -> Masters:
    """Return the site's masters."""
    from avadm.kube.masters import Masters

    site_file = app.site_file()
    names = [n.name for n in site_file.site.with_role("master")]
    return Masters(app.fleet(), names, site_file.profile.python)
