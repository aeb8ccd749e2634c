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
from avadm.cli.options import dry_run
from avadm.cli.output import console, print_json, print_progress
from avadm.cli.times import DURATION
from avadm.errors import AvadmError
from avadm.quantity import quantity

if TYPE_CHECKING:
    from avadm.kube.drain import Plan
    from avadm.kube.masters import Masters
    from avadm.kube.node_runs import Platform

LONGEST_NOTICE_S = 7 * 86_400
NAMES = click.argument("names", metavar="NAME...", nargs=-1, required=True)
AS = click.option(
    "--as", "whom", metavar="NAME", help="AVA's administrator in whose name; needed where there are several."
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def node() -> None:
    """Add and remove nodes, keep new pods from them, have their pods move elsewhere, let pods come again."""


node.add_command(node_members.add)
node.add_command(node_members.remove)
node.add_command(node_members.replace)


@node.command()
@NAMES
@JSON
@pass_app
def cordon(app: App, names: tuple[str, ...], as_json: bool) -> None:
    """Keep new pods from nodes; those that are there stay. A second time changes nothing."""
    _mark(app, names, "cordon", as_json)


@node.command()
@NAMES
@AS
@JSON
@pass_app
def uncordon(app: App, names: tuple[str, ...], whom: str | None, as_json: bool) -> None:
    """Let new pods come to nodes again, and AVA's runs stay on them. A second time changes nothing."""
    from avadm.kube.drain import uncordon as run

    chosen = _known(app, names)
    with _platform(app, whom) as platform:
        _print_changes(app, chosen, "uncordon", run(_masters(app), chosen, print_progress, platform), as_json)


@node.command()
@NAMES
@click.option("--force", is_flag=True, help="Evict pods without a controller too: they are gone for good.")
@click.option(
    "--delete-local-data", is_flag=True, help="Evict pods with an emptyDir too: what is in it is gone."
)
@click.option(
    "--notice",
    type=DURATION,
    default="30m",
    show_default=True,
    metavar="DURATION",
    help="How long before the owners of AVA's workbenches on the nodes are notified.",
)
@click.option("--stop-runs", is_flag=True, help="End AVA's trainings too when the notice is over.")
@click.option(
    "--timeout",
    type=click.IntRange(1),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="How long each node may take, for AVA's runs after their notice.",
)
@dry_run("Show the runs on the nodes and what is evicted; change nothing.")
@AS
@JSON
@pass_app
def drain(
    app: App,
    names: tuple[str, ...],
    force: bool,
    delete_local_data: bool,
    notice: int,
    stop_runs: bool,
    timeout: int,
    check: bool,
    whom: str | None,
    as_json: bool,
) -> None:
    """Cordon nodes and have their pods move elsewhere, one node after the other.

    AVA's runs leave first: services get a replica elsewhere, workbenches stop after the notice with their disks kept,
    trainings end by themselves, by their owners' consent, or with --stop-runs after the notice. Owners are notified at once.

    Other pods are evicted, so that PodDisruptionBudgets are respected; what is waited for is shown. Pods of daemon
    sets and static pods stay. Pods that would be lost forbid it, before anything is changed: those without a controller,
    and those with an emptyDir. A node that is not drained in time stays cordoned, and the same command continues with it.
    """
    from avadm.kube.drain import Allowed, plan
    from avadm.kube.drain import drain as run
    from avadm.kube.node_runs import Notice

    if notice > LONGEST_NOTICE_S:
        raise click.BadParameter("expected 7d at most.", param_hint="--notice")
    chosen = _known(app, names)
    allowed = Allowed(force, delete_local_data, timeout, Notice(notice, stop_runs))
    with _platform(app, whom) as platform:
        if check:
            _show_plan(app, plan(_masters(app), chosen, allowed, print_progress, platform), as_json)
            return
        done = run(_masters(app), chosen, allowed, print_progress, platform=platform)
    if as_json:
        print_json({"site": app.site_file().site.name, "nodes": [one.as_dict() for one in done]})
        return
    for one in done:
        left = f"{quantity(len(one.runs), 'run')} of AVA left, " if one.runs else ""
        console.print(
            Text(
                f"{one.node} drained: {left}{quantity(len(one.evicted), 'pod')} evicted in {one.seconds:.0f} s; "
                "cordoned."
            )
        )


def _show_plan(app: App, found: Plan, as_json: bool) -> None:
    """Show what draining would mean."""
    from avadm.kube.node_runs import utc

    if as_json:
        nodes = [
            {"node": n, "cordoned": c, "pods": found.going[n], "runs": [r.as_dict() for r in found.runs[n]]}
            for n, c in found.cordoned.items()
        ]
        print_json({"site": app.site_file().site.name, "nodes": nodes})
        return
    for name, count in found.going.items():
        console.print(Text(f"{name}: {quantity(count, 'pod')} to evict"))
        for one in found.runs[name]:
            console.print(Text(f"{name}: {one.words(utc())}"))


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


@contextmanager
def _platform(app: App, whom: str | None) -> Iterator[Platform | None]:
    """Have AVA to be asked about runs; None on a site without it."""
    site_file = app.site_file()
    if site_file.site.components.ava is None:
        yield None
        return
    from avadm.platform_users.node_drains import NodeDrains

    with NodeDrains(site_file, app.fleet(), whom) as platform:
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
