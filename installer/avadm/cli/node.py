"""`avadm node`: add and remove nodes, keep new pods from them, have their pods move elsewhere, let pods come again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich.text import Text

from avadm.catalogue import finding
from avadm.cli import node_members
from avadm.cli.main import App, pass_app
from avadm.cli.output import console, print_json, stderr
from avadm.errors import AvadmError
from avadm.quantity import quantity

if TYPE_CHECKING:
    from avadm.kube.masters import Masters

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
@JSON
@pass_app
def uncordon(app: App, names: tuple[str, ...], as_json: bool) -> None:
    """Let new pods come to nodes again. A second time changes nothing."""
    _mark(app, names, "uncordon", as_json)


@node.command()
@NAMES
@click.option("--force", is_flag=True, help="Evict pods without a controller too: they are gone for good.")
@click.option(
    "--delete-local-data", is_flag=True, help="Evict pods with an emptyDir too: what is in it is gone."
)
@click.option(
    "--timeout",
    type=click.IntRange(1),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="How long each node may take.",
)
@JSON
@pass_app
def drain(
    app: App, names: tuple[str, ...], force: bool, delete_local_data: bool, timeout: int, as_json: bool
) -> None:
    """Cordon nodes and have their pods move elsewhere, one node after the other.

    Pods are evicted, so that PodDisruptionBudgets are respected; what is waited for is shown. Pods of daemon
    sets and static pods stay. Pods that would be lost forbid it, before anything is changed: those without a controller,
    and those with an emptyDir. A node that is not drained in time stays cordoned, and the same command continues with it.
    """
    from avadm.kube.drain import Allowed
    from avadm.kube.drain import drain as run

    chosen = _known(app, names)
    allowed = Allowed(force, delete_local_data, timeout)

    def tell(line: str) -> None:
        stderr.print(Text(line, style="dim"))

    done = run(_masters(app), chosen, allowed, tell)
    if as_json:
        print_json({"site": app.site_file().site.name, "nodes": [one.as_dict() for one in done]})
        return
    for one in done:
        console.print(
            Text(
                f"{one.node} drained: {quantity(len(one.evicted), 'pod')} evicted in {one.seconds:.0f} s; cordoned."
            )
        )


def _mark(app: App, names: tuple[str, ...], verb: str, as_json: bool) -> None:
    """Cordon or uncordon nodes and say what that changed."""
    chosen = _known(app, names)
    answer = _masters(app).ask(verb, chosen)
    if as_json:
        nodes = [{"node": name, "changed": answer[name]["changed"]} for name in chosen]
        print_json({"site": app.site_file().site.name, "nodes": nodes})
        return
    for name in chosen:
        console.print(Text(f"{name} {verb}ed" if answer[name]["changed"] else f"{name} was {verb}ed already"))


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
