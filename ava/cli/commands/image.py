"""`ava image`."""

from __future__ import annotations

import click

from ava.cli.app import App, as_json
from ava.cli.output import ago, note, print_json, size, table
from ava.client import Client
from ava.domain.problems import ApiError
from ava.schemas.images import ImageUseOut, PushedOut


@click.group()
def image() -> None:
    """List the images of the site; list and delete pushed images."""


@image.command("list")
@click.option("--mine", is_flag=True, help="Images that you and your groups pushed, with size and uses.")
@click.option("--group", metavar="GROUP", help="With --mine: only this group.")
@click.option("--user", metavar="USER", help="With --mine: only this user (admin only).")
@as_json
@click.pass_obj
def list_(app: App, mine: bool, group: str | None, user: str | None, json_: bool) -> None:
    """List the images of the site; other images are given by their full reference."""
    if (group is not None or user is not None) and not mine:
        raise click.UsageError("--group and --user require --mine")
    client = app.client()
    if mine:
        _list_pushed(client, group, user, json_)
        return
    found = client.images()
    if json_:
        print_json(found)
        return
    rows = [
        (
            i.name,
            i.title,
            "" if i.framework == "none" else f"{i.framework} {i.version}".strip(),
            i.python,
            i.cuda,
            size(i.size) if i.size else "",
            ", ".join(i.uses),
        )
        for i in found
    ]
    if rows:
        table(("IMAGE", "WHAT", "FRAMEWORK", "PYTHON", "CUDA", "SIZE", "FOR"), rows, right=("SIZE",))
    else:
        note("The site has no images of its own: give a full reference such as registry.example.org/torch:2.")
    _pushed(client)


def _pushed(client: Client) -> None:
    """Print the space of pushed images; a registry that is off or unavailable is ignored."""
    try:
        for one in client.pushed_images():
            note(f"{one.owner}/…: {_space(one)} (`ava image list --mine`)")
    except ApiError as refused:
        if refused.status not in (404, 503):
            raise


def _space(one: PushedOut) -> str:
    limit = f"of {size(one.limit)}" if one.limit is not None else "without a limit"
    deleted = f", {size(one.waiting)} deleted that goes at night" if one.waiting else ""
    return f"{size(one.used)} {limit}{deleted}"


def _list_pushed(client: Client, group: str | None, user: str | None, json_: bool) -> None:
    """Print pushed images with their size and uses."""
    if group is not None and user is not None:
        raise click.UsageError("--group and --user exclude each other")
    found = client.pushed_images(user=user, group=group)
    if json_:
        print_json(found)
        return
    rows = [
        (i.name, ", ".join(i.tags[1:]), size(i.size), f"{ago(i.pushed)} ago", _used(i.uses))
        for one in found
        for i in one.images
    ]
    if rows:
        table(("IMAGE", "ALSO", "SIZE", "PUSHED", "USED BY"), rows, right=("SIZE",))
    for one in found:
        note(f"{one.owner}: {_space(one)}")
        if one.full:
            note(f"! Pushing is blocked: {one.full}")


def _used(uses: list[ImageUseOut]) -> str:
    return ", ".join(f"{u.kind} {u.name or f'of {u.owner}'}" for u in uses)


@image.command()
@click.argument("names", metavar="IMAGE...", nargs=-1, required=True)
@as_json
@click.pass_obj
def delete(app: App, names: tuple[str, ...], json_: bool) -> None:
    """Delete pushed images with all their tags; images in use by runs or definitions are kept."""
    client, deleted = app.client(), []
    try:
        for name in names:
            gone = client.delete_pushed_image(name)
            deleted.append(gone)
            also = [f"{gone.repository}:{tag}" for tag in gone.tags]
            if not json_:
                note(f"Deleted {', '.join(also) or gone.name}.")
    finally:
        # The next name may be refused; what was deleted before is printed.
        if json_:
            print_json(deleted)
