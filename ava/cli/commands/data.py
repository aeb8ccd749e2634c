"""`ava data`."""

from __future__ import annotations

import time
from typing import Literal

import click

from ava.cli.app import App, F, as_json
from ava.cli.commands.data_files import COMMANDS, find_set
from ava.cli.output import ago, done, note, number, print_json, say, size, table
from ava.cli.quota import amount_of
from ava.cli.specfile import memory
from ava.domain.data_sets import CACHED
from ava.schemas.data_sets import DataSetOut


def reader_arguments(command: F) -> F:
    """Add the arguments SET KIND NAME: a data set, and the user or group that may read it."""
    for argument in (
        click.argument("name"),
        click.argument("kind", type=click.Choice(["user", "group"])),
        click.argument("set_", metavar="SET"),
    ):
        command = argument(command)
    return command


@click.group()
def data() -> None:
    """Manage data sets and their files; SET is an id, or the name of one of your data sets."""


@data.command("list")
@click.option("--all", "all_", is_flag=True, help="All data sets (admin only).")
@as_json
@click.pass_obj
def list_(app: App, all_: bool, json_: bool) -> None:
    """List the data sets you can read."""
    found = list(app.client().data_sets(all=all_))
    if json_:
        print_json(found)
        return
    rows = []
    for one in found:
        folder = one.folder
        state = "written" if one.writers else f"read by {one.readers}" if one.readers else ""
        used = size(folder.used) if folder and folder.used is not None else ""
        files = number(folder.files) if folder and folder.files is not None else ""
        rows.append((one.id, one.owner, one.name, one.source["kind"], used, files, state, ago(one.created)))
    table(("ID", "OWNER", "NAME", "SOURCE", "SIZE", "FILES", "NOW", "MADE"), rows, right=("SIZE", "FILES"))


@data.command()
@click.argument("name")
@click.option("--cache", metavar="PATH", help="Path in Alluxio, read-only (admin only).")
@click.option(
    "--hdfs",
    metavar="STORE[/PATH]",
    help="Folder of an HDFS mounted in Alluxio, read-only (admin only).",
)
@click.option(
    "--rbd",
    metavar="IMAGE@SNAPSHOT",
    help="Snapshot of an rbd image with ext4, read-only (admin only).",
)
@click.option(
    "--nfs", metavar="SERVER:/PATH", help="Folder of an NFS server that the site allows (admin only)."
)
@click.option("--limit", metavar="AMOUNT", help="Maximum size, such as 100GiB; default: the site's limit.")
@click.option(
    "--wait", "seconds", type=click.IntRange(0, 3600), default=60, show_default=True, metavar="SECONDS"
)
@as_json
@click.pass_obj
def create(
    app: App,
    name: str,
    cache: str | None,
    hdfs: str | None,
    rbd: str | None,
    nfs: str | None,
    limit: str | None,
    seconds: int,
    json_: bool,
) -> None:
    """Create a data set (idempotent); waits until nodes can mount a snapshot."""
    if sum(one is not None for one in (cache, hdfs, rbd, nfs)) > 1:
        raise click.UsageError("--cache, --hdfs, --rbd and --nfs exclude each other")
    ava, source = app.client(), None
    if cache is not None:
        source = {"kind": "cache", "path": cache}
    elif hdfs is not None:
        store, _, path = hdfs.partition("/")
        source = {"kind": "hdfs", "store": store} | ({"path": path} if path else {})
    elif rbd is not None:
        image, _, snapshot = rbd.partition("@")
        source = {"kind": "rbd", "image": image, "snapshot": snapshot}
    elif nfs is not None:
        server, _, path = nfs.partition(":")
        source = {"kind": "nfs", "server": server, "path": path}
    if limit is not None and source is not None:
        raise click.UsageError("--limit applies only to data sets without another source")
    one = ava.make_data_set(name, source, amount_of(limit, memory))
    if not json_:
        say(one.id)
    end = time.monotonic() + seconds
    while one.elsewhere and not one.elsewhere.ready and not one.elsewhere.trouble and time.monotonic() < end:
        time.sleep(1)
        one = ava.data_set(one.id)
    if json_:
        print_json(one)
    if one.elsewhere and not one.elsewhere.ready:
        raise click.ClickException(
            f"Cannot be mounted: {one.elsewhere.trouble or 'not yet'}. The data set exists until you delete it."
        )


@data.command()
@click.argument("set_", metavar="SET")
@as_json
@click.pass_obj
def show(app: App, set_: str, json_: bool) -> None:
    """Show a data set: source, availability, and the share in the cache."""
    one = find_set(app.client(), set_)
    if json_:
        print_json(one.model_dump(mode="json"))
        return
    rows = [("id", one.id), ("name", one.name), ("owner", one.owner), ("source", place(one))]
    if one.folder:
        used = size(one.folder.used or 0) if one.folder.seen else "not measured yet"
        rows.append(("size", f"{used} of {size(one.folder.quota)}"))
    if one.elsewhere:
        rows.append(("available", "yes" if one.elsewhere.ready else "no"))
    if one.source["kind"] in CACHED:
        rows.append(("in the cache", held(one)))
    now = "written" if one.writers else f"read by {one.readers}" if one.readers else "not in use"
    rows += [("now", now), ("made", f"{ago(one.created)} ago")]
    for name, value in rows:
        say(f"{name + ':':<14}{value}")
    trouble = one.folder or one.elsewhere
    if trouble and trouble.trouble:
        note(f"! {trouble.trouble}")


def place(one: DataSetOut) -> str:
    """Return the source of a data set as a text."""
    source = {key: str(value) for key, value in one.source.items()}
    return {
        "folder": "a folder of its own",
        "cache": f"the cache, {source.get('path')}",
        "hdfs": f"HDFS {source.get('store')}" + (f"/{source['path']}" if "path" in source else ""),
        "rbd": f"snapshot {source.get('image')}@{source.get('snapshot')}",
        "nfs": f"NFS {source.get('server')}:{source.get('path')}",
    }.get(source["kind"], source["kind"])


def held(one: DataSetOut) -> str:
    """Return how much of a data set the cache holds, as last known, with its age."""
    seen = one.elsewhere
    if seen is None or seen.seen is None or seen.size is None or seen.cached is None:
        return "not measured yet"
    share = 100 * seen.cached // seen.size if seen.size else 100
    return f"{share} % ({size(seen.cached)} of {size(seen.size)}), {ago(seen.seen)} ago"


@data.command()
@click.argument("set_", metavar="SET")
@as_json
@click.pass_obj
def delete(app: App, set_: str, json_: bool) -> None:
    """Delete a data set and its files; refused while an unfinished run uses it."""
    ava = app.client()
    one = find_set(ava, set_)
    ava.delete_data_set(one.id)
    done(f"Deleted {one.name} ({one.id}).", {"deleted": one.id, "name": one.name}, json_)


@data.command()
@reader_arguments
@as_json
@click.pass_obj
def share(app: App, set_: str, kind: Literal["user", "group"], name: str, json_: bool) -> None:
    """Give a user or a group read access."""
    ava = app.client()
    one = find_set(ava, set_)
    ava.share_data_set(one.id, kind, name)
    if json_:
        print_json(ava.data_set_shares(one.id))
    else:
        note(f"The {kind} {name} can read {one.name}.")


@data.command()
@reader_arguments
@as_json
@click.pass_obj
def unshare(app: App, set_: str, kind: Literal["user", "group"], name: str, json_: bool) -> None:
    """Revoke read access; runs that use the data set keep it until they end."""
    ava = app.client()
    one = find_set(ava, set_)
    ava.unshare_data_set(one.id, kind, name)
    runs = [use.run for use in ava.data_set_runs(one.id) if use.admitted]
    if json_:
        print_json(
            {"shares": [share.model_dump(mode="json") for share in ava.data_set_shares(one.id)], "runs": runs}
        )
    elif runs:
        note(f"Runs of any user that use it now: {', '.join(runs)}.")


for command in COMMANDS:
    data.add_command(command)
