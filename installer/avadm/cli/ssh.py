"""`avadm ssh`: a login on a node, or a command on it, as avadm itself gets there."""

from __future__ import annotations

import os
import shlex

import click

from avadm.cli.main import App, pass_app
from avadm.errors import AvadmError


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("node")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[COMMAND]...")
@pass_app
def ssh(app: App, node: str, command: tuple[str, ...]) -> None:
    """Log in to NODE, or run COMMAND on it: with the controller's key, pinned host keys and the site's jump host.

    The login is the site file's `ssh.user`; nothing of your own ssh configuration is used.
    """
    from difflib import get_close_matches

    from avadm.components.base.variables import connection
    from avadm.remote.keyfile import usable

    site_file = app.site_file(draft=True)
    nodes = {n.name: n for n in site_file.site.nodes}
    if node not in nodes:
        near = get_close_matches(node, nodes, n=1)
        raise AvadmError.of(
            "unknown-node-ssh",
            where=str(site_file.path),
            found=node,
            wanted=", ".join(list(nodes)[:8]) + (" …" if len(nodes) > 8 else ""),
            node=node,
            guess=f" Did you mean {near[0]!r}?" if near else "",
        )
    usable(site_file.ssh_key)
    options = shlex.split(connection(site_file)["ansible_ssh_common_args"])
    target = f"{site_file.site.ssh.user}@{nodes[node].address}"
    argv = [
        *("ssh", "-i", str(site_file.ssh_key), "-o", "IdentitiesOnly=yes", "-o", "LogLevel=ERROR"),
        *("-p", str(site_file.site.ssh.port), *options, target, *command),
    ]
    os.execvp(argv[0], argv)  # noqa: S606 - replaced by ssh, which owns the terminal from here
