"""`avadm bootstrap`: host keys, the controller's key, root, python and the kernel's arguments on the nodes."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.table import Table

from avadm.catalogue import finding
from avadm.cli.main import App, pass_app
from avadm.cli.options import existing_key, password_file
from avadm.cli.output import print_findings, print_json, stderr
from avadm.cli.tables import print_table
from avadm.errors import EXIT_COULD_NOT_RUN, EXIT_FOUND_BAD, EXIT_GOOD, AvadmError
from avadm.quantity import quantity

if TYPE_CHECKING:
    import paramiko

    from avadm.bootstrap.controller_key import ControllerKey
    from avadm.bootstrap.host_keys import Offer
    from avadm.bootstrap.report import NodeReport
    from avadm.bootstrap.task import BootstrapTask
    from avadm.site.load import SiteFile
    from avadm.site.model import Node


@click.command()
@click.option("--limit", metavar="NODES", help="Only these nodes: names, patterns or roles, with commas.")
@click.option("--accept-host-keys", is_flag=True, help="Pin unknown host keys without asking.")
@password_file
@click.option(
    "--sudo-password-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File (0600) with the password that sudo asks the login for [or env: AVADM_SUDO_PASSWORD; else the "
    "login's password, else you are asked]: with it bootstrap lets the login become root without one.",
)
@existing_key
@click.option(
    "--install-python/--no-install-python", default=True, help="Install python where it is missing."
)
@click.option(
    "--timeout", type=click.FloatRange(0.5, 120), default=10.0, show_default=True, metavar="SECONDS"
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@pass_app
def bootstrap(
    app: App,
    limit: str | None,
    accept_host_keys: bool,
    password_file: Path | None,
    sudo_password_file: Path | None,
    existing: tuple[Path, ...],
    install_python: bool,
    timeout: float,
    as_json: bool,
) -> int:
    """Make new nodes ready: pin their host keys, install the controller's key, check root, python and kernel arguments.

    Where the site file has `boot.allow_reboot: true`, nodes that lack kernel arguments of the profile are rebooted with them,
    one at a time, and none that serves already.

    Running it again is safe: what is done is left alone. Exit status 1 when a node is not ready, 2 when no node let
    us in.
    """
    from avadm.bootstrap.report import findings, warnings
    from avadm.bootstrap.run import bootstrap as run
    from avadm.cli.nodes import select
    from avadm.remote.access import nameless

    site_file = app.site_file(draft=True)
    task = bootstrap_task(
        site_file,
        select(site_file.site, limit),
        accept_host_keys=accept_host_keys,
        password_file=password_file,
        sudo_password_file=sudo_password_file,
        existing=existing,
        install_python=install_python,
        timeout=timeout,
    )
    key, reports = task.key, run(task)
    if as_json:
        print_json(
            {
                "site": site_file.site.name,
                "controller_key": {"path": str(key.path), "created": key.created},
                "nodes": {r.node: r.as_dict() for r in reports},
                "findings": [f.as_dict() for f in findings(reports) + warnings(reports)],
            }
        )
    else:
        _print(key, reports)
        print_findings(
            [replace(f, what=nameless(f.host or "", f.what)) for f in findings(reports) + warnings(reports)]
        )
    if not any(r.let_in for r in reports):
        return EXIT_COULD_NOT_RUN
    return EXIT_FOUND_BAD if findings(reports) else EXIT_GOOD


def bootstrap_task(
    site_file: SiteFile,
    nodes: list[Node],
    *,
    accept_host_keys: bool = False,
    password_file: Path | None = None,
    sudo_password_file: Path | None = None,
    existing: tuple[Path, ...] = (),
    install_python: bool = True,
    timeout: float = 10.0,
) -> BootstrapTask:
    """Return the task of bootstrapping nodes, by the options that the user gave; the controller's key exists afterwards.

    Raises:
        AvadmError: a file of a password or a key is of no use, or a host key in the site file is none.
    """
    from avadm.bootstrap.controller_key import ensure
    from avadm.bootstrap.password import from_file
    from avadm.bootstrap.task import BootstrapTask
    from avadm.remote.jump import JumpHost
    from avadm.remote.ssh import targets

    password = from_file(password_file) if password_file else os.environ.get("AVADM_SSH_PASSWORD")
    for_sudo = from_file(sudo_password_file) if sudo_password_file else os.environ.get("AVADM_SUDO_PASSWORD")
    keys = [_existing(path) for path in existing]
    declared = _declared(nodes)
    user = site_file.site.ssh.user
    return BootstrapTask(
        targets(site_file, [n.name for n in nodes]),
        ensure(site_file.ssh_key, f"avadm@{site_file.site.name}"),
        site_file.known_hosts,
        site_file.profile.python,
        confirm=lambda offers: _confirm(offers, accept_host_keys),
        password=lambda: password or _ask(f"Password of {user} on the nodes"),
        sudo_password=lambda: for_sudo or password or _ask(f"Password of {user} for sudo on the nodes"),
        declared=declared,
        jump=JumpHost.of(site_file),
        existing=keys,
        proxy=site_file.site.packages.proxy,
        install_python=install_python,
        timeout=timeout,
        arguments={n.name: site_file.profile.arguments(n.roles) for n in nodes},
        allow_reboot=site_file.site.boot.allow_reboot,
        say=lambda text: stderr.print(text, markup=False),
    )


def _existing(path: Path) -> paramiko.PKey:
    """Return a key named by --existing-key."""
    from avadm.remote.connect import ConnectionFailed
    from avadm.remote.keyfile import load_key

    try:
        return load_key(path.expanduser())
    except ConnectionFailed as e:
        raise AvadmError.of(
            "existing-key", where="--existing-key", file=path.expanduser(), fault=e.reason.facts["fault"]
        ) from e


def _declared(nodes: list[Node]) -> dict[str, paramiko.PKey]:
    """Return the host keys that the site file gives; AvadmError with all that are none."""
    from avadm.remote.hostkeys import parse_key

    found, bad = {}, []
    for node in nodes:
        if node.host_key is None:
            continue
        try:
            found[node.name] = parse_key(node.host_key)
        except ValueError as e:
            bad.append(
                finding(
                    "host-key",
                    where=f"nodes.{node.name}.host_key",
                    found=node.host_key[:60],
                    wanted="TYPE BASE64",
                    name=node.name,
                    e=e,
                )
            )
    if bad:
        raise AvadmError(bad)
    return found


def _confirm(offers: list[Offer], accept: bool) -> bool:
    """Show the unknown host keys and ask whether they are right."""
    from avadm.remote.hostkeys import fingerprint

    table = Table(title="Host keys seen for the first time", title_justify="left")
    for column in ("node", "address", "type", "fingerprint"):
        table.add_column(column, overflow="fold")
    for o in offers:
        if o.key is not None:
            table.add_row(o.target.node, o.target.host, o.key.get_name(), fingerprint(o.key))
    print_table(table, whole=("node", "address", "type"), to=stderr)
    if accept:
        stderr.print(f"Accepted without asking (--accept-host-keys): {len(offers)}.")
        return True
    if not sys.stdin.isatty():
        stderr.print("No terminal to confirm them: compare them, then use --accept-host-keys.")
        return False
    return click.confirm("Are these the nodes' keys, and shall they be pinned?", default=False, err=True)


def _ask(what: str) -> str | None:
    """Ask for a password where there is a terminal."""
    if not sys.stdin.isatty():
        return None
    answer: str = click.prompt(what, hide_input=True, default="", show_default=False, err=True)
    return answer or None


def _print(key: ControllerKey, reports: list[NodeReport]) -> None:
    """Print what was done on each node."""
    from avadm.bootstrap.report import STEPS, BootstrapState
    from avadm.cli.output import console

    if key.created:
        console.print(f"Made the controller's key {key.path}.")
    changed = [r for r in reports if any(s.state is BootstrapState.CHANGED for s in r.steps.values())]
    pending = [r for r in reports if r.state is BootstrapState.PENDING]
    failed = [r for r in reports if r.state is BootstrapState.FAILED]
    marks = {
        BootstrapState.OK: "[green]✓[/green]",
        BootstrapState.CHANGED: "[yellow]changed[/yellow]",
        BootstrapState.PENDING: "[yellow]reboot[/yellow]",
        BootstrapState.FAILED: "[red]failed[/red]",
    }
    if changed or failed or pending:
        table = Table("node", *(s.replace("_", " ") for s in STEPS), "")
        for r in reports:
            cells = (marks[r.steps[s].state] if s in r.steps else "-" for s in STEPS)
            table.add_row(r.node, *cells, r.steps["python"].detail if "python" in r.steps else "")
        print_table(table, whole=("node", "host key", "key", "root", "python", "boot"))
    if failed:
        console.print(f"Not ready: {len(failed)} of {quantity(len(reports), 'node')}; the reasons follow.")
        return
    done = f"Ready: {quantity(len(reports) - len(pending), 'node')}; {len(changed)} changed"
    if pending:
        console.print(f"{done}. To be rebooted first: {', '.join(r.node for r in pending)}.")
    elif changed:
        console.print(f"{done}. Next: avadm preflight")
    else:
        console.print(f"Ready: {quantity(len(reports), 'node')}; nothing to do.")
