"""Files of data sets: `ava data ls`, `put`, `get` and `rm`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ava.cli.app import App, as_json
from ava.cli.output import done, note, print_json, size, table
from ava.client import Client
from ava.client.data_sets import decoded_path, encoded_path
from ava.domain.names import is_id
from ava.domain.problems import ApiError, Problem, missing
from ava.schemas.data_sets import DataSetOut

ENCODED = click.option(
    "--encoded",
    is_flag=True,
    help="PATH is percent-encoded, as in --json and `ls --encoded`: for names that cannot be typed.",
)


def _api_path(path: str, encoded: bool) -> str:
    """Return a path percent-encoded for the API, byte for byte as typed."""
    return path if encoded else encoded_path(path)


def find_set(ava: Client, ref: str) -> DataSetOut:
    """Return a data set by its id or name, preferring your own; ApiError 404."""
    if is_id(ref):
        try:
            return ava.data_set(ref)
        except ApiError as refused:
            if refused.status != 404:
                raise
    mine = [one for one in ava.data_sets() if one.name == ref]
    own = [one for one in mine if one.owner == ava.me().name] or mine
    if not own:
        raise missing(f"data set {ref}", "SET")
    return own[0]


@click.command()
@click.argument("set_", metavar="SET")
@click.argument("path", default="")
@click.option("--limit", "-n", type=click.IntRange(1), default=1000, show_default=True)
@ENCODED
@as_json
@click.pass_obj
def ls(app: App, set_: str, path: str, limit: int, encoded: bool, json_: bool) -> None:
    """List a folder of a data set, by name."""
    ava = app.client()
    found = list(ava.files(find_set(ava, set_).id, _api_path(path, encoded), most=limit))
    if json_:
        print_json(found)
        return
    rows = [
        (e.kind, size(e.size) if e.kind == "file" else "", e.path if encoded else decoded_path(e.path))
        for e in found
    ]
    table(("KIND", "SIZE", "PATH"), rows, right=("SIZE",))


@click.command()
@click.argument("set_", metavar="SET")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.argument("path", default="")
@click.option(
    "--resume", metavar="UPLOAD", help="Resume an interrupted upload, by the address printed when it began."
)
@click.option("--replace", is_flag=True, help="Overwrite an existing file.")
@ENCODED
@as_json
@click.pass_obj
def put(
    app: App,
    set_: str,
    file: Path,
    path: str,
    resume: str | None,
    replace: bool,
    encoded: bool,
    json_: bool,
) -> None:
    """Upload FILE into a data set; an interrupted upload can be resumed."""
    if not file.is_file():
        raise ApiError(
            400,
            Problem(
                "file-not-regular",
                "Only regular files can be uploaded: the length of a pipe or device is unknown.",
                "FILE",
                str(file),
                "a regular file",
                "Save it first: `cat PIPE > FILE`.",
            ),
        )
    ava = app.client()
    one = find_set(ava, set_)
    target = _api_path(path, encoded) if path else encoded_path(file.name)
    where = resume or ava.begin_upload(one.id, target, file.stat().st_size)
    note(f"Uploading to {where}; resume with: ava data put {one.id} {file} --resume {where}")
    ava.upload(where, file, replace=replace)
    data = {"data_set": one.id, "path": target, "size": file.stat().st_size}
    done(f"Uploaded {path or file.name} to {one.name}.", data, json_)


@click.command()
@click.argument("set_", metavar="SET")
@click.argument("path")
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@ENCODED
@as_json
@click.pass_obj
def get(app: App, set_: str, path: str, file: Path, encoded: bool, json_: bool) -> None:
    """Download a file of a data set to FILE (- is standard output)."""
    if json_ and str(file) == "-":
        raise click.UsageError("--json requires a FILE: standard output carries the JSON.")
    ava = app.client()
    one, path = find_set(ava, set_), _api_path(path, encoded)
    if str(file) == "-":
        ava.download(one.id, path, sys.stdout.buffer)
        return
    if file.is_dir():
        raise click.UsageError(f"{file} is a folder; specify a file in it.")
    if file.exists() and not file.is_file():
        # A pipe or a device is written to in place, never replaced.
        with file.open("wb") as opened:
            size_ = ava.download(one.id, path, opened)
    else:
        size_ = _saved(ava, one, path, file)
    if json_:
        print_json({"data_set": one.id, "path": path, "file": str(file), "size": size_})


def _saved(ava: Client, one: DataSetOut, path: str, file: Path) -> int:
    """Download into a file, whole or not at all; return its size."""
    part = file.with_name(f"{file.name}.part")
    with part.open("wb") as opened:
        count = ava.download(one.id, path, opened)
    part.replace(file)
    return count


@click.command()
@click.argument("set_", metavar="SET")
@click.argument("path")
@ENCODED
@as_json
@click.pass_obj
def rm(app: App, set_: str, path: str, encoded: bool, json_: bool) -> None:
    """Delete a file or an empty folder; refused while a run uses the data set."""
    ava = app.client()
    one, target = find_set(ava, set_), _api_path(path, encoded)
    ava.delete_file(one.id, target)
    done(f"Deleted {path} from {one.name}.", {"data_set": one.id, "deleted": target}, json_)


COMMANDS = (ls, put, get, rm)
