"""`ava data`."""

from __future__ import annotations

import time
from typing import Literal

import click

from ava.cli.app import App, as_json
from ava.cli.output import ago, done, note, number, print_json, say, size, table
from ava.cli.specfile import memory
from ava.cli.verbs.admin import number_of
from ava.cli.verbs.data_files import VERBS, find_set
from ava.domain.data_sets import CACHED
from ava.schemas.data_sets import DataSetOut, FolderOut, HomeOut

WITH = click.Choice(["user", "group"])


@click.group()
def data() -> None:
    """Keep data sets, and files in them; SET is a data set's id, or the name of one of yours."""


@data.command("list")
@click.option("--all", "all_", is_flag=True, help="Everybody's, for administrators.")
@as_json
@click.pass_obj
def list_(app: App, all_: bool, json_: bool) -> None:
    """List data sets that you may read."""
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
@click.option("--cache", metavar="PATH", help="What Alluxio shows there, read-only; for administrators.")
@click.option(
    "--hdfs",
    metavar="STORE[/PATH]",
    help="A folder of an HDFS that the site has behind Alluxio, read-only; for administrators.",
)
@click.option(
    "--rbd",
    metavar="IMAGE@SNAPSHOT",
    help="A block image's snapshot with ext4, read-only; for administrators.",
)
@click.option(
    "--nfs", metavar="SERVER:/PATH", help="A folder of a server that the site allows; for administrators."
)
@click.option(
    "--limit", metavar="AMOUNT", help="What it may have, such as 100GiB; without it the site's limit."
)
@click.option(
    "--wait", "seconds", type=click.IntRange(0, 3600), default=60, show_default=True, metavar="SECONDS"
)
@as_json
@click.pass_obj
def make(
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
    """Make a data set; the same again changes nothing. A snapshot is waited for until nodes can mount it."""
    if sum(one is not None for one in (cache, hdfs, rbd, nfs)) > 1:
        raise click.UsageError("one of --cache, --hdfs, --rbd and --nfs")
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
        raise click.UsageError("--limit is of a folder of its own, not of another source")
    one = ava.make_data_set(name, source, number_of(limit, memory))
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
            f"It cannot be mounted: {one.elsewhere.trouble or 'not yet'}. It stays until you delete it."
        )


@data.command()
@click.argument("set_", metavar="SET")
@as_json
@click.pass_obj
def show(app: App, set_: str, json_: bool) -> None:
    """Show a data set: where its bytes lie, whether they can be had, and how much of them the cache holds."""
    one = find_set(app.client(), set_)
    if json_:
        print_json(one.model_dump(mode="json"))
        return
    rows = [("id", one.id), ("name", one.name), ("owner", one.owner), ("source", place(one))]
    if one.folder:
        used = size(one.folder.used or 0) if one.folder.seen else "not measured yet"
        rows.append(("size", f"{used} of {size(one.folder.quota)}"))
    if one.elsewhere:
        rows.append(("can be read", "yes" if one.elsewhere.ready else "no"))
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
    """Return where a data set's bytes lie, as its maker said it."""
    told = {key: str(value) for key, value in one.source.items()}
    return {
        "folder": "a folder of its own",
        "cache": f"the cache, {told.get('path')}",
        "hdfs": f"HDFS {told.get('store')}" + (f"/{told['path']}" if "path" in told else ""),
        "rbd": f"snapshot {told.get('image')}@{told.get('snapshot')}",
        "nfs": f"NFS {told.get('server')}:{told.get('path')}",
    }.get(told["kind"], told["kind"])


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
    """Delete a data set with all its files, while no run that has not finished names it."""
    ava = app.client()
    one = find_set(ava, set_)
    ava.delete_data_set(one.id)
    done(f"Deleted {one.name} ({one.id}).", {"deleted": one.id, "name": one.name}, json_)


@data.command()
@click.argument("set_", metavar="SET")
@click.argument("kind", type=WITH)
@click.argument("name")
@as_json
@click.pass_obj
def share(app: App, set_: str, kind: Literal["user", "group"], name: str, json_: bool) -> None:
    """Let a user, or the members of a group, read a data set."""
    ava = app.client()
    one = find_set(ava, set_)
    ava.share_data_set(one.id, kind, name)
    if json_:
        print_json(ava.data_set_shares(one.id))
    else:
        note(f"The {kind} {name} can read {one.name}.")


@data.command()
@click.argument("set_", metavar="SET")
@click.argument("kind", type=WITH)
@click.argument("name")
@as_json
@click.pass_obj
def unshare(app: App, set_: str, kind: Literal["user", "group"], name: str, json_: bool) -> None:
    """Take that back: no further run gets it, and those that have it keep it until they end."""
    ava = app.client()
    one = find_set(ava, set_)
    ava.unshare_data_set(one.id, kind, name)
    runs = [use.run for use in ava.data_set_runs(one.id) if use.admitted]
    if json_:
        print_json(
            {"shares": [share.model_dump(mode="json") for share in ava.data_set_shares(one.id)], "runs": runs}
        )
    elif runs:
        note(f"Runs that have it now, whoever's they are: {', '.join(runs)}.")


@data.command()
@click.argument("kind", type=click.Choice(["home", "group", "set"]))
@click.argument("name", default="me")
@click.option("--limit", metavar="AMOUNT", help="Choose it (administrators): 100GiB, or none.")
@as_json
@click.pass_obj
def space(app: App, kind: str, name: str, limit: str | None, json_: bool) -> None:
    """Show what a home, a group's folder or a data set holds and may hold (a group's limit: ava admin quota)."""
    ava = app.client()
    chosen = number_of(limit, memory)
    folder: FolderOut | None
    if kind == "home":
        folder = ava.limit_home(name, chosen) if limit else ava.home(name)
    elif kind == "group":
        folder = ava.group_folder(name)
    else:
        one = find_set(ava, name)
        folder = (ava.limit_data_set(one.id, chosen) if limit else one).folder
    if json_ or folder is None:
        print_json(folder.model_dump(mode="json") if folder else {})
        return
    if folder.trouble:
        note(f"! {folder.trouble}")
    say(
        f"{size(folder.used or 0)} of {size(folder.quota)}, {folder.files or 0} files, {ago(folder.seen)} ago"
    )
    if isinstance(folder, HomeOut) and folder.data_sets_most is not None:
        say(f"data sets: {size(folder.data_sets)} of {size(folder.data_sets_most)} by their limits")


for verb in VERBS:
    data.add_command(verb)
