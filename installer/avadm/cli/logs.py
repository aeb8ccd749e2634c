"""`avadm logs`: search the logs of nodes and pods, or follow them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich.text import Text

from avadm.cli.main import App, pass_app
from avadm.cli.options import Renamed
from avadm.cli.output import console, print_json, stderr, visible
from avadm.cli.times import INSTANT
from avadm.errors import EXIT_FOUND_BAD, EXIT_GOOD, AvadmError

if TYPE_CHECKING:
    from avadm.logs.client import Client
    from avadm.logs.query import Line, Query

STYLES = {
    "warning": "yellow",
    "err": "red",
    "crit": "bold red",
    "alert": "bold red",
    "emerg": "bold red",
}


@click.command()
@click.option("--host", default="", metavar="NODE", help="From this node.")
@click.option(
    "--component", default="", metavar="NAME", help="From this component, e.g. kubelet, ceph-osd, pod."
)
@click.option(
    "--unit", default="", metavar="UNIT", help="From this unit, e.g. kubelet.service; may end in *."
)
@click.option("--namespace", "-n", default="", metavar="NAME", help="From pods in this namespace.")
@click.option("--pod", default="", metavar="NAME", help="From this pod, running or gone; may end in *.")
@click.option("--container", default="", metavar="NAME", help="From this container of the pods.")
@click.option(
    "--severity", default="", metavar="LEVEL", help="At least this severity, e.g. warning, error, fatal."
)
@click.option("--grep", default="", metavar="TEXT", help="Containing this text, in upper or lower case.")
@click.option(
    "--since",
    type=INSTANT,
    default="1h",
    show_default=True,
    help="From then on: 15m (ago), 2h, 3d, or a time, UTC.",
)
@click.option("--until", type=INSTANT, default=None, help="Until then, in the same form.")
@click.option(
    "--tail",
    "limit",
    cls=Renamed,
    former=["--limit"],
    type=click.IntRange(1, 100_000),
    default=1000,
    show_default=True,
    help="The newest lines.",
)
@click.option("--follow", "-f", is_flag=True, help="Follow new lines until stopped.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON; with --follow one line of it each.")
@pass_app
def logs(
    app: App,
    host: str,
    component: str,
    unit: str,
    namespace: str,
    pod: str,
    container: str,
    severity: str,
    grep: str,
    since: float,
    until: float | None,
    limit: int,
    follow: bool,
    as_json: bool,
) -> int:
    """Search the logs of nodes and pods, or follow them.

    Each store is asked on its own node through ssh, and what they answer is one. Exit status 1 when a store did not
    answer, though another did; 2 when none did.
    """
    from avadm.logs.client import NoStore
    from avadm.logs.query import Query

    query = Query(
        host=host,
        component=component,
        unit=unit,
        namespace=namespace,
        pod=pod,
        container=container,
        severity=severity,
        grep=grep,
        since=since,
        until=until,
    )
    try:
        query.text()
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
    client = _client(app)
    if follow:
        return _follow(client, query, as_json)
    try:
        answer = client.search(query, limit)
    except NoStore as error:
        raise AvadmError.of(
            "log-stores", where="components.logs.stores", found=str(error), wanted="one that answers"
        ) from error
    if as_json:
        print_json({"lines": [_data(i) for i in answer.lines], "silent": answer.silent, "cut": answer.cut})
    else:
        for line in answer.lines:
            _print(line)
        if answer.cut:
            stderr.print(
                Text(f"! The newest {len(answer.lines)}; --tail or --until shows others.", style="yellow")
            )
        _tell(answer.silent)
    return EXIT_FOUND_BAD if answer.silent else EXIT_GOOD


def _client(app: App) -> Client:
    from avadm.components.logs.variables import USER, stores
    from avadm.logs.client import Client
    from avadm.logs.transport import SshStore

    site_file = app.site_file()
    found = stores(site_file.site)
    if not found:
        raise AvadmError.of(
            "no-logs",
            where=site_file.where(["components"]),
            found="no components.logs",
            wanted="components.logs with stores",
        )
    fleet, python = app.fleet(), site_file.profile.python
    return Client([SshStore(s["name"], s["url"], USER, fleet, python) for s in found])


def _follow(client: Client, query: Query, as_json: bool) -> int:
    for line in client.follow(query, on_silent=_tell):
        if as_json:
            import json

            click.echo(json.dumps(_data(line), ensure_ascii=False))
        else:
            _print(line)
    return EXIT_GOOD


def _tell(silent: dict[str, str]) -> None:
    """Say which stores are silent; what is shown is whole all the same, if another has all lines."""
    for name, why in silent.items():
        stderr.print(
            Text(
                f"! The store on {name} does not answer ({why}); shown is what the others have.",
                style="yellow",
            )
        )


def _data(line: Line) -> dict[str, str]:
    from dataclasses import asdict

    return {name: value for name, value in asdict(line).items() if value}


def _print(line: Line) -> None:
    where = f"{line.namespace}/{line.pod}/{line.container}" if line.pod else line.unit
    text = Text(f"{line.time[:23].replace('T', ' ')} {line.host} {where} ")
    text.append(line.severity, style=STYLES.get(line.severity, "dim"))
    text.append(f": {visible(line.message)}")
    console.print(text, soft_wrap=True, highlight=False)
